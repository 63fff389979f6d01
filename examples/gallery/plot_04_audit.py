"""
Audit a model that you have
===========================

Nothing is trained: labels, scores and groups of any model give every rate per group with its interval and its counts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
X, _ = data.matrix("one_hot")
y, group = data.y, data.columns["group"]
train, validation = slice(0, 4000), slice(4000, None)

incumbent = LogisticRegression(max_iter=1000).fit(X[train], y[train])  # yours would come from elsewhere
scores = incumbent.predict_proba(X[validation])[:, 1]
found = ff.audit(
    y[validation], scores, sensitive_features={"group": group[validation]}, favourable="repaid", approval_rate=0.6
)
for sentence in found.found[:4]:
    print(sentence)

# %%
# Wilson intervals of the true positive rate: among people who repaid, the share approved.
table = found.to_frame("group")
compared = table[table["tpr_lower"].notna()]
at = np.arange(len(compared))
ends = [compared["tpr"] - compared["tpr_lower"], compared["tpr_upper"] - compared["tpr"]]
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.errorbar(compared["tpr"], at, xerr=ends, fmt="o", capsize=3, color="#0072b2")
ax.set_yticks(at, [f"{name} (n = {n})" for name, n in zip(compared["group"], compared["n"], strict=True)])
ax.set_xlabel("true positive rate, 95 % interval")
plt.show()

# %%
# A requirement is met, not met, or inconclusive. No legal conclusion is drawn.
for verdict in found.check("selection_ratio.lower>=0.80"):
    print(verdict.sentence)
