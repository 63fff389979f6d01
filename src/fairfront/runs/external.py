"""External evaluations: rows of another time or branch, judged by every point of a run at its own cut-offs.

Nothing is trained, placed or chosen on them. A run keeps each as one package beside its other files, which do not
change.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse as sp

from ..exceptions import ChangedError, FairfrontWarning, GroupWarning, InputError, progress_bar, spelled
from ..frontier import Frontier
from ..frontier.evaluation_files import evaluation_content, stored_evaluation
from ..frontier.judgement import encode_labels, is_test
from ..measures import Evaluation
from ..measures.report import count_text
from ..objectives import GroupProbabilities
from ..records import Record
from ..storage.folders import make_folder
from ..storage.packages import read_package, write_package
from ..tables import Source, check_delimiter, coerce, infer, load, open_source
from ..tables.coercion import count_others
from ..tables.findings import unknown_notes
from ..tables.notation import Decimal, Notation, check_decimal, time_words
from ..tables.split import PARTS, covered
from ..tables.table import Table, nearest
from ..tables.target import read_target, ungrouped_notes
from ..validation import check_flag, check_names, check_progress, check_text
from .manifest import SCHEMA, now, opening_of
from .parts import judged_points
from .preparation import FEWEST_ROWS
from .rows import Part, People, people_of, uncompared
from .settings import Settings

if TYPE_CHECKING:
    from .run import Run

EVALUATIONS, KIND = "evaluations", "fairfront evaluation"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True, eq=False, repr=False)
class External(Record):
    """What is known of an external evaluation besides the frontier's own record of that name.

    Attributes
    ----------
    file, sha256 : str or None
        Name and fingerprint of the file; a data frame has none.
    delimiter, encoding, missing, decimal
        What it was read with besides the settings of the run.
    at : str
        When it was judged.
    after : int
        The number of decisions that the run had then: the cards of later ones show it.
    notes : tuple of str
        What has to be known to read the figures.
    periods : tuple of mappings
        The ``column`` and the ``ends`` of the time that the rows cover, for columns with dates that the run knows.
    points : mapping
        Figures of every solved point by id, as those on test.
    """

    file: str
    sha256: str | None
    delimiter: str | None
    encoding: str | None
    missing: tuple[str, ...]
    decimal: Decimal | None
    at: str
    after: int
    notes: tuple[str, ...]
    periods: tuple[Mapping[str, Any], ...]
    points: Mapping[str, Any] = field(repr=False)


def judged_rows(
    run: Run, data: Any, name: str, reading: Mapping[str, Any], progress: Any
) -> tuple[Evaluation, External]:
    """Judge the points of a run on other rows, by its own settings and encoder, at the cut-offs of validation.

    ``reading`` has the delimiter, encoding, missing texts and decimal mark that the file is read with.
    """
    settings = Settings.from_json(run.manifest["settings"])
    marks, encoding = check_names(reading["missing"], "missing", "texts such as 'NA'"), reading["encoding"]
    delimiter, decimal = check_delimiter(reading["delimiter"]), check_decimal(reading["decimal"])
    opening = opening_of(run.manifest, delimiter=delimiter, encoding=encoding)
    source = open_source(data, missing=(*settings.missing, *marks), **opening)
    facts, own = run.frontier.facts, _known_file(run, source, name)
    part, people, noted, periods = _read(run, source, settings, decimal, check_progress(progress))
    few, out = dict(uncompared(facts, people.groups, settings.cross, FEWEST_ROWS)), dict(facts.left_out)
    left_out = tuple((name, tuple(dict.fromkeys((*out.get(name, ()), *few.get(name, ()))))) for name in {**out, **few})
    front = replace(run.frontier, facts=replace(facts, left_out=left_out))
    with warnings.catch_warnings(action="ignore", category=GroupWarning):  # notes say what is left of them
        record = front.evaluate(part.X, part.y, **part.people, **part.within, name=name).evaluations[name]
        points = judged_points(front, part, settings, progress, name=name)
    notes = (*own, *source.notes, *_row_notes(people, settings), *noted, *_group_notes(record, front))
    for sentence in notes:
        warnings.warn(f"{name}: {sentence}", FairfrontWarning, stacklevel=3)
    file = "data frame" if source.path is None else source.path.name
    said = (delimiter, encoding, marks, decimal, now(), len(run.decisions))
    return record, External(file, source.sha256(), *said, notes, periods, points)


def check_name(run: Run, name: Any, overwrite: bool) -> str:
    """Refuse a name that is not a name of a file, or is taken; an evaluation that a card shows is not replaced."""
    check_flag(overwrite, "overwrite")
    what, given = spelled("name"), check_text(name, "name", "a name such as 'oot'")
    if not NAME.fullmatch(given):
        raise InputError(f"{what} is {given[:60]!r}, expected up to 40 letters, digits, - and _, such as oot-2024.")
    if given in PARTS or is_test(given):
        raise InputError(f"{what} is {given!r}, which is kept for the run's own rows, expected another, such as oot.")
    same = next((known for known in run.external if known.casefold() == given.casefold()), None)
    if same is None:
        return given
    if not overwrite:
        how = spelled("overwrite", "overwrite=True")
        raise InputError(f"the run has an evaluation {same!r} already, expected a new name, or {how} to replace it.")
    if run.external[same].after < len(run.decisions):
        raise InputError(
            f"a model was chosen from the run since {same!r} was judged, and its card shows it, expected a new name; "
            "it is not replaced."
        )
    return same


def _known_file(run: Run, source: Source, name: str) -> list[str]:
    """Refuse a file that was judged under another name; say that one is the run's own."""
    sha = source.sha256() or ""
    for same in (known for known, each in run.external.items() if sha and each.sha256 == sha and known != name):
        raise InputError(f"{source.title} was judged as {same!r} already, expected other rows: one file has one name.")
    own = "This is the file that the run was traced from: models were trained on its rows."
    return [own] if sha and sha == run.manifest["data"].get("sha256") else []


