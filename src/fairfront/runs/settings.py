"""Settings of a run: what a person decided before any row was read; plain values, no data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from ..exceptions import InputError, spelled
from ..measures.cutoffs import Operating, as_costs
from ..objectives import LOSSES, NOTIONS
from ..objectives.comparisons import Surrogate
from ..objectives.groups import Compare
from ..objectives.strata import Pooling
from ..problems.signs import read_signs
from ..records import Record
from ..tables import MISSING, check_delimiter, check_encoding
from ..tables.notation import Decimal, as_dates, check_decimal, check_form
from ..tables.split import parse_split
from ..validation import (
    MOST_POINTS,
    as_tuples,
    check_choice,
    check_count,
    check_flag,
    check_names,
    check_positive,
    check_text,
    refuse,
)
from .attributes import Attributes, parse_attributes

Model = Literal["linear", "boosting"]
UnitsName = Literal["losses", "rates"]


@dataclass(frozen=True, repr=False)
class Settings(Record):
    """Everything that decides a run besides the data, as plain values that go into the manifest.

    Attributes
    ----------
    target, favourable : str, the column to predict, and its value that is good for the person (None for regression)
    groups : tuple of str
        Columns of groups; ``reference`` pairs a column with its reference group. With ``cross`` they are one attribute.
    group_probabilities : tuple of str, instead, columns of probabilities, which sum to 1 in every row; never features
    split : str, ``"60/20/20"``, ``"time:COLUMN:D1,D2"`` or ``"by:ID"``
    drop, allow, text, numbers : tuple of str
        Columns that are left out, kept although screening would refuse them, or read as categories or numbers whatever
        they look like.
    missing, delimiter, encoding, decimal, dates
        How files are read: texts for a missing value, the character between columns (None: a comma, a tab, or what the
        header looks cut by), the encoding (None: UTF-8), "point" or "comma" for numbers that can be read in two ways,
        and pairs of a column and the format of its dates as in ``strptime``.
    notion : tuple of str, by default equal opportunity, or mean errors (disparate mistreatment) for regression
    min_size : int
        Groups with fewer rows that the notion compares stay out of the gaps; at least 10, because the run is written
        to files.
    use_sensitive : bool, whether group columns are features too; predictions then need them
    units : str, ``"losses"``, or ``"rates"``: rules on posteriors of labels and groups, whose models guess the group
    cutoff, approval_rate : float or None
        The operating point, one of them or ``costs`` (of a false positive and a false negative) at most: cut-offs are
        placed on validation and applied unchanged on test; None decides at 0.5. In rates it is inside the rules.
    person : str or None
        The column that says who a row is of, where people have several rows: these stay together in the split, unless
        it is by time, and are left out together for held-out figures. It is no feature.
    control, strata, compare : tuple of str, str, str
        Columns inside whose levels groups are compared, whether gaps are "pooled" over levels or "each" counts, and
        whether "pairs" of groups are compared, or each with everyone ("overall").
    signs : tuple of pairs of a column and "+" or "-": more of it is never worse, or never better, for the person
    """

    target: str
    groups: tuple[str, ...]
    favourable: Any = None
    reference: tuple[tuple[str, str], ...] = ()
    cross: bool = False
    min_size: int = 30
    notion: tuple[str, ...] = ()
    surrogate: Surrogate = "loss"
    loss: str = "logistic"
    model: Model = "linear"
    ridge: float | None = None
    n_points: int | None = None
    max_fits: int = 12
    split: str = "60/20/20"
    seed: int = 0
    drop: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    missing: tuple[str, ...] = tuple(MISSING)
    delimiter: str | None = None
    encoding: str | None = None
    decimal: Decimal | None = None
    dates: tuple[tuple[str, str], ...] = ()
    weight: str | None = None
    person: str | None = None
    use_sensitive: bool = False
    units: UnitsName = "losses"
    group_probabilities: tuple[str, ...] = ()
    cutoff: float | None = None
    approval_rate: float | None = None
    costs: tuple[float, float] | None = None
    control: tuple[str, ...] = ()
    strata: Pooling = "pooled"
    compare: Compare = "pairs"
    signs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        self._check_kinds()
        if self.regression:
            self.operating.refuse("values to be predicted (regression)")
        if not self.notion:
            usual = "disparate_mistreatment" if self.regression else "equal_opportunity"
            object.__setattr__(self, "notion", (usual,))
        for name in self.notion:
            NOTIONS[name]
        self._check_model()
        self.operating.check(probability=self.model != "linear" or LOSSES[self.loss].likelihood)
        self._check_columns()
        if not self.regression and self.favourable is None:
            raise InputError(
                f"{spelled('favourable')} is missing, expected the value of {self.target!r} that is good for the "
                "person."
            )

    def _check_kinds(self) -> None:
        for name in ("cross", "use_sensitive"):
            check_flag(getattr(self, name), name)
        for name in ("target", "weight", "person"):
            given = getattr(self, name)
            if given is None and name != "target":
                continue
            if not check_text(given, name, "the name of a column"):
                raise refuse(name, given, "the name of a column")
        if self.favourable is not None and not isinstance(self.favourable, (str, Real, np.generic)):
            raise refuse("favourable", self.favourable, f"one value of {self.target!r}")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge", zero=True)
        if self.n_points is not None:
            check_count(self.n_points, "n_points", least=2, most=MOST_POINTS)
        check_count(self.max_fits, "max_fits", least=2)
        check_count(self.seed, "seed", least=0)
        check_delimiter(self.delimiter)
        check_encoding(self.encoding)
        check_decimal(self.decimal)
        for name, form in self.dates:
            check_form(form, name)
        parse_split(self.split, self.person)
        LOSSES[self.loss]

    def _check_model(self) -> None:
        """Refuse options that the model would not read."""
        check_count(self.min_size, "min_size")
        check_choice(self.model, "model", get_args(Model))
        check_choice(self.units, "units", get_args(UnitsName))
        rates, linear = self.units == "rates", self.model == "linear"
        if rates and self.regression:
            raise InputError(f"{spelled('units')} rates are of decisions, found a regression; leave it out.")
        if rates and (name := "surrogate" if self.surrogate != "loss" else "signs" if self.signs else ""):
            words = spelled(name), spelled("units")
            raise InputError(f"{words[0]} is for units of losses, found {words[1]} rates; leave one of them out.")
        unread = ("max_fits", "ridge") if rates else ("n_points", "ridge", "surrogate")
        idle, other = (("max_fits",), "boosting") if linear else (unread, "linear")
        for each in fields(self):
            if each.name in idle and getattr(self, each.name) != each.default:
                raise InputError(
                    f"{spelled(each.name)} is for the model {other!r}, found {self.model!r}; leave it out."
                )
        for name, known in (("surrogate", Surrogate), ("strata", Pooling), ("compare", Compare)):
            check_choice(getattr(self, name), name, get_args(known))
        if self.strata != "pooled" and not self.control:
            raise InputError(f"{spelled('strata')} is for levels of {spelled('control')}, found none; name a column.")

    def _check_columns(self) -> None:
        """Refuse groups of both kinds or none, what cannot be done with probabilities, and columns used twice."""
        words = spelled("groups"), spelled("group_probabilities")
        if bool(self.groups) == bool(self.group_probabilities):
            raise InputError(f"{' and '.join(words)}: expected columns of exactly one of them, such as 'sex'.")
        for name, idle in (("cross", False), ("use_sensitive", False), ("units", "losses")):
            if self.group_probabilities and getattr(self, name) != idle:
                raise InputError(f"{spelled(name)} needs the group of every row, found {words[1]}; leave it out.")
        if self.target in self.compared:
            raise InputError(f"{self.target!r} is the target and a group column, expected two different columns.")
        for each in (*self.drop, *self.aside, *self.control, self.person):
            if each in (self.target, *self.compared):
                what = "dropped, a weight, a control or the person"
                raise InputError(f"{each!r} is {what}, but it is also the target or a group column.")
        for each in (*self.aside, *self.control, *parse_split(self.split, self.person).columns):
            if each in self.drop:
                raise InputError(f"{each!r} is dropped, but it is also the weight or what rows are split by; keep it.")

    @classmethod
    def of(
        cls,
        *,
        groups: str | Iterable[str] | None = None,
        group_probabilities: str | Iterable[str] | None = None,
        reference: str | None = None,
        **given: Any,
    ) -> Settings:
        """Return settings as people write them: groups with their references, single names, costs in any form."""
        compared = parse_attributes(groups, group_probabilities, reference, given.get("cross", False))
        for key in ("notion", "drop", "allow", "text", "numbers", "missing", "control"):
            if key in given:
                given[key] = check_names(given[key], key)
        for key, read in (("costs", as_costs), ("dates", as_dates), ("signs", read_signs)):
            if key in given:
                given[key] = read(given[key])
        return cls(**asdict(compared), **given)

    @property
    def attributes(self) -> Attributes:
        return Attributes(self.groups, self.group_probabilities, self.reference)

    @property
    def compared(self) -> tuple[str, ...]:
        return (*self.groups, *self.group_probabilities)

    @property
    def aside(self) -> tuple[str, ...]:
        """Return columns that are read and are no features: that of weights."""
        return () if self.weight is None else (self.weight,)

    @property
    def opening(self) -> dict[str, Any]:
        """Return what `open_source` is told, by every command that reads rows for the run."""
        return {"delimiter": self.delimiter, "missing": self.missing, "encoding": self.encoding}

    @property
    def notation(self) -> dict[str, Any]:
        """Return what `infer` is told besides columns."""
        return {"dates": dict(self.dates), "decimal": self.decimal}

    @property
    def regression(self) -> bool:
        return LOSSES[self.loss].kinds[0] == "regression"

    @property
    def operating(self) -> Operating:
        costs = None if self.costs is None else dict(zip(("false_positive", "false_negative"), self.costs, strict=True))
        return Operating(self.cutoff, self.approval_rate, costs)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Settings:
        strange = sorted(set(found) - {each.name for each in fields(cls)})
        if strange:
            why = f"the manifest has the unknown setting {strange[0]!r}; a newer fairfront wrote it: upgrade."
            raise InputError(why)
        try:
            return cls(**{name: as_tuples(value) for name, value in found.items()})
        except TypeError as error:
            why = f"the manifest's settings cannot be used ({error}); they were edited: trace again."
            raise InputError(why) from error
