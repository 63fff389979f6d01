"""Pages of every kind in a real browser: hostile names, many points, other tasks, print, phone, dark."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.explorer import write_explorer
from fairfront.frontier import LinearModels
from tests.support.pages import HOSTILE, loans


def test_hostile_names_are_shown_as_text(visit: Any, tmp_path: Path) -> None:
    front, X, y, groups = loans(HOSTILE + "x" * 10_000)
    points = front.models
    assert isinstance(points, LinearModels)
    names = tuple(f"{HOSTILE}{j}'\"" for j in range(points.n_features))
    hostile = replace(front, models=replace(points, feature_names=names))
    known: dict[str, Any] = {"X": X, "y": y, "sensitive_features": groups}
    path = write_explorer(hostile, tmp_path / "page.html", **known, title=HOSTILE, command=f"{HOSTILE} {{id}}")
    found = visit(path)
    assert found.page.evaluate("window.hacked") is None
    assert found.page.locator("img").count() == 0
    assert found.page.evaluate("document.scripts.length") == 2
    assert "</script><img" in found.text("h1")
    assert "</script><img" in found.text("#bars")
    assert "</script><img" in found.text("#moved")
    assert found.page.evaluate("document.documentElement.scrollWidth") <= 1280
    found.check_quiet()


@pytest.mark.slow
def test_print_gives_two_pages(visit: Any, written: Path) -> None:
    found = visit(written)
    pdf = found.page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 2


@pytest.mark.slow
def test_phone_and_dark(visit: Any, written: Path) -> None:
    phone = visit(written, width=360)
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    assert visit(written, color_scheme="dark").page.evaluate(colour) != phone.page.evaluate(colour)


def test_every_control_has_a_name(visit: Any, written: Path) -> None:
    found = visit(written)
    nameless = found.page.evaluate(
        "[...document.querySelectorAll('button, input, select, [tabindex]')].filter((e) => "
        "!(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute('aria-label'))"
        ".map((e) => e.outerHTML)"
    )
    assert nameless == []
    assert found.page.locator("#picture").get_attribute("aria-label")
    assert found.page.locator("main").count() == 1


@pytest.mark.slow
def test_without_rows_the_page_says_what_is_missing(visit: Any, tmp_path: Path) -> None:
    front = loans()[0]
    found = visit(front.to_html(tmp_path / "a.html"))
    for box in ("#words", "#moves", "#calibration"):
        assert "needs validation rows" in found.text(box)
    bare = visit(replace(front, evaluations={}).to_html(tmp_path / "b.html"))
    assert "no evaluation" in bare.text("#notices").lower()
    found.check_quiet()
    bare.check_quiet()


@pytest.mark.slow
def test_many_points_are_thinned_for_drawing_not_for_choosing(visit: Any, tmp_path: Path) -> None:
    front, X, y, groups = loans()
    many = stretched(front, 3000).evaluate(X, y, sensitive_features=groups)
    path = write_explorer(many, tmp_path / "page.html", X=X, y=y, sensitive_features=groups)
    found = visit(path)
    assert found.page.locator("#picture *").count() < 1500
    for cap in [f"{100 * q:.2f}" for q in np.quantile(many.column("tpr_gap", confidence=0.95), [0.2, 0.7])]:
        found.fill("#cap", cap)
        expected = many.choose(at_most={"tpr_gap": float(f"{cap}e-2")})
        assert found.card("chosen") == expected
    if found.page.locator("#words button").count():
        found.page.locator("#words button").click()
        assert "1 000" in found.text("#words")
    found.check_quiet()


def stretched(front: ff.Frontier, n: int) -> ff.Frontier:
    """Return n points on the lines between those of a frontier."""
    at = np.linspace(0, len(front) - 1, n)

    def between(values: np.ndarray) -> np.ndarray:
        flat = values.reshape(len(values), -1)
        columns = [np.interp(at, np.arange(len(flat)), column) for column in np.nan_to_num(flat).T]
        return np.stack(columns, axis=1).reshape(n, *values.shape[1:]) if columns else np.zeros((n, 0))

    points = front.models
    assert isinstance(points, LinearModels)
    names = ("objectives", "gaps", "signed_gaps", "preferences", "kkt", "multipliers")
    return replace(
        front,
        models=replace(points, coef=between(points.coef), intercept=between(points.intercept)),
        points=replace(
            front.points,
            status=tuple(front.status[int(i)] for i in at),
            certified=front.certified[at.astype(int)],
            ids=np.arange(n),
            **{name: between(getattr(front, name)) for name in names},
        ),
        evaluations={},
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["regression", "multiclass", "candidates", "five groups"])
def test_other_frontiers_open_quietly(visit: Any, tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1600, 3))
    levels = ["a", "b", "c", "d", "e"] if kind == "five groups" else ["a", "b"]
    group = {"group": rng.choice(levels, 1600)}
    latent = X[:, 0] + 0.4 * (group["group"] == "a") + rng.normal(size=1600)
    y = {"regression": latent, "multiclass": np.digitize(latent, [-0.5, 0.5])}.get(kind, (latent > 0).astype(int))
    if kind == "candidates":
        models = {f"model {c}": LogisticRegression(C=c).fit(X, y) for c in (0.001, 0.1, 10.0)}
        front = ff.Frontier.from_models(models, X, y, sensitive_features=group)
    else:
        notion = "disparate_mistreatment" if kind == "regression" else "equalized_odds"
        options = {"loss": "squared"} if kind == "regression" else {}
        front = ff.trace(X, y, sensitive_features=group, notion=notion, n_points=5, **options)
        front = front.evaluate(X, y, sensitive_features=group)
    found = visit(write_explorer(front, tmp_path / "page.html", X=X, y=y, sensitive_features=group))
    for value in found.page.locator("#up option").evaluate_all("(all) => all.map((o) => o.value)"):
        found.page.select_option("#up", value)
    found.page.locator("#picture").focus()
    for _ in front.ids:
        found.page.keyboard.press("ArrowRight")
    assert found.page.locator("#pairs-box").is_visible() == (kind == "five groups")
    found.check_quiet()
