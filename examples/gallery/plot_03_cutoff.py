"""
The cut-off decides the gap
===========================

The same models, judged at three operating points. A frontier that looks fair at 0.5 can be far from it where decisions are made.
"""

import matplotlib.pyplot as plt

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

known = {"favourable": "repaid"}
front = ff.trace(X[train], y[train], sensitive_features=group[train], n_points=10, **known)
rows = X[validation], y[validation]

# %%
# One rule for everyone, placed on the rows that choosing looks at: nothing, four in five, two in five.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for label, rule in {
    "cut-off 0.5": {},
    "80 % approved": {"approval_rate": 0.8},
    "40 % approved": {"approval_rate": 0.4},
}.items():
    judged = front.evaluate(*rows, sensitive_features=group[validation], **rule)
    ax.plot(front.gaps[:, 0], judged.column("tpr_gap"), "o-", label=label)
ax.set_xlabel("loss gap (training)")
ax.set_ylabel("gap in true positive rates (validation)")
ax.legend(frameon=False)
plt.show()

# %%
# The model that comes out decides at the cut-off that was placed, and keeps its probabilities.
judged = front.evaluate(*rows, sensitive_features=group[validation], approval_rate=0.4)
judged.select(least="tpr_gap", within={"auc": 0.02})
