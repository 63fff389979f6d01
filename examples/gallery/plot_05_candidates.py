"""
Your own candidates beside a frontier
=====================================

Models that you have, judged by the same rule on the same rows as a traced frontier: which of them does something better?
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

mine = {
    "champion": LogisticRegression(max_iter=1000).fit(X[train], y[train]),
    "scorecard": DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[train], y[train]),
    "boosted": HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X[train], y[train]),
}
judge = {"sensitive_features": group[validation], "approval_rate": 0.6}
known = {"favourable": "repaid"}
candidates = ff.Frontier.from_models(mine, X[validation], y[validation], **judge, **known)

front = ff.trace(X[train], y[train], sensitive_features=group[train], n_points=12, **known)
front = front.evaluate(X[validation], y[validation], **judge)

# %%
# Both were evaluated on the same rows at the same approval rate.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(front.column("tpr_gap"), front.column("error"), "o", label="traced")
ax.plot(candidates.column("tpr_gap"), candidates.column("error"), "s", label="own candidates")
for x, up, name in zip(candidates.column("tpr_gap"), candidates.column("error"), candidates.models.names, strict=True):
    ax.annotate(name, (x, up), xytext=(6, 4), textcoords="offset points")
ax.set_xlabel("gap in true positive rates (validation)")
ax.set_ylabel("error (validation)")
ax.legend(frameon=False)
plt.show()
