"""
Who gains and who loses
=======================

Between two models some people's decisions change. ``explain`` says which coefficients moved and, with rows, whose decisions.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, names = data.matrix("one_hot")
X, y, group = pd.DataFrame(X, columns=names)[two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

known = {"favourable": "repaid"}
front = ff.trace(X[train], y[train], sensitive_features=group[train], n_points=8, **known)
front = front.evaluate(X[validation], y[validation], sensitive_features=group[validation], approval_rate=0.6)
moved = front.explain(0, int(front.ids[-2]), X[validation], y[validation], sensitive_features=group[validation])
print(moved.sentence())

# %%
# The coefficients that moved most, of ordinary training and of the fairer model.
top = np.arange(6)
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.barh(top - 0.2, moved.before[:6], 0.38, color="#a9b3c1", label="unconstrained")
ax.barh(top + 0.2, moved.after[:6], 0.38, color="#d55e00", label=f"id {front.ids[-2]}")
ax.set_yticks(top, moved.features[:6])
ax.axvline(0, color="black", linewidth=0.8)
ax.set_xlabel("coefficient (log-odds of repaying)")
ax.legend(frameon=False)
plt.show()
