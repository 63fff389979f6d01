"""The rates of section 4 as log-log plots: weights that stay, weights that move, and the inner level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.problems import FunctionProblem
from fairfront.solvers.simplex import min_norm, projected_gradient

from ..report import Table
from . import outer_gradient
from .experiment import Experiment, Task
from .figures import BLUE, GREY, ORANGE, VERMILLION, canvas, picture, save


def rotation(d: int) -> np.ndarray:
    """Return a random rotation, so that nothing is aligned with an axis."""
    return np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]


def pair(shared: Any, pull: Any, d: int) -> Any:
    """Return h_i(w) = shared(u) + pull(v -+ 1) with (u, v) = R w: v is balanced, so Psi falls as shared does."""
    R = rotation(d)

    def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = R @ w
        value, slopes = shared(x[:-1])
        sides = [pull(x[-1] - 1.0), pull(x[-1] + 1.0)]
        return np.array([value + p for p, _ in sides]), np.array([np.append(slopes, g) for _, g in sides]) @ R

    return f


def iterates(f: Any, w: np.ndarray, eta: float, T: int, inner: int | None = None) -> np.ndarray:
    """Return w_0 ... w_T of Algorithm 1, with the inner problem exact or by that many projected gradient steps."""
    seen: list[np.ndarray] = []
    options = {"inner": "exact"} if inner is None else {"K": inner}
    solver = ff.PaperPDO(T=T, eta=eta, **options)
    ff.solve(FunctionProblem(f, w, jac=True), solver, w[None, None], on_iterate=lambda t, i, p: seen.append(p.W[0, 0]))
    return np.array(seen)


def quadratic(n: int) -> Any:
    """Return a quadratic with curvatures spread evenly over (0, 1]: convex, not strongly."""
    curvature = np.arange(1, n + 1) / n
    return lambda u: (0.5 * curvature @ u**2, curvature * u)


def convex(T: int, n: int = 400, v: float = 0.3, eta: float = 0.5) -> dict[str, Any]:
    """Psi at the mean iterate and at the last one, minus the optimum, and the theorem's first term."""
    f = pair(quadratic(n), lambda x: (0.5 * x**2, x), n + 1)
    R = rotation(n + 1)
    w = iterates(f, np.append(np.sqrt(1.0 / np.arange(1, n + 1)), v) @ R, eta, T)
    best, alpha = np.append(np.zeros(n), v) @ R, np.array([1.0 + v, 1.0 - v]) / 2.0
    steps = np.unique(np.geomspace(5, T, 25).astype(int))
    floor = alpha @ f(best)[0]
    last = [alpha @ f(w[t])[0] - floor for t in steps]
    mean = [alpha @ f(w[1 : t + 1].mean(axis=0))[0] - floor for t in steps]
    bound = ((w[0] - best) ** 2).sum() / (2.0 * eta * steps)
    return {"steps": steps.tolist(), "last iterate": last, "mean iterate": mean, "bound": bound.tolist()}


def slow_tail(q: float) -> Any:
    """Return mean_i (1 + u_i^2)^(-q / 2): not convex, falling ever more slowly."""

    def f(u: np.ndarray) -> tuple[float, np.ndarray]:
        base = 1.0 + u**2
        return float((base ** (-q / 2)).mean()), -q * u * base ** (-q / 2 - 1.0) / len(u)

    return f


def bump(x: float) -> tuple[float, float]:
    """Return 1 - exp(-x^2 / 2.25), as in Example 1."""
    height = float(np.exp(-(x**2) / 2.25))
    return 1.0 - height, 2.0 * x * height / 2.25


