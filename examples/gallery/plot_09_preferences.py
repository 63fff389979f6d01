"""
Preferences instead of caps
===========================

PB-PDO goes to the point where the weighted objectives are equal: a preference of (1, 40) says that a unit of the gap objective weighs forty
times as much as a unit of loss.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

known = {"favourable": "repaid"}
asked = np.array([[1.0, 40.0], [1.0, 100.0], [1.0, 400.0]])
front = ff.trace(X[train], y[train], sensitive_features=group[train], solver="pb_pdo", preferences=asked, **known)
exact = ff.trace(X[train], y[train], sensitive_features=group[train], n_points=12, **known)

# %%
# First-order points on the way are kept where nothing dominates them; the line is the exact frontier.
ends = np.array([status is ff.Status.LINE for status in front.status])
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(exact.gaps[:, 0], exact.loss, "-", color="#a9b3c1", label="Newton")
ax.plot(front.gaps[~ends, 0], front.loss[~ends], ".", color="#0072b2", label="PB-PDO, on the way")
ax.plot(front.gaps[ends, 0], front.loss[ends], "D", color="#d55e00", label="PB-PDO, on its preference line")
ax.set_xlabel("loss gap (training)")
ax.set_ylabel("loss (training)")
ax.legend(frameon=False)
plt.show()
