"""The figures of Example 1 and of the methods that the paper names, all in planes of two objectives or two weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, canvas, legend, save

PATHS = {
    "PDO": GREEN,
    "EPO": PURPLE,
    "h_PB only": ORANGE,
    "PB-PDO as printed": VERMILLION,
    "PB-PDO (fairfront)": BLUE,
}


def draw_plane(objectives: Any, reach: float, path: Path) -> None:
    """Figure 2: both objectives over w in R^2, with the Pareto set, the segment between the two minima, in red."""
    axis = np.linspace(-reach, reach, 161)
    first, second = np.meshgrid(axis, axis)
    values = objectives(np.stack([first, second], axis=-1))
    figure, axes = canvas(1, 2, 9.0, 4.0)
    for i, ax in enumerate(axes[0]):
        filled = ax.contourf(first, second, values[..., i], levels=np.linspace(0.0, 1.0, 11), cmap="cividis")
        ax.plot([-1.0, 1.0], [-1.0, 1.0], color="#e8112d", lw=2.6, label="Pareto set")
        at = 1.0 - 2.0 * i
        ax.scatter(at, at, s=46, color="white", edgecolors=BLACK, zorder=4, label=f"minimum of h_{i + 1}")
        ax.set(xlabel="w_1", ylabel="w_2", aspect="equal", xticks=range(-3, 4), yticks=range(-3, 4))
        ax.set_title(f"h_{i + 1}(w)", fontsize=11)
        ax.grid(visible=False)
        ax.legend(loc="lower right" if i == 0 else "upper left", fontsize=9)
        figure.colorbar(filled, ax=ax, shrink=0.86, ticks=np.linspace(0.0, 1.0, 6))
    figure.tight_layout()
    save(figure, path)


def draw_lines(front: np.ndarray, aims: dict[tuple[float, float], np.ndarray], path: Path) -> None:
    """Figure 3: the front with preference lines, each of which meets it in its desired point."""
    figure, axes = canvas(1, 1, 5.8, 4.4)
    ax = axes[0, 0]
    ax.plot(front[:, 0], front[:, 1], color=BLACK, lw=1.8, label="front")
    for (pi, aim), colour in zip(aims.items(), (BLUE, VERMILLION, GREEN), strict=False):
        far = np.array([1.0 / pi[0], 1.0 / pi[1]])
        ax.plot(*(np.outer([0.0, 1.02 / far.max()], far)).T, color=colour, lw=1.3, ls="--")
        ax.scatter(*aim, marker="*", s=130, color=colour, zorder=5,
                   label=f"pi = ({pi[0]:g}, {pi[1]:g}): h = ({aim[0]:.3f}, {aim[1]:.3f})")  # fmt: skip
    ax.annotate("minimum of h_1", (0.02, 0.985), fontsize=9)
    ax.annotate("minimum of h_2", (0.69, 0.015), fontsize=9)
    ax.set(xlabel="h_1", ylabel="h_2", xlim=(-0.02, 1.05), ylim=(-0.02, 1.05))
    ax.legend(loc="upper right", fontsize=9)
    figure.tight_layout()
    save(figure, path)


def _ground(ax: Any, front: np.ndarray, aim: np.ndarray, pi: np.ndarray) -> None:
    ax.plot(front[:, 0], front[:, 1], color=BLACK, lw=1.5, label="front")
    reach = np.array([0.0, 1.05])
    ax.plot(reach, reach * pi[0] / pi[1], color=GREY, lw=1.0, ls="--", label="preference line")
    ax.scatter(*aim, marker="*", s=110, color=BLACK, zorder=6, label="desired point")
    ax.set(xlabel="h_1", ylabel="h_2", xlim=(-0.03, 1.05), ylim=(-0.03, 1.05))


def _path(ax: Any, found: dict[str, Any], **look: Any) -> None:
    path = np.array(found["path"])
    ax.plot(path[:, 0], path[:, 1], color=PATHS[found["name"]], **look)
    ax.scatter(*path[0], marker="o", s=24, color=BLACK, zorder=5)
    ax.scatter(*path[-1], marker="X", s=46, color=PATHS[found["name"]], zorder=7, edgecolors="white", linewidths=0.6)


def draw_cases(results: dict[str, Any], front: np.ndarray, aim: np.ndarray, pi: np.ndarray, path: Path) -> None:
    """Left: h_PB only stops short in both cases. Middle: Algorithm 2. Right: what the default does instead."""
    panels = {
        "(a) h_PB as the only objective": "h_PB only",
        "(b) Algorithm 2 as printed": "PB-PDO as printed",
        "(c) PB-PDO of fairfront": "PB-PDO (fairfront)",
    }
    figure, axes = canvas(1, 3, 12.0, 4.0)
    for ax, (title, name) in zip(axes[0], panels.items(), strict=True):
        _ground(ax, front, aim, pi)
        for start, style in (("case I", "-"), ("case II", "-.")):
            if f"{name}, {start}" in results:
                found = results[f"{name}, {start}"]
                _path(ax, found, lw=1.8, ls=style)
                words = f"{start}, {found['steps']} steps"
                ax.annotate(words, found["path"][0], xytext=(-4, 7), textcoords="offset points", fontsize=9)
        ax.set_title(title, fontsize=10.5)
        ax.set_xlim(-0.03, 1.2)
    legend(figure, axes[0, 0], 3)
    figure.tight_layout()
    save(figure, path)


def draw_trajectories(results: dict[str, Any], front: np.ndarray, aim: np.ndarray, pi: np.ndarray, path: Path) -> None:
    """Draw one panel per algorithm, all from the start of case II."""
    names = ("PDO", "EPO", "PB-PDO as printed", "PB-PDO (fairfront)")
    figure, axes = canvas(1, 4, 12.8, 3.5)
    for ax, name in zip(axes[0], names, strict=True):
        _ground(ax, front, aim, pi)
        if f"{name}, case II" in results:
            found = results[f"{name}, case II"]
            _path(ax, found, lw=1.8)
            words = f"{found['steps']} steps, {found['to_aim']:.0e} from the aim"
            ax.text(0.99, 0.94, words, transform=ax.transAxes, fontsize=8.5, ha="right")
        ax.set_title(name, fontsize=10.5)
    legend(figure, axes[0, 0], 3)
    figure.tight_layout()
    save(figure, path)


def draw_points(found: dict[str, Any], path: Path) -> None:
    """Draw one panel per method, with the points of the first seed on the front and their number near it."""
    names, curve = list(found["methods"]), np.array(found["front"])
    columns = 4 if len(names) % 4 == 0 else 5
    rows = -(-len(names) // columns)
    figure, axes = canvas(rows, columns, 12.0, 2.25 * rows)
    flat = axes.reshape(-1)
    for ax, name in zip(flat, names, strict=False):
        answer = found["methods"][name]
        _points(ax, curve, np.array(answer["h"]))
        near, all_ = answer["near"][0], answer["points"][0]
        ax.set_title(f"{name.replace(' (', chr(10) + '(').replace(', ', ',' + chr(10))}: {near} of {all_}", fontsize=9)
    for ax in flat[len(names) :]:
        ax.set_axis_off()
    for k, ax in enumerate(flat[: len(names)]):
        ax.set_xlabel(found["axes"][0] if k + columns >= len(names) else "")
        ax.set_ylabel(found["axes"][1] if k % columns == 0 else "")
    handles, labels = flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=2, frameon=False)
    figure.tight_layout(h_pad=0.9, w_pad=0.6)
    save(figure, path)


def _points(ax: Any, curve: np.ndarray, points: np.ndarray) -> None:
    ax.plot(curve[:, 0], curve[:, 1], color=GREY, lw=2.0, label="front")
    low, high = curve.min(axis=0), curve.max(axis=0)
    room = 0.12 * (high - low)
    shown = np.clip(points, low - room, high + room)
    ax.scatter(shown[:, 0], shown[:, 1], s=18, color=VERMILLION, zorder=3, label="points (far ones on the rim)")
    ax.set_xlim(low[0] - 1.5 * room[0], high[0] + 1.5 * room[0])
    ax.set_ylim(low[1] - 1.5 * room[1], high[1] + 1.5 * room[1])
    ax.tick_params(labelsize=8)
    ax.locator_params(nbins=4)
