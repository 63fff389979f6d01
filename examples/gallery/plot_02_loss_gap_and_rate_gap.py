"""
A loss gap is not a rate gap
============================

Training closes a gap between mean losses. People are treated by decisions, so what counts is a gap between rates of decisions. The two
reach zero at different models.
"""

import matplotlib.pyplot as plt

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

# %%
known = {"favourable": "repaid"}
front = ff.trace(X[train], y[train], sensitive_features=group[train], n_points=14, **known)
front = front.evaluate(X[validation], y[validation], sensitive_features=group[validation], approval_rate=0.4)

# %%
# Along the path the loss gap falls evenly to zero. The gap in true positive rates does something else.
loss_gap, tpr_gap = front.gaps[:, 0], front.column("tpr_gap")
least = int(tpr_gap.argmin())
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(loss_gap, tpr_gap, "o-", color="#0072b2")
ax.plot(loss_gap[least], tpr_gap[least], "D", color="#d55e00", markersize=9, label="smallest rate gap on validation")
ax.set_xlabel("loss gap (training)")
ax.set_ylabel("gap in true positive rates (validation)")
ax.legend(frameon=False)
plt.show()

# %%
print(f"loss gap {loss_gap[least]:.3f} where the rate gap is {tpr_gap[least]:.3f};")
print(f"rate gap {tpr_gap[-1]:.3f} where the loss gap is {loss_gap[-1]:.3f}")
