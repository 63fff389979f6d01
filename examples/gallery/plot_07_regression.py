"""
Regression: errors that differ between groups
=============================================

For values instead of labels the squared error is compared. Here: progression of diabetes one year on, by sex, from the data that come
with scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import fairfront as ff

X, y = load_diabetes(return_X_y=True)
sex = np.where(X[:, 1] > 0, "one", "other")  # the data do not say which is which
X = np.delete(X, 1, axis=1)
y = (y - y.mean()) / y.std()
train, validation = slice(0, 300), slice(300, None)

# %%
# ``group_loss`` compares the mean loss of groups.
front = ff.trace(X[train], y[train], sensitive_features=sex[train], loss="squared", notion="group_loss", n_points=8)
front = front.evaluate(X[validation], y[validation], sensitive_features=sex[validation])
print(front)

# %%
front.plot(kind="panels")
plt.show()
