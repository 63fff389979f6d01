"""Files of a chosen model: what its folder may hold, and how it is filled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..frontier.models import task_content
from ..storage.folders import write_file
from ..storage.foreign import write_estimator
from ..storage.packages import write_package
from ..storage.places import MANIFEST
from ..validation import check_names
from .card import FORMAT as CARD_FORMAT
from .card_exports import FORMATS, is_card_page, markdown_of, page_of
from .decision import FORMAT
from .manifest import SCHEMA, as_text, inventory, of_format, seal
from .onnx_export import is_graph

if TYPE_CHECKING:
    from .model import TableModel

NAME, KIND = "model", "fairfront model"
CARD, TEXT, PAGE, DECISION = "card.json", "card.md", "card.html", "decision.json"
ESTIMATOR, ONNX = "estimator.skops", "model.onnx"
LINEAR = ("loss", "ridge", "total", "fit_intercept")
MODEL = inventory(
    "model",
    {NAME: KIND},
    {
        DECISION: of_format(FORMAT),
        CARD: of_format(CARD_FORMAT),
        TEXT: lambda data: data.startswith(b"# Model card: id "),
        PAGE: is_card_page,
        ONNX: is_graph,
        **{file: known for file, _, known in FORMATS.values()},
    },
)


def check_formats(given: Any) -> tuple[str, ...]:
    names = check_names(given, "formats", f"a list of {' and '.join(map(repr, FORMATS))}")
    for name in names:
        if name not in FORMATS:
            raise InputError(f"formats has {name!r}, expected {' or '.join(map(repr, FORMATS))}.")
    return names


def fill_model(
    model: TableModel, folder: Path, *, onnx: bool = False, key: Any = None, formats: Sequence[str] = ()
) -> None:
    encoding, arrays = model.encoder.to_content()
    content: dict[str, Any] = {"task": task_content(model.task), "about": dict(model.about), "encoder": encoding}
    content["cutoff"] = model.cutoff
    stored = {f"encoder.{name}": values for name, values in arrays.items()}
    if model.points is None:
        write_estimator(folder / ESTIMATOR, model.estimator)
    else:
        stored |= {"coef": model.points.coef, "intercept": model.points.intercept}
        content["linear"] = {name: getattr(model.points, name) for name in LINEAR}
    files = (ESTIMATOR,) if model.points is None else ()
    write_package(folder, NAME, KIND, content, stored, SCHEMA, files)
    if model.facts is not None:
        write_file(folder / CARD, as_text(model.facts))
        drawn = {PAGE: page_of, TEXT: markdown_of} | {FORMATS[name][0]: FORMATS[name][1] for name in formats}
        for name, draw in drawn.items():
            write_file(folder / name, draw(model.facts))
    if onnx:
        model.to_onnx(folder / ONNX)
    for name, record in ((DECISION, model.decision), (MANIFEST, model.manifest)):
        if record is not None:
            write_file(folder / name, as_text(record))
    seal(folder, key)
