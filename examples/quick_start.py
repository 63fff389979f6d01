"""Trace a frontier on synthetic loans, choose on validation rows, report on test rows."""

import numpy as np

import fairfront as ff

data = ff.datasets.load_loans(seed=0)
order = np.random.default_rng(0).permutation(len(data.y))
train, validation, test = np.split(order, [3600, 4800])
X, _ = data.matrix("one_hot", fit_on=train)
y, group = data.y, data.columns["group"]

front = ff.trace(X[train], y[train], sensitive_features=group[train], favourable="repaid")
front = front.evaluate(X[validation], y[validation], sensitive_features=group[validation])
chosen = front.choose(least="tpr_gap", within={"error": 0.005})

front = front.evaluate(X[test], y[test], sensitive_features=group[test], name="test")
for name, place in (("plain", 0), ("chosen", front.place(chosen))):
    error, gap = (front.column(column, on="test")[place] for column in ("error", "tpr_gap"))
    print(f"{name}: error {error:.3f}, gap in true positive rates {gap:.3f} on test")
