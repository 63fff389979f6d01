"""The appendix as a page: Example 2 (Figure 11), and the order of weights along a front (Proposition 2, Figure 12)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.exceptions import UnboundedError

from ..report import Table
from .bumps import NU, example
from .data import Spec, parts
from .experiment import Experiment, Task
from .figures import BLACK, BLUE, GREY, ORANGE, VERMILLION, canvas, picture, save
from .methods import problem

LINES = (2.0, 3.0, 4.0, -2.0)
"""a, b, c, d of Example 2 (a), as the paper's figure has them."""


def linear(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Example 2 (a): a w + b and c w + d."""
    a, b, c, d = LINES
    return np.array([a, c]) * w[0] + [b, d], np.array([[a], [c]])


def contradicting(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Example 2 (b): w^2 and 1 / w^2."""
    x = w[0]
    return np.array([x**2, x**-2]), np.array([[2.0 * x], [-2.0 * x**-3]])


def unattained(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return exp(-w) and 2 exp(-w): bounded below, smooth, convex, and every point is dominated."""
    size = np.exp(-w[0])
    return np.array([size, 2.0 * size]), np.array([[-size], [-2.0 * size]])


def existence(starts: int) -> dict[str, Any]:
    """Return what `minimize` and the efficiency check of the appendix say about the three pairs."""
    try:
        said = str(ff.minimize(linear, [0.0], jac=True).status)
    except UnboundedError as error:
        said = str(error)
    points = np.geomspace(0.2, 3.0, starts)
    ends = [ff.minimize(contradicting, [x], jac=True) for x in points]
    checked = [ff.pareto.is_efficient(unattained, np.array([x]), jac=True) for x in (0.0, 3.0, 8.0)]
    return {
        "linear": said,
        "stayed": int(sum(abs(end.x[0] - x) <= 1e-6 for end, x in zip(ends, points, strict=True))),
        "starts": starts,
        "unattained": [bool(answer) for answer in checked],
    }


def order(spec: dict[str, str], points: int) -> dict[str, Any]:
    """Return a fairness front with its multipliers, and Example 1's front with the weights of its points."""
    front = ff.trace(**problem(parts(Spec(**spec), 0), "logistic"), n_points=points, held_out=False, progress=False)
    by_gap = np.argsort(-front.gaps[:, 0])
    price = np.abs(np.asarray(front.multipliers)).reshape(len(by_gap), -1).max(axis=1)[by_gap]
    shares = np.linspace(0.999, -0.999, points)
    size = np.linalg.norm(np.array([example(t * NU)[1] for t in shares]), axis=2)
    return {
        "title": Spec(**spec).title,
        "loss": front.loss[by_gap],
        "gap": front.gaps[by_gap, 0],
        "price": price,
        "weight": price / (1.0 + price),
        "example weight": size[:, 0] / size.sum(axis=1),
    }


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per figure."""
    return {
        "existence": Task(existence, {"starts": 3 if quick else 25}),
        "order": Task(order, {"spec": asdict(Spec("compas", "sex")), "points": 8 if quick else 40}),
    }


def page(results: dict[str, Any], folder: Path) -> str:
    """Draw both figures and write the page."""
    found, made = results["existence"], results["order"]
    _draw_existence(folder / "geometry-existence.png")
    _draw_order(made, folder / "geometry-order.png")
    rows: list[list[object]] = [
        ["(a) 2 w + 3, 4 w - 2", "no efficient point", f"`minimize` raises: {found['linear']}"],
        ["(b) w^2, 1 / w^2", "every point efficient",
         f"`minimize` stays at {found['stayed']} of {found['starts']} starts, efficient there"],
        ["(c) exp(-w), 2 exp(-w)", "bounded below, so one should exist",
         f"`is_efficient` at w = 0, 3, 8: {', '.join('yes' if a else 'no' for a in found['unattained'])}"],
    ]  # fmt: skip
    weights = np.array(made["weight"])
    ordered = "never turns" if _monotone(weights) else "turns"
    bent = np.array(made["example weight"])
    return "\n\n".join(
        [
            EXISTENCE,
            picture("geometry-existence.png", "Example 2, and a pair without an efficient point"),
            str(Table(["objectives", "the paper, by Theorem 4", "here"], rows)),
            ORDER.format(title=made["title"], ordered=ordered, turn=int((np.diff(np.sign(np.diff(bent))) != 0).sum())),
            picture("geometry-order.png", "Tangents of a fairness front, and weights along two fronts"),
            ORDER_READING,
        ]
    )


def _monotone(values: np.ndarray) -> bool:
    return bool((np.diff(values) >= -1e-12).all() or (np.diff(values) <= 1e-12).all())


def _draw_existence(path: Path) -> None:
    """Figure 11, and a third panel for the counterexample to Theorem 4."""
    figure, axes = canvas(1, 3, 12.0, 3.7)
    shown = {
        "(a) 2 w + 3 against 4 w - 2": (linear, np.linspace(-3.0, 1.0, 9), "every point is dominated"),
        "(b) w^2 against 1 / w^2": (contradicting, np.geomspace(0.4, 2.0, 9), "no point is dominated"),
        "(c) exp(-w) against 2 exp(-w)": (unattained, np.linspace(-0.2, 4.0, 9), "every point is dominated"),
    }
    for ax, (title, (f, places, words)) in zip(axes[0], shown.items(), strict=True):
        fine = np.array([f(np.array([w]))[0] for w in np.linspace(places[0], places[-1], 200)])
        marks = np.array([f(np.array([w]))[0] for w in places])
        colour = BLUE if f is contradicting else GREY
        ax.plot(fine[:, 0], fine[:, 1], color=colour, lw=1.8)
        ax.scatter(marks[:, 0], marks[:, 1], s=24, color=colour, zorder=3)
        if f is not contradicting:
            low, high = (marks[0], marks[2]) if f is linear else (marks[-1], marks[2])
            ax.annotate("", low, high, arrowprops={"arrowstyle": "->", "color": VERMILLION, "lw": 2.0})
        if f is unattained:
            ax.scatter(0.0, 0.0, s=50, facecolors="white", edgecolors=VERMILLION, zorder=4)
            ax.annotate("infimum, not attained", (0.0, 0.0), xytext=(24, -4), textcoords="offset points", fontsize=9)
        ax.set(xlabel="h_1", ylabel="h_2")
        ax.set_title(f"{title}\n{len(places)} values of w: {words}", fontsize=10.5)
    figure.tight_layout()
    save(figure, path)


def _draw_order(found: dict[str, Any], path: Path) -> None:
    """Figure 12: tangents of a convex front, and the weight of the second objective along a convex and a bent front."""
    figure, axes = canvas(1, 2, 10.4, 4.0)
    loss, gap, price = (np.array(found[key]) for key in ("loss", "gap", "price"))
    left, right = axes[0]
    left.plot(loss, gap, color=BLACK, lw=1.8, label=f"front, {found['title']}")
    n = len(loss)
    for k, colour in zip((n // 8, n // 3, (2 * n) // 3), (BLUE, ORANGE, VERMILLION), strict=True):
        reach = 0.22 * np.ptp(gap) * np.array([-1.0, 1.0])
        left.plot(loss[k] - price[k] * reach, gap[k] + reach, color=colour, lw=1.5,
                  label=f"weight of the gap {price[k] / (1 + price[k]):.4f}")  # fmt: skip
        left.scatter(loss[k], gap[k], color=colour, s=34, zorder=4)
    left.set(xlabel="h_1: loss", ylabel="h_2: |loss gap|")
    left.set_title("(a) the tangent's slope is the ratio of the weights", fontsize=10.5)
    left.legend(fontsize=8.5)
    place = np.linspace(0.0, 1.0, n)
    weight = np.array(found["weight"])
    right.plot(place, weight / weight.max(), "o-", ms=3.5, color=BLUE,
               label=f"{found['title']}: convex, {n} points, ordered (over its largest)")  # fmt: skip
    bent = np.array(found["example weight"])
    right.plot(np.linspace(0.0, 1.0, len(bent)), bent, "s-", ms=3.5, color=VERMILLION,
               label=f"Example 1: not convex, {len(bent)} points, not ordered")  # fmt: skip
    right.set(
        xlabel="place on the front, from the minimum of h_1 to that of h_2", ylabel="weight of h_2", ylim=(-0.03, 1.42)
    )
    right.set_title("(b) weights along two fronts", fontsize=10.5)
    right.legend(fontsize=8.5, loc="upper left")
    figure.tight_layout()
    save(figure, path)


EXISTENCE = """## Figure 11: when efficient points exist

Example 2 with the numbers of the paper's figure. Theorem 4 says that objectives bounded below have an efficient point. The
third panel is smooth, convex and bounded below, and has none: the infimum is not attained. The proof uses that the set
{w : h(w) <= h(wbar)} is compact, which the statement does not ask for; the paper announces a necessary condition and states a
sufficient one."""

ORDER = """## Figure 12: weights and places on a front

Proposition 2: on a smooth and convex front an order of the weights is an order of the objectives. (a) is a fairness front with
three of its tangents; the weight of the gap is multiplier / (1 + multiplier). Along all points of {title} that weight {ordered}.
On Example 1, whose front is not convex, the weights that make a point stationary turn {turn} times on the way (b): the order
is lost, and weighted sums find no point between the turns."""

ORDER_READING = """The paper's proof takes alpha = sin(theta) / (sin(theta) + cos(theta)) as the weight of h_2 and later writes "theta = 0 if and
only if alpha = 1"; with its own definition theta = 0 is alpha = 0. The order that follows is the one shown here."""

EXPERIMENT = Experiment("geometry", "The appendix: Example 2 and Proposition 2", tasks, page)
