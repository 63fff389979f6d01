"""
A first frontier
================

Trace the trade-off between loss and the gap between groups, judge every point on rows that training did not see, and choose.
"""

import matplotlib.pyplot as plt

import fairfront as ff

data = ff.datasets.load_loans(seed=0)  # synthetic applications, with a known measurement bias against group B
two = data.columns["group"] != "C"  # group C has too few people for a picture
X = data.matrix("one_hot")[0][two]  # sensitive columns stay out of the features
y, group = data.y[two], data.columns["group"][two]
train, validation = slice(0, 4000), slice(4000, None)

# %%
# Twelve models or so, each with the smallest loss that its gap allows, solved exactly.
front = ff.trace(X[train], y[train], sensitive_features=group[train], favourable="repaid")
front = front.evaluate(X[validation], y[validation], sensitive_features=group[validation])
print(front)

# %%
# The rule: the smallest gap in true positive rates among models whose error is within half a point of the lowest.
# Gaps are judged by their 95 % upper bound.
chosen = front.choose(least="tpr_gap", within={"error": 0.005})
front.plot(x="tpr_gap", y="error", chosen=chosen)
plt.show()

# %%
# What comes out is a stock scikit-learn model that needs no sensitive feature.
front.select(id=chosen)
