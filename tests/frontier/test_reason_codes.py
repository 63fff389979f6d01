"""Reason codes add up to scores, name original columns, and are refused where no sum over columns exists."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier

import fairfront as ff
from fairfront.runs import predict_file
from tests.support.extras import optional
from tests.support.trial import students

pd = optional("pandas")


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4)) * 10.0 ** np.arange(4)
    return X, np.where(X @ [1, -0.1, 0.01, 0] + random.normal(size=300) > 0, "yes", "no")


def test_contributions_add_up_to_the_score_and_the_strongest_come_first(rows: tuple[Any, Any]) -> None:
    X, y = rows
    model = LogisticRegression(max_iter=2000).fit(X, y)
    said = ff.reasons(model, X, reference=X.mean(axis=0), favourable="no", k=2)
    np.testing.assert_allclose(said.scores, -model.decision_function(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(said.contributions, -(X - X.mean(axis=0)) * model.coef_, rtol=0, atol=1e-12)
    for i in range(20):
        against = sorted((value, str(j)) for j, value in enumerate(said.contributions[i]) if value < 0)[:2]
        assert [name for name in said.names[i] if name] == [name for _, name in against]
    thin = ff.reasons(model, sp.csr_array(X), reference=X.mean(axis=0), favourable="no", k=2)
    np.testing.assert_allclose(thin.contributions, said.contributions, rtol=0, atol=1e-12)


def test_a_cut_off_says_whom_it_favours_and_values_have_reasons(rows: tuple[Any, Any]) -> None:
    X, y = rows
    model = LogisticRegression(max_iter=2000).fit(X, y)
    wrapped = FixedThresholdClassifier(model, pos_label="no", threshold=0.4).fit(X, y)
    said = ff.reasons(wrapped, X, reference=np.zeros(4), side="for")
    assert np.allclose(said.scores, -wrapped.estimator_.decision_function(X), rtol=0, atol=1e-12)
    line = LinearRegression().fit(X, y == "yes")
    found = ff.reasons(line, pd.DataFrame(X, columns=list("abcd")), reference=X.mean(axis=0), k=9)
    assert np.allclose(found.scores, line.predict(X), rtol=0, atol=1e-12)
    assert found.columns == ("a", "b", "c", "d")
    assert found.names.shape == (300, 9)
    assert (found.names[:, 4:] == "").all()


def test_what_has_no_reasons_is_refused_in_one_sentence(rows: tuple[Any, Any]) -> None:
    X, y = rows
    trees, model = HistGradientBoostingClassifier(max_iter=2).fit(X, y), LogisticRegression().fit(X, y)
    for call, words in (
        (lambda: ff.reasons(trees, X, reference=np.zeros(4)), "found HistGradientBoostingClassifier"),
        (lambda: ff.reasons(model, X), "reference is None"),
        (lambda: ff.reasons(model, X, reference=[1.0]), "expected 4 finite numbers"),
        (lambda: ff.reasons(model, X[:, :2], reference=np.zeros(4)), "X has 2 columns, expected 4"),
        (lambda: ff.reasons(model, X, reference=np.zeros(4), k=0), "k is 0"),
        (lambda: ff.reasons(model, X, reference=np.zeros(4), side="both"), "side is 'both'"),
    ):
        with pytest.raises(ff.InputError, match=words):
            call()


@pytest.fixture(scope="module")
def run() -> Any:
    table = pd.DataFrame(students(600))
    random = np.random.default_rng(1)
    table["school"] = random.choice(["north", "south", "west"], 600)
    known = {"target": "outcome", "groups": "sex", "favourable": "passed", "progress": False}
    return ff.trace_table(table, n_points=2, **known), table


def test_models_of_tables_name_columns_and_keep_no_rows(run: Any, tmp_path: Path) -> None:
    """Levels of a category are one column; files have the reasons that the method gives."""
    model, table = run[0].select(id=int(run[0].frontier.ids[0])), run[1]
    model.save(tmp_path / "model")
    again = ff.load(tmp_path / "model")
    said = ff.reasons(again, table, k=2)
    X = np.concatenate(list(again._encoded(table)))
    sign = 1.0 if again.task.favourable == 1 else -1.0
    np.testing.assert_allclose(said.scores, sign * again._scores(X)[0], rtol=0, atol=1e-12)
    assert "school" in said.columns
    assert set(said.columns) == set(again.columns)
    assert np.allclose(X.mean(axis=0), again.encoder.reference, atol=0.1)  # all rows, of which training took most
    predict_file(again, table, tmp_path / "out.csv", reasons=2)
    with (tmp_path / "out.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [[line["reason_1"], line["reason_2"]] for line in lines] == said.names.tolist()
    predict_file(again, table, tmp_path / "out.csv", overwrite=True)  # earlier predictions, with reasons
    with pytest.raises(ff.InputError, match="is known to a TableModel"):
        ff.reasons(again, table, reference=[0.0])


def test_models_that_do_not_know_their_means_say_so(run: Any) -> None:
    from dataclasses import replace

    model = run[0].select(id=int(run[0].frontier.ids[0]))
    old = replace(model, encoder=replace(model.encoder, reference=None))
    with pytest.raises(ff.InputError, match="does not know its training means"):
        old.reasons(run[1])
    content, arrays = model.encoder.to_content()
    with pytest.raises(ff.InputError, match="one finite number per column"):
        type(model.encoder).from_content(content, {**arrays, "reference": arrays["reference"][:-1]})