def non_convex(T: int, q: float = 0.2, v: float = 0.4, eta: float = 1.0) -> dict[str, Any]:
    """Mean and least squared norm of the outer gradient, and the theorem's first term."""
    f = pair(slow_tail(q), bump, 4)
    w = iterates(f, np.array([0.6, 0.8, 1.1, v]) @ rotation(4), eta, T)
    J = np.array([f(x)[1] for x in w])
    squared = (np.einsum("ti,tid->td", min_norm(J), J) ** 2).sum(axis=1)
    alpha = min_norm(J[:1])[0]
    floor = alpha @ [bump(v - 1.0)[0], bump(v + 1.0)[0]]
    steps = np.unique(np.geomspace(5, T, 25).astype(int))
    bound = 2.0 * (alpha @ f(w[0])[0] - floor) / (eta * steps)
    least = np.minimum.accumulate(squared)
    return {
        "steps": steps.tolist(),
        "mean squared gradient": [squared[:t].mean() for t in steps],
        "least squared gradient": [least[t - 1] for t in steps],
        "bound": bound.tolist(),
    }


def moving_pair(s: float) -> Any:
    """Return h_1 = w^2 / 2 and h_2 = s (w + 1)^2 / 2: from w = 1 the flat second one has all the weight, at w = 0 none."""

    def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([w[0] ** 2, s * (w[0] + 1.0) ** 2]) / 2.0, np.array([[w[0]], [s * (w[0] + 1.0)]])

    return f


def moving(T: int, s: float = 1e-3, eta: float = 1.0) -> dict[str, Any]:
    """Theorem 2 where weights move: Psi - Psi* with the limit's weights (1, 0), with abar, and with mean weights."""
    f = moving_pair(s)
    w = iterates(f, np.ones(1), eta, T)
    w = np.concatenate([w, np.repeat(w[-1:], T + 1 - len(w), axis=0)])  # at the limit nothing moves any more
    above = np.array([f(x)[0] for x in w]) - f(np.zeros(1))[0]
    alpha = min_norm(np.array([f(x)[1] for x in w]))
    steps = np.unique(np.geomspace(5, T, 25).astype(int))
    mean = np.array([f(w[1 : t + 1].mean(axis=0))[0] for t in steps])
    least = np.array([alpha[1 : t + 1].min(axis=0) for t in steps])
    return {
        "steps": steps.tolist(),
        "mean iterate, weights of the limit": mean[:, 0],
        "mean iterate, smallest weights (abar)": (least * mean).sum(axis=1),
        "last iterate, mean weights": [alpha[:t].mean(axis=0) @ above[t] for t in steps],
        "bound": 1.0 / (2.0 * eta * steps),
    }


def offset_pair(s: float, c: float, offset: float) -> Any:
    """The moving pair in R^3, pulled apart along a second weight, with a constant added to h_1.

    Gradients differ by at least 2 c everywhere, so that the inner problem is strongly convex on the simplex.
    """

    def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, u, v = w
        h = np.array([x**2 + c * (u - 1.0) ** 2, s * (x + 1.0) ** 2 + c * (u + 1.0) ** 2]) + c * v**2
        return h / 2.0 + [offset, 0.0], np.array([[x, c * (u - 1.0), c * v], [s * (x + 1.0), c * (u + 1.0), c * v]])

    return f


def offset(T: int, s: float = 1e-2, c: float = 0.1, eta: float = 0.05, constant: float = 5.0) -> dict[str, Any]:
    """Theorem 3 where weights move: both sides of its inequality, and how fast the outer gradient changes."""
    f = offset_pair(s, c, constant)
    w = iterates(f, np.array([1.0, 0.0, 0.5]), eta, T)
    J = np.array([f(x)[1] for x in w])
    alpha = min_norm(J)
    d = np.einsum("ti,tid->td", alpha, J)
    psi = [float(alpha[t] @ f(w[t])[0]) for t in (0, -1)]
    change = np.linalg.norm(np.diff(d, axis=0), axis=1) / np.maximum(np.linalg.norm(np.diff(w, axis=0), axis=1), 1e-300)
    return {"T": T, "eta": eta, "left": float((d[:T] ** 2).sum(axis=1).mean()), "first": psi[0], "last": psi[1],
            "right": 2.0 * (psi[0] - psi[1]) / (eta * T), "smooth": float(change.max())}  # fmt: skip


