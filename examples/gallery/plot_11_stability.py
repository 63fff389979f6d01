"""
How stable is a frontier?
=========================

The same points refitted on bootstrap samples of the training rows: bands of loss and gap, and how many decisions change.
"""

import matplotlib.pyplot as plt

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

known = {"favourable": "repaid"}
front = ff.trace(X[train], y[train], sensitive_features=group[train], n_points=6, **known)
refits = front.stability(X[train], y[train], sensitive_features=group[train], n=12, random_state=0)

# %%
# The band is that of the loss on resampled rows.
front.plot(stability=refits)
plt.show()

# %%
# The share of people whose decision depends on which rows happened to be in the sample.
for point, share in zip(front.ids, refits.flips, strict=True):
    print(f"id {point}: {share:.1%} of decisions differ between a point and its refit, on average")
