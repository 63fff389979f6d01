"""Pictures: what is drawn is what the frontier says, on the axes given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import fairfront as ff
from fairfront.measures import wilson
from fairfront.measures.intervals import share_interval
from fairfront.measures.rates import SampleRates
from fairfront.plots import plot_frontier, plot_groups, plot_overview, plot_panels
from tests.support.pages import loans

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("agg")
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    pyplot.close("all")


def drawn(ax: object, label: str) -> np.ndarray:
    (found,) = [c for c in ax.collections if c.get_label() == label]  # type: ignore[attr-defined]
    return np.asarray(found.get_offsets())


def test_points_are_the_columns_and_the_axes_are_those_given() -> None:
    front = loans()[0]
    ax = pyplot.subplots()[1]
    chosen = front.choose(knee=True)
    assert front.plot(ax=ax, x="tpr_gap", y="error", chosen=chosen) is ax
    solved = front.solved
    expected = np.column_stack([front.column("tpr_gap"), front.column("error")])
    np.testing.assert_array_equal(drawn(ax, "solved"), expected[solved])
    np.testing.assert_array_equal(drawn(ax, f"chosen (id {chosen})")[0], expected[front.place(chosen)])
    np.testing.assert_array_equal(drawn(ax, "unconstrained model")[0], expected[np.argmin(front.loss)])


def test_the_band_is_the_interval_of_the_error() -> None:
    front = loans()[0]
    ax = front.plot(x="tpr_gap", y="error")
    (band,) = [c for c in ax.collections if type(c).__name__ in ("PolyCollection", "FillBetweenPolyCollection")]
    low, high = share_interval(SampleRates(front.column("error"), np.array(front.evaluations["validation"].n)))
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(low[front.solved].min())
    assert heights.max() == pytest.approx(high[front.solved].max())
    plain = front.plot(x="tpr_gap", y="error", bands=False)
    assert not [c for c in plain.collections if "Poly" in type(c).__name__]


def test_panels_share_the_point_and_return_their_axes() -> None:
    front = loans()[0]
    pair = pyplot.subplots(1, 2)[1]
    assert plot_panels(front, ax=pair, chosen=int(front.ids[1])) is pair
    assert [ax.get_title() for ax in pair] == ["what training sees", "what people see"]
    assert plot_overview(front).axes[1].get_xlabel() == "tpr gap (validation)"
    with pytest.raises(ff.InputError, match="expected 2"):
        plot_panels(front, ax=pair[:1])


def test_bars_are_rates_with_wilson_intervals() -> None:
    front = loans()[0]
    chosen = int(front.ids[-1])
    ax = front.plot(kind="groups", chosen=chosen, rate="tpr")
    rates = front.evaluations["validation"].groups["group"]
    heights = [patch.get_height() for patch in ax.patches]
    expected = [*rates.tpr[np.argmin(front.loss)], *rates.tpr[front.place(chosen)]]
    np.testing.assert_allclose(heights, expected)
    low, _ = wilson(rates.tpr[front.place(chosen)] * rates.positives, rates.positives)
    bars = ax.containers[-1].errorbar.lines[2][0].get_segments()
    np.testing.assert_allclose([segment[0][1] for segment in bars], low)
    assert f"n = {rates.positives[0]:.0f}" in ax.get_xticklabels()[0].get_text()


def test_wrong_wishes_are_refused() -> None:
    front = loans()[0]
    with pytest.raises(ff.InputError, match="kind is 'pie'"):
        plot_frontier(front, kind="pie")  # type: ignore[arg-type]
    with pytest.raises(ff.InputError, match="rate is 'auc'"):
        plot_groups(front, chosen=0, rate="auc")
    with pytest.raises(ff.InputError, match="attribute is 'age'"):
        plot_groups(front, chosen=0, attribute="age")
    with pytest.raises(ff.InputError, match="no evaluation 'other'"):
        plot_groups(front, chosen=0, on="other")


def test_regression_and_groups_without_figures_can_be_drawn() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    group = np.where(np.arange(300) % 2, "a", "b")
    front = ff.trace(
        X,
        X[:, 0] + rng.normal(size=300),
        sensitive_features={"group": group},
        notion="disparate_mistreatment",
        loss="squared",
        n_points=3,
    )
    front = front.evaluate(X, X[:, 0], sensitive_features={"group": group})
    _, right = front.plot(kind="panels")
    assert "mse" in right.get_ylabel()
    decided = ff.trace(X, X[:, 0] > 0, sensitive_features={"group": group}, n_points=3)
    decided = decided.evaluate(X, X[:, 0] > 0, sensitive_features={"group": group})
    rates = decided.evaluations["validation"].groups["group"]
    lacking = replace(rates, positives=rates.positives * [0.0, 1.0], tpr=rates.tpr * [np.nan, 1.0])
    record = replace(decided.evaluations["validation"], groups={"group": lacking}, sizes={})
    axes = replace(decided, evaluations={"validation": record}).plot(kind="groups", chosen=int(decided.ids[-1]))
    assert [label.get_text().endswith("n = 0") for label in axes.get_xticklabels()] == [True, False]
    assert len(axes.patches) == 2
