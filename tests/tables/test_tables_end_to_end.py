"""Adult and OULAD from the file to the matrix: published counts, nothing refused, and the same matrix in chunks."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fairfront.datasets import load_adult, load_oulad
from fairfront.datasets.origin import ENVIRONMENT
from fairfront.datasets.uci import ADULT_NAMES
from fairfront.tables import (
    Table,
    TableEncoder,
    TrainingRows,
    coerce,
    infer,
    load,
    open_source,
    parse_split,
    read_groups,
    read_target,
    screen,
)
from tests.support.places import DATA
from tests.support.tables import parts_of


def home(name: str) -> Path:
    if not (DATA / name).is_dir():
        pytest.skip(f"the files of {name} are not here: set {ENVIRONMENT} to the folder that holds them.")
    return DATA / name


@cache
def adult(folder: Path) -> Path:
    path = folder / "adult.csv"
    path.write_text(",".join(ADULT_NAMES) + "\n" + (home("adult") / "adult.data").read_text())
    return path


def prepared(table: Table, target: str, favourable: str, groups: tuple[str, ...], split: str) -> tuple:
    labels = read_target(table, target, favourable).labels
    compared = {name: codes.take() for name, codes in read_groups(table, groups).items()}
    atoms = np.unique([f"{y} {g}" for y, g in zip(labels, compared[groups[0]], strict=True)], return_inverse=True)[1]
    rows = parts_of(parse_split(split), table, atoms)
    train = rows["train"]
    features = [name for name in table.columns if name not in (target, *groups)]
    known = TrainingRows.of(table.take(train), features)
    found = screen(known, labels[train], {k: v[train] for k, v in compared.items()})
    kept = [name for name in features if name not in {name for f in found if f.kind == "dropped" for name in f.columns}]
    return found, TableEncoder.fit(known, kept), rows, atoms


@pytest.mark.slow
def test_adult(tmp_path_factory: pytest.TempPathFactory) -> None:
    source = open_source(adult(tmp_path_factory.mktemp("adult")))
    schema = infer(source)
    table = load(source, schema)
    data = load_adult(DATA, paper_split=False).subset(np.arange(32_561))
    assert schema.n == 32_561
    assert (schema.column("workclass").n_missing, schema.column("native-country").n_missing) == (1836, 583)
    for name in ADULT_NAMES:
        kind = schema.column(name).kind
        if kind == "number":
            np.testing.assert_array_equal(table.columns[name].numbers, data.columns[name])
        else:
            assert table.texts(name).tolist() == list(data.columns[name])
    found, encoder, rows, atoms = prepared(table, "income", ">50K", ("sex", "race"), "60/20/20")
    (together,) = found  # a husband or wife among the relationships
    assert together.sentence.startswith("The columns together tell 'sex'")
    assert "relationship" in together.sentence
    shares = [np.bincount(atoms[part]) / len(part) for part in rows.values()]
    np.testing.assert_allclose(shares[1:], [shares[0]] * 2, atol=5e-4)
    X = encoder.transform(table.take(rows["train"]))
    ages = encoder.feature_names.index("age")
    np.testing.assert_allclose([X[:, ages].mean(), X[:, ages].std()], [0, 1], atol=1e-9)
    assert "workclass=(missing)" in encoder.feature_names
    assert "Holand-Netherlands" not in json.dumps(encoder.to_content()[0])
    chunks = [encoder.transform(coerce(chunk, encoder)) for chunk in source.chunks(encoder.columns, rows=5_000)]
    np.testing.assert_array_equal(np.vstack(chunks), encoder.transform(table))


def test_oulad() -> None:
    source = open_source(home("oulad") / "studentInfo.csv")
    schema = infer(source)
    table = load(source, schema)
    data = load_oulad(DATA)
    assert schema.n == 32_593
    assert schema.column("imd_band").n_missing == 1111
    assert table.texts("final_result").tolist() == list(data.columns["final_result"])
    found, encoder, rows, _ = prepared(table, "final_result", "Pass", ("gender", "disability"), "by:id_student")
    assert [(each.columns, each.kind) for each in found] == [(("id_student",), "dropped")]
    people = [set(data.split_ids[part].tolist()) for part in rows.values()]
    assert sum(map(len, people)) == len(set(data.split_ids.tolist()))
    np.testing.assert_allclose([len(part) / table.n for part in rows.values()], [0.6, 0.2, 0.2], atol=0.01)
    assert encoder.transform(table).shape == (32_593, len(encoder.feature_names))
    assert not encoder.sparse