def _read(
    run: Run, source: Source, settings: Settings, decimal: Decimal | None, progress: Any
) -> tuple[Part, People, list[str], tuple[dict[str, Any], ...]]:
    _check_columns(run, source, settings)
    trained = {each["name"]: each for each in run.manifest["columns"]["columns"]}
    times = [each["column"] for each in run.manifest["split"]["periods"] if each["column"] in source.names]
    columns = tuple(dict.fromkeys((settings.target, *settings.compared, *settings.aside, *settings.control, *times)))
    numbers = [name for name in columns if trained[name]["kind"] == "number"]
    known: dict[str, Any] = {"text": [name for name in columns if name not in numbers], "numbers": numbers}
    known["decimal"] = decimal
    if decimal is None:
        known["notations"] = {name: Notation.from_content(trained[name]["notation"]) for name in numbers}
    with progress_bar(progress, "reading", 3 * source.size) as bar:
        schema = infer(source, columns=columns, on_progress=bar.update, **known)
        table = load(source, schema, on_progress=lambda done: bar.update(source.size + done))
        periods = tuple(_periods(table, times, trained))
        if not settings.regression:
            labels = read_target(table, settings.target).labels
            encode_labels(labels, run.frontier.facts.task, f"{settings.target!r} of {source.title}")
        table, used, people = people_of(table, settings)
        matrices, strange = _encoded(run, source, decimal, lambda done: bar.update(2 * source.size + done))
    X = sp.vstack(matrices, format="csr") if run.encoder.sparse else np.concatenate(matrices)
    if X.shape[0] != schema.n:
        raise InputError(f"{source.title} has {X.shape[0]} rows, expected {schema.n} as a moment ago; it is changing.")
    groups: Any = people.groups
    if not isinstance(groups, GroupProbabilities):
        groups = {name: codes.take() for name, codes in groups.items()}
    if len(used) < FEWEST_ROWS:
        raise InputError(
            f"{source.title} has fewer than {FEWEST_ROWS} rows to judge, expected more: rates of so few say nothing."
        )
    part = Part(X[used], people.labels.take(), groups, people.weight, control=people.control)
    return part, people, unknown_notes(strange, schema.n), periods


