"""Explanations: what changes from one point of a frontier to another; and what speaks for and against each person.

The latter are reason codes: contributions of columns to the score of a linear model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from ..exceptions import InputError, spelled
from ..measures.moves import Flips
from ..objectives import Array
from ..records import Record, html_record, html_table
from ..validation import check_choice, check_count, check_favourable, refuse
from ..validation.inputs import as_native, as_numbers, check_matrix

TOP, BAR, HALF = 8, 9, 110
"""Features of the picture in a notebook, the height of a bar, and the width of the longest."""
BEFORE, AFTER = "#a9b3c1", "#d55e00"
Side = Literal["against", "for"]


@dataclass(frozen=True, repr=False)
class Explanation:
    """What changes from one point to another.

    features          names, the most moved first
    before, after     their coefficients in the two models (favourable decision for two classes)
    changed_sign      whether the sign changed
    group_auc         with data: how well each feature alone tells the smallest group from the reference (0.5: not)
    flips             with data: who gains and who loses a favourable decision, per attribute
    """

    features: tuple[str, ...]
    before: Array
    after: Array
    changed_sign: NDArray[np.bool_]
    group_auc: Array | None
    flips: dict[str, Flips]

    def __repr__(self) -> str:
        return f"Explanation({self.sentence()})"

    def sentence(self, top: int = 3) -> str:
        moved = ", ".join(
            f"{name} {before:+.3g} to {after:+.3g}"
            for name, before, after in zip(self.features[:top], self.before[:top], self.after[:top], strict=True)
        )
        return f"Moved most: {moved}; {int(self.changed_sign.sum())} coefficients changed sign."

    def _repr_html_(self) -> str:
        """Show the coefficients that moved most; changed decisions are counts of people and stay out."""
        lines = zip(self.features, self.before, self.after, self.changed_sign, strict=True)
        rows = [(str(name), f"{one:+.3g}", f"{two:+.3g}", "yes" if turned else "") for name, one, two, turned in lines]
        table = html_table(("", "before (grey)", "after (orange)", "sign changed"), rows[:TOP])
        after = "flips counts who gains and who loses; front.to_html(path, X=...) shows it as it may be shared."
        return html_record("Explanation", self.sentence(), self._bars() + table, after)

    def _bars(self) -> str:
        values = np.stack([self.before[:TOP], self.after[:TOP]])
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        bars, label = [], escape("coefficients before and after")
        for place, pair in enumerate(values.T):
            for k, (value, colour) in enumerate(zip(pair, (BEFORE, AFTER), strict=True)):
                width = HALF * abs(float(value)) / largest
                x, y = HALF - (width if value < 0 else 0.0), (2 * BAR + 4) * place + BAR * k
                bars.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
        height = (2 * BAR + 4) * values.shape[1]
        line = f'<path d="M{HALF} 0V{height}" stroke="currentColor"/>'
        return f'<svg width="{2 * HALF}" height="{height}" role="img" aria-label="{label}">{"".join(bars)}{line}</svg>'


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