def inner(K: int, m: int = 4, d: int = 20) -> dict[str, Any]:
    """Squared distance of the inner weights to the optimum after k projected gradient steps, and exp(-k mu / L)."""
    rng = np.random.default_rng(3)
    J = rng.normal(size=(1, m, d)) + 0.5
    M = J @ J.transpose(0, 2, 1)
    best = min_norm(J)
    start = np.eye(m)[:1]
    size = np.linalg.eigvalsh(M[0])
    steps = np.arange(0, K + 1)
    away = [float(((projected_gradient(M, start, None, int(k)) - best) ** 2).sum()) for k in steps]
    return {"steps": steps.tolist(), "squared distance": away, "bound": away[0] * np.exp(-steps * size[0] / size[-1])}


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per panel, one for the second theorem where weights move, and those of both outer gradients."""
    return {
        "convex": Task(convex, {"T": 60 if quick else 640}),
        "non-convex": Task(non_convex, {"T": 200 if quick else 6000}),
        "inner": Task(inner, {"K": 20 if quick else 60}),
        "moving": Task(moving, {"T": 200 if quick else 2000}),
        "offset": Task(offset, {"T": 400 if quick else 4000}),
        **outer_gradient.tasks(quick),
    }


def slope(steps: list[float], values: list[float]) -> float:
    """Return the least-squares slope of log value over log T from T = 10 on, while values are above rounding."""
    at, size = np.array(steps, dtype=float), np.array(values)
    use = (at >= 10) & (size > 1e-14)
    return float(np.polyfit(np.log(at[use]), np.log(size[use]), 1)[0])


def page(results: dict[str, Any], folder: Path) -> str:
    """Draw the plots and write the page."""
    _draw(results, folder / "convergence.png")
    rows = []
    for key in ("convex", "non-convex", "moving"):
        found = results[key]
        bound = np.array(found["bound"])
        for name in (n for n in found if n not in ("steps", "bound")):
            over = float((np.array(found[name]) / bound).max())
            inside = "yes" if over <= 1.0 + 1e-9 else f"no, {over:.1f} times over"
            tilt = "" if key == "moving" else f"{slope(found['steps'], found[name]):+.2f}"
            rows.append([{"moving": "convex, weights move"}.get(key, key), name, tilt, inside])
    facts = str(
        Table(["objectives", "quantity", "slope of log value over log T (bound: -1)", "within the bound"], rows)
    )
    shown = picture("convergence.png", "Rates of convergence")
    return "\n\n".join(
        [INTRODUCTION, shown, facts, MOVING.format(**results["offset"]), outer_gradient.section(results), DIFFERENCES]
    )


def _draw(results: dict[str, Any], path: Path) -> None:
    figure, axes = canvas(2, 2, 9.8, 7.2)
    panels = {
        "convex": ("(a) convex, weights stay", "Psi - Psi*"),
        "non-convex": ("(b) not convex, weights stay", "|grad Psi|^2"),
        "inner": ("(c) inner level", "|alpha - alpha*|^2"),
        "moving": ("(d) convex, weights move", "Psi - Psi*"),
    }
    for ax, (key, (title, quantity)) in zip(axes.reshape(-1), panels.items(), strict=True):
        found = results[key]
        steps = np.array(found["steps"])
        names = [n for n in found if n not in ("steps", "bound")]
        for name, colour in zip(names, (BLUE, VERMILLION, ORANGE), strict=False):
            size = np.array(found[name])
            ax.plot(steps[size > 0], size[size > 0], "o-", ms=3, color=colour, label=name)
        words = "bound of the theorem" if key != "inner" else "exp(-K mu / L)"
        ax.plot(steps, found["bound"], color=GREY, ls="--", label=words)
        ax.set_yscale("log")
        if key != "inner":
            ax.set_xscale("log")
        ax.set_xlabel("outer steps T" if key != "inner" else "inner steps K")
        ax.set_ylabel(quantity)
        ax.set_title(title, fontsize=10.5)
        if key == "moving":
            ax.set_ylim(top=60.0)
        ax.legend(fontsize=8.5, loc="upper right")
    figure.tight_layout()
    save(figure, path)


INTRODUCTION = """Algorithm 1 with constant steps. (a), (b): pairs of functions that share a part that is slow to descend and pull one more
weight in opposite directions, in rotated coordinates; (a) a quadratic with curvatures from 1/400 to 1, (b) a slowly falling tail
that is not convex, with the pulls of Example 1. On both the inner weights alpha*(w) never change, so that Algorithm 1 is gradient
descent on one function. (c): the inner problem alone, four gradients in twenty dimensions, K projected gradient steps. (d): h_1 =
w^2 / 2 and h_2 = s (w + 1)^2 / 2 with s = 1e-3, from w = 1 with steps of 1, where the weights do change: from (0, 1), because the second
objective is the flatter one, to (1, 0) at the limit w = 0. Dashed: the bounds of section 4 without the term of the inexact
inner level, which is solved exactly in (a), (b) and (d)."""

MOVING = """## Where weights move

