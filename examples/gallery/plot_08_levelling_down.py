"""
Levelling down, and how to forbid it
====================================

A gap can be closed by treating the better-off group worse. ``no_group_worse`` allows no group a larger loss than ordinary training gives it.
"""

import matplotlib.pyplot as plt

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

known = {"favourable": "repaid", "n_points": 8}
free = ff.trace(X[train], y[train], sensitive_features=group[train], **known)
kept = ff.trace(X[train], y[train], sensitive_features=group[train], solver=ff.Newton(no_group_worse=0.0), **known)

# %%
# Left, the frontier without the rule; right, with it. Bars are true positive rates of the last model beside ordinary training.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, front, title in zip(axes, (free, kept), ("any way", "no group worse"), strict=True):
    judged = front.evaluate(X[validation], y[validation], sensitive_features=group[validation], approval_rate=0.6)
    judged.plot(kind="groups", chosen=int(judged.ids[-1]), rate="tpr", ax=ax)
    ax.set_title(f"{title}: smallest loss gap {front.gaps[-1, 0]:.3f}")
plt.show()

# %%
# The rule is about training losses. At a fixed approval rate somebody's approval is somebody else's refusal: look at every group's rates.
print(kept.status[-1])
