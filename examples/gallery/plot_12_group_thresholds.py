"""
When the group may be used at prediction
========================================

Where it is allowed, one cut-off per group on the unconstrained model is hard to beat. fairfront gives the exact trade-off of such
thresholds, and asks you to say that you mean it.
"""

import matplotlib.pyplot as plt

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

known = {"favourable": "repaid"}
front = ff.trace(X[train], y[train], sensitive_features=group[train], n_points=10, **known)
front = front.evaluate(X[validation], y[validation], sensitive_features=group[validation])
thresholds = front.postprocess(
    X[validation], y[validation], sensitive_features=group[validation], allow_group_at_prediction=True, n_points=15
)

# %%
# Both are judged on the rows that thresholds were placed on, which favours thresholds; report on test rows.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(front.column("tpr_gap"), front.column("error"), "o", label="one rule for everyone")
ax.plot(thresholds.gaps[:, 0], thresholds.loss, "s", label="a cut-off per group")
ax.set_xlabel("gap in true positive rates (validation)")
ax.set_ylabel("error (validation)")
ax.legend(frameon=False)
plt.show()

# %%
thresholds.select(id=int(thresholds.ids[-1]))
