"""
Any vector of functions
=======================

``minimize`` takes differentiable functions of any kind. Two bumps in twenty dimensions, as in Example 1 of the paper, and four preferences.
"""

import matplotlib.pyplot as plt
import numpy as np

import fairfront as ff

centre = np.full(20, np.sqrt(2 / 20))


def bumps(w):
    """Return two objectives and their gradients."""
    one, two = np.exp(-((w - centre) ** 2).sum() / 2.25), np.exp(-((w + centre) ** 2).sum() / 2.25)
    return [1 - one, 1 - two], [2 * (w - centre) * one / 2.25, 2 * (w + centre) * two / 2.25]


# %%
# The frontier is the segment between the two centres.
segment = np.array([bumps(t * centre)[0] for t in np.linspace(-1, 1, 60)])
fig, ax = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
ax.plot(*segment.T, color="#a9b3c1", label="frontier")
for preference in ([1, 1], [1, 2], [1, 3], [3, 1]):
    found = ff.minimize(bumps, 1.3 * centre, preference=preference, jac=True)
    ax.plot(*found.fun, "o", label=f"{preference[0]} : {preference[1]}")
ax.set_xlabel("$h_1$")
ax.set_ylabel("$h_2$")
ax.legend(frameon=False, title="preference")
plt.show()

# %%
print(found.status, found.nit)
