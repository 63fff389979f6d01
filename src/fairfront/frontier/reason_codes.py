"""Reason codes: what speaks for and against each person in the score of a linear model, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from ..exceptions import InputError, spelled
from ..objectives import Array
from ..records import Record
from ..validation import check_choice, check_count, check_favourable, refuse
from ..validation.inputs import as_native, as_numbers, check_matrix

Side = Literal["against", "for"]


@dataclass(frozen=True, eq=False, repr=False)
class Reasons(Record):
    """Contributions of columns to the scores of a linear model, and the columns that say most.

    Attributes
    ----------
    names : array of shape (n, k)
        Of every row the columns that speak against the favourable label (or for it), the strongest first; empty where
        fewer do.
    columns : tuple of str
    contributions : array of shape (n, number of columns)
        Coefficient times the row's deviation from the reference, in the unit of scores: log-odds of the favourable
        label for logistic regression. Of values, "against" is what lowers them.
    base : float
        The score of the reference. Base and contributions of a row add up to its score.
    """

    names: NDArray[Any]
    columns: tuple[str, ...]
    contributions: Array
    base: float

    @property
    def scores(self) -> Array:
        """Return the scores (n,) that base and contributions add up to."""
        return np.asarray(self.base + self.contributions.sum(axis=1))


def reasons(
    model: Any, X: Any, *, reference: Any = None, favourable: Any = None, k: int = 4, side: Side = "against"
) -> Reasons:
    """Say which columns speak against each person, or for them, in the score of a linear model.

    Parameters
    ----------
    model : a fitted linear model
        Such as `Frontier.select` gives, with ``coef_`` and ``intercept_``, or a `TableModel`, which knows its
        reference and its favourable label.
    X : array, data frame or sparse matrix of shape (n, d); of a `TableModel` a data frame or file
    reference : array of shape (d,)
        Whom people are compared with: the means of the training columns, as a rule.
    favourable : the label that is good for the person; by default the second of the classes, or that of the cut-off
    k : int, how many columns are named
    side : {"against", "for"}

    Returns
    -------
    Reasons
    """
    own = getattr(model, "reasons", None)
    if callable(own):
        for name, given in (("reference", reference), ("favourable", favourable)):
            if given is not None:
                raise InputError(f"{spelled(name)} is known to a TableModel, expected none beside it; leave it out.")
        return own(X, k=k, side=side)  # type: ignore[no-any-return]
    good = getattr(model, "pos_label", None) if favourable is None else favourable
    bare = getattr(model, "estimator_", model)
    coef, intercept = linear_score(bare, good)
    matrix, names = check_matrix(X), _names(bare, X, len(coef))
    if matrix.shape[1] != len(coef):
        raise InputError(f"X has {matrix.shape[1]} columns, expected {len(coef)}, those of the model.")
    if reference is None:
        raise InputError(
            f"{spelled('reference')} is None, expected whom people are compared with; give the means of the training "
            "columns, such as X_train.mean(axis=0)."
        )
    found = as_numbers(reference, spelled("reference"))
    if found.shape != coef.shape or not np.isfinite(found).all():
        raise refuse("reference", reference, f"{len(coef)} finite numbers, one per column of X")
    return reasons_of(matrix, coef, intercept, found, names, k=k, side=side)


def linear_score(model: Any, favourable: Any) -> tuple[Array, float]:
    """Return coefficients (d,) and intercept of the score for the favourable label, or of the value."""
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        raise not_linear(type(model).__name__)
    coef, intercept = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64)), np.atleast_1d(model.intercept_)
    if not hasattr(model, "classes_"):
        return coef[0], float(intercept[0])
    good = 1 if favourable is None else check_favourable(favourable, list(model.classes_))
    if len(coef) > 1:
        return coef[good], float(intercept[good])
    sign = 1.0 if good == 1 else -1.0
    return sign * coef[0], sign * float(intercept[0])


def _names(model: Any, X: Any, d: int) -> tuple[str, ...]:
    known = getattr(model, "feature_names_in_", None)
    known = getattr(as_native(X, "X"), "columns", None) if known is None else known
    return tuple(map(str, range(d) if known is None else known))


def not_linear(found: str) -> InputError:
    return InputError(
        f"reasons are those of a linear model, whose score is a sum over columns, found {found}, which has no "
        "coefficients; choose a linear model."
    )


def reasons_of(
    X: Any, coef: Array, intercept: float, reference: Array, names: Sequence[str], *, k: int, side: Side
) -> Reasons:
    """Return reasons of rows (n, d); ``names`` (d,) say to which column each of the matrix belongs."""
    most = check_count(k, "k")
    columns = tuple(dict.fromkeys(names))
    place = {name: j for j, name in enumerate(columns)}
    spread = sp.csr_array(
        (coef, (np.arange(len(coef)), [place[name] for name in names])), shape=(len(coef), len(columns))
    )
    found = X @ spread
    found = np.asarray(found.todense() if sp.issparse(found) else found) - reference @ spread
    sign = 1.0 if check_choice(side, "side", ("against", "for")) == "for" else -1.0
    order = np.argsort(-sign * found, axis=1, kind="stable")[:, :most]
    speaks = sign * np.take_along_axis(found, order, axis=1) > 0.0
    named = np.full((len(found), most), "", dtype=object)
    named[:, : order.shape[1]] = np.where(speaks, np.array(columns, dtype=object)[order], "")
    return Reasons(named, columns, found, float(intercept + coef @ reference))
