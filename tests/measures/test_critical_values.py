"""Draws behind simultaneous bounds do not depend on how a machine chooses its eigenvectors."""

from __future__ import annotations

import numpy as np

from fairfront.measures.moments import symmetric_root


def test_symmetric_root_squares_to_the_covariance() -> None:
    values = np.random.default_rng(0).normal(size=(6, 4))
    covariance = values @ values.T  # rank 4 of 6
    root = symmetric_root(covariance)
    np.testing.assert_allclose(root @ root, covariance, atol=1e-12)
    np.testing.assert_allclose(root, root.T, atol=1e-12)


def test_symmetric_root_is_unique_where_eigenvalues_are_equal() -> None:
    np.testing.assert_allclose(symmetric_root(4.0 * np.eye(3)), 2.0 * np.eye(3), atol=1e-14)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    np.testing.assert_allclose(symmetric_root(4.0 * turn @ turn.T), 2.0 * np.eye(3), atol=1e-12)
