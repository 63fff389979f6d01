"""
Intersections of two columns
============================

Groups of each column on its own can look alike while a combination is treated worse. ``cross=True`` compares combinations.
"""

import matplotlib.pyplot as plt

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
two = data.columns["group"] != "C"  # group C has too few people for a picture
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

people = {"group": group, "sex": data.columns["sex"][two]}
crossed = ff.Groups(cross=True, min_size=100)


def part(rows):
    """Return the sensitive columns of some rows."""
    return {name: column[rows] for name, column in people.items()}


front = ff.trace(X[train], y[train], sensitive_features=part(train), favourable="repaid", groups=crossed, n_points=6)
front = front.evaluate(X[validation], y[validation], sensitive_features=part(validation), approval_rate=0.6)

# %%
chosen = front.choose(least="tpr_gap", within={"error": 0.02}, confidence=None)
front.plot(kind="groups", chosen=chosen, rate="tpr")
plt.show()
