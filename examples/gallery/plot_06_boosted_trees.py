"""
Boosted trees
=============

Any learner whose ``fit`` takes sample weights has a frontier: each point is a weighted fit of it, and a handful of fits trace it.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

front = ff.trace(
    X[train],
    y[train],
    sensitive_features=group[train],
    favourable="repaid",
    estimator=HistGradientBoostingClassifier(max_iter=20, random_state=0),
    solver=ff.Weighting(max_fits=5, cv=2),
)
front = front.evaluate(X[validation], y[validation], sensitive_features=group[validation], approval_rate=0.6)
print(front.status[0])  # weighted fits are never certified

# %%
chosen = front.choose(least="tpr_gap", within={"error": 0.02})
front.plot(x="tpr_gap", y="error", chosen=chosen)
plt.show()

# %%
front.select(id=chosen)