Theorem 2 bounds Psi(wbar, abar) - Psi(w*, alpha*(w*)) with abar_i = min_t alpha_i. In (d) abar = (0, 1) at first, so that only the
flat h_2 counts; that exceeds the bound by up to a third. From the step on at which the second weight vanishes abar is (0, 0), the left
side is at most 0 and the theorem says nothing (no dots). Read with the weights of the limit, which is what "an epsilon-accurate solution" would need, the bound
is exceeded: at T = 100 by a factor of 81 with s = 1e-3, and at T = 1 000 by 816 with s = 1e-4. The reason is that the smallest vector
in the hull belongs to the flattest objective; how flat it is does not enter the bound. The theorem asks for eta <= 1 / L_Psi,
and L_Psi grows as 1 / mu_Phi; here mu_Phi = 0 at the limit (assumption 2a fails there, as it does at every stationary
point), so no step size satisfies it. One weight w also breaks m < d; the next example does not.

Theorem 3 has no convexity and the left side has no abar. Its proof adds up differences of Psi(w_t, alpha*(w_t)), in which the
weights move as well. With a constant added to h_1 that is enough to turn it around: for two objectives in R^3 whose gradients
differ everywhere, steps of {eta:g} (along the path the outer gradient changes by at most {smooth:.2f} times the way) and T = {T},
Psi goes *up* from {first:.3f} to {last:.3f}, so the right side is {right:.1e} and the left side, a mean of squares, {left:.1e}.
The sign of the right side depends neither on T nor, for small steps, on their size.

Algorithm 1 does what it should in both examples: every objective falls at every step, and the end is Pareto stationary. What
holds instead is known for steepest descent of several objectives (Fliege, Vaz and Vicente 2019) and needs neither assumption 2
nor L_Psi. With d_t the smallest vector in the hull, <d_t, g_i> >= |d_t|^2 for every i, so with eta <= 1 / max_i L_i every single
objective falls by at least eta |d_t|^2 / 2, and

    mean_t |d_t|^2  <=  2 / (eta T) min_i (h_i(w_0) - inf h_i)
    sum_i mean_t(alpha_i) (h_i(w_T) - h_i(w))  <=  |w_0 - w|^2 / (2 eta T)        for convex h and any w

with the *mean* of the weights where the paper has their minimum, and the last iterate where it has the mean one. Both are
tested; the second is the third curve of (d)."""

DIFFERENCES = """## How this compares with the paper

- The paper's Lemma 2 writes exp(-K / kappa) with kappa = mu / L. The standard result, drawn here, has kappa = L / mu.
- Where the weights stay, the bounds of Theorems 2 and 3 hold, and the rate is about the stated 1 / T. Where they move, they do not
  hold as written; nothing here says that Algorithm 1 fails to converge.
- For three groups or more the inner problem of pairwise gaps is not strongly convex, so the exponential rate of (c) is not
  promised there. [Every statement of the paper with its verdict](statements.md)."""

EXPERIMENT = Experiment("convergence", "Section 4: rates of convergence", tasks, page)
