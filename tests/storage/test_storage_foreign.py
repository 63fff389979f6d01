"""Estimators of others go through skops: types are named and confirmed, nothing is unpickled."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fairfront as ff
from fairfront.storage.foreign import check_trusted, read_estimator, untrusted_types, write_estimator
from tests.support.places import environment

pytest.importorskip("skops", minversion="0.13")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=120) > 0).astype(int)


class Own(ClassifierMixin, BaseEstimator):
    """A user's own estimator."""

    def fit(self, X: Any, y: Any) -> Own:
        self.classes_ = np.unique(y)
        self.cut_ = float(np.median(X[:, 0]))
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[(X[:, 0] > self.cut_).astype(int)]


OWN = f"{Own.__module__}.Own"


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression()), RandomForestClassifier(5), Own()],
    ids=lambda m: type(m).__name__,
)
def test_estimators_come_back_with_the_same_predictions(tmp_path, model) -> None:
    write_estimator(tmp_path / "m.skops", model.fit(X, Y))
    found = read_estimator(tmp_path / "m.skops", untrusted_types(tmp_path / "m.skops"))
    assert type(found) is type(model)
    assert np.array_equal(found.predict(X), model.predict(X))


def test_stock_linear_models_need_no_confirmation(tmp_path) -> None:
    write_estimator(tmp_path / "m.skops", LogisticRegression().fit(X, Y))
    assert untrusted_types(tmp_path / "m.skops") == ()
    assert isinstance(read_estimator(tmp_path / "m.skops"), LogisticRegression)


def test_types_of_others_are_listed_and_have_to_be_named(tmp_path) -> None:
    write_estimator(tmp_path / "m.skops", Own().fit(X, Y))
    assert untrusted_types(tmp_path / "m.skops") == (OWN,)
    with pytest.raises(ff.InputError, match=rf"{OWN}; .*confirm them with trusted=\['{OWN}'\]"):
        read_estimator(tmp_path / "m.skops")
    with pytest.raises(ff.InputError, match="confirm"):
        read_estimator(tmp_path / "m.skops", trusted=["some.Other"])
    with pytest.raises(ff.InputError, match="expected a list of type names"):
        read_estimator(tmp_path / "m.skops", trusted=True)  # type: ignore[arg-type]
    assert isinstance(read_estimator(tmp_path / "m.skops", trusted=[OWN]), Own)


def test_a_folder_names_the_types_of_all_its_estimators(tmp_path) -> None:
    write_estimator(tmp_path / "a.skops", Own().fit(X, Y))
    write_estimator(tmp_path / "b.skops", GradientBoostingClassifier(n_estimators=2).fit(X, Y))
    found = untrusted_types(tmp_path)
    assert OWN in found
    assert set(found) == {*untrusted_types(tmp_path / "a.skops"), *untrusted_types(tmp_path / "b.skops")}
    check_trusted(tmp_path, found)
    with pytest.raises(ff.InputError, match=OWN):
        check_trusted(tmp_path, found[:-1] if found[-1] == OWN else [name for name in found if name != OWN])


def test_what_skops_cannot_store_is_refused(tmp_path) -> None:
    with pytest.raises(ff.InputError, match=r"cannot be saved .*defined in modules"):
        write_estimator(tmp_path / "m.skops", lambda X: X)
    with Path(__file__).open("rb") as file, pytest.raises(ff.InputError, match="cannot be saved"):
        write_estimator(tmp_path / "m.skops", file)
    assert not list(tmp_path.iterdir())


def test_bad_files_are_told_in_a_sentence(tmp_path) -> None:
    write_estimator(tmp_path / "m.skops", LogisticRegression().fit(X, Y))
    whole = (tmp_path / "m.skops").read_bytes()
    for data, words in ((whole[:200], "is not a file of skops or is damaged"), (b"", "damaged")):
        (tmp_path / "bad.skops").write_bytes(data)
        with pytest.raises(ff.InputError, match=words):
            read_estimator(tmp_path / "bad.skops")
    with pytest.raises(ff.InputError, match="is missing"):
        read_estimator(tmp_path / "none.skops")


def test_a_missing_package_names_the_extra(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ff.MissingExtraError, match=r"fairfront\[skops\]"):
        write_estimator(tmp_path / "m.skops", LogisticRegression())


def test_nothing_is_unpickled(tmp_path, monkeypatch) -> None:
    import pickle

    import joblib

    write_estimator(tmp_path / "m.skops", RandomForestClassifier(3).fit(X, Y))
    for module, name in ((pickle, "load"), (pickle, "loads"), (joblib, "load")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("unpickled"))
    read_estimator(tmp_path / "m.skops", untrusted_types(tmp_path / "m.skops"))


MODELS = {
    "forest": lambda: RandomForestClassifier(5, random_state=3),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=8, random_state=3, early_stopping=True),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.3)),
    "text": lambda: make_pipeline(OneHotEncoder(), LogisticRegression()),
    "own": Own,
}


@pytest.mark.parametrize("name", MODELS)
def test_equal_estimators_give_equal_bytes(tmp_path, name) -> None:
    """Fitted again, and loaded and saved: between the fields of a tree's nodes there is nothing, or whatever was."""
    rows = X if name != "text" else np.where(X > 0, "high", "low")
    for place in range(2):
        write_estimator(tmp_path / f"{place}.skops", MODELS[name]().fit(rows, Y))
    first = tmp_path / "0.skops"
    whole = first.read_bytes()
    assert whole == (tmp_path / "1.skops").read_bytes()
    loaded = read_estimator(first, trusted := untrusted_types(first))
    write_estimator(tmp_path / "2.skops", loaded)
    assert np.array_equal(loaded.predict(rows), MODELS[name]().fit(rows, Y).predict(rows))
    write_estimator(tmp_path / "3.skops", read_estimator(tmp_path / "2.skops", trusted))
    assert (tmp_path / "2.skops").read_bytes() == (tmp_path / "3.skops").read_bytes()


@pytest.mark.slow
def test_sets_and_bytes_have_one_spelling(tmp_path) -> None:
    """Sets of texts are in the order of their hashes, which differ from process to process; bytes have random names."""
    code = (
        "import sys; from sklearn.linear_model import LogisticRegression as L; "
        "from fairfront.storage.foreign import write_estimator; model = L(); "
        "model.words = {'a', 'b', 'c', 'd', 'e'}; model.raw = [b'1', b'2']; model.again = model.raw; "
        "write_estimator(sys.argv[1], model)"
    )
    for seed in ("1", "2", "3"):
        command = [sys.executable, "-c", code, str(tmp_path / seed)]
        subprocess.run(command, check=True, env={**environment(), "PYTHONHASHSEED": seed})
    assert len({(tmp_path / seed).read_bytes() for seed in "123"}) == 1
    found = read_estimator(tmp_path / "1")
    assert found.words == set("abcde")
    assert found.raw == [b"1", b"2"]
    assert found.again is found.raw


def test_compressed_members_are_refused(tmp_path) -> None:
    import skops.io

    (tmp_path / "m.skops").write_bytes(skops.io.dumps(LogisticRegression().fit(X, Y), compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(ff.InputError, match="compressed, expected it as it is"):
        read_estimator(tmp_path / "m.skops")