def _periods(table: Table, times: Sequence[str], trained: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the time that the rows cover by each column with dates, read in the form that training found."""
    for name in times:
        column, notation = table.column(name), Notation.from_content(trained[name]["notation"])
        if column.kind == "category" and column.named:
            values = np.array([*map(notation.read, column.levels), np.nan])[column.values]
            ends = covered(np.where(np.isfinite(values), values, np.nan), np.zeros(table.n, dtype=np.int8), time_words)
            yield from ({"column": name, "ends": each} for each in ends.values())


def _check_columns(run: Run, source: Source, settings: Settings) -> None:
    roles = {"the target": (settings.target,), "groups": settings.compared}
    roles["weights"] = () if settings.weight is None else (settings.weight,)
    for role, names in roles.items():
        for name in names:
            if name not in source.names:
                near = nearest(name, source.names, "; add it.")
                raise InputError(f"{source.title} has no column {name!r}, which the run reads as {role}{near}")
    run.encoder.check(source.names)


def _encoded(run: Run, source: Source, decimal: Decimal | None, on_progress: Any) -> tuple[list[Any], Counter[str]]:
    """Return the matrices of a source's chunks, and per column the rows whose value training had no name for."""
    matrices, marks, strange = [], tuple(source.missing), Counter[str]()
    for chunk in source.chunks(run.encoder.columns):
        table = coerce(chunk, run.encoder, marks, decimal)
        matrices.append(run.encoder.transform(table))
        strange.update(count_others(table, run.encoder))
        on_progress(chunk.done)
    return matrices, strange


def _row_notes(people: People, settings: Settings) -> Iterator[str]:
    if people.unlabelled:
        yield f"rows without {settings.target!r} were left out: {count_text(people.unlabelled)}."
    if people.idle:
        yield f"rows with 0 in {settings.weight!r} were left out: {count_text(people.idle)}."
    if not isinstance(people.groups, GroupProbabilities):
        yield from ungrouped_notes(people.groups)


def _group_notes(record: Evaluation, front: Frontier) -> Iterator[str]:
    trained = dict(front.facts.sensitive)
    for name, rates in record.groups.items():
        known, levels = trained.get(name, rates.levels), rates.levels
        new = [level for level in levels if level not in known]
        gone = [level for level in known if level not in levels]
        if new:
            yield f"groups of {name!r} that training did not compare: {', '.join(new)}."
        if gone:
            yield f"groups of {name!r} with no rows here: {', '.join(gone)}."
        if levels[-1] != known[-1]:
            yield f"the reference group of {name!r} is {levels[-1]!r} here."


def added(run: Run, record: Evaluation, about: External) -> Run:
    front = replace(run.frontier, evaluations={**run.frontier.evaluations, record.name: record})
    return replace(run, frontier=front, external={**run.external, record.name: about})


def own_frontier(front: Frontier, external: Mapping[str, External]) -> Frontier:
    """Leave out external evaluations."""
    own = {name: record for name, record in front.evaluations.items() if name not in external}
    return replace(front, evaluations=own)


def write_external(folder: Path, front: Frontier, external: Mapping[str, External]) -> None:
    make_folder(folder / EVALUATIONS)
    for name, each in external.items():
        record, arrays = evaluation_content(front.evaluations[name])
        write_package(folder / EVALUATIONS, name, KIND, {"about": asdict(each), "evaluation": record}, arrays, SCHEMA)


def read_external(folder: Path, front: Frontier) -> tuple[Frontier, dict[str, External]]:
    """Return a frontier with the external evaluations of a run's folder, and what is known of them, oldest first."""
    found, records = {}, {}
    for file in sorted((folder / EVALUATIONS).glob("*.json")):
        content, arrays = read_package(file.parent, file.stem, KIND, SCHEMA)
        record, about = stored_evaluation(content["evaluation"], arrays), content["about"]
        tuples = {name: tuple(about[name]) for name in ("missing", "notes")}
        found[file.stem], records[file.stem] = External(**{**about, **tuples}), record
        if record.name != file.stem or record.n_models != len(front):
            raise ChangedError(f"{file} is of another name or run, expected {file.stem!r} of this one; copy it again.")
    external = dict(sorted(found.items(), key=lambda item: (item[1].at, item[0])))
    evaluations = {**front.evaluations, **{name: records[name] for name in external}}
    return replace(front, evaluations=evaluations), external
