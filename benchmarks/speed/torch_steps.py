"""Cost of a training step with cells: against an ordinary step, against TorchJD, and many preferences at once.

Times are CPU times of one thread, in turns, medians; batches are as `CellSampler` draws them. Fair steps are those of
training: every fourth one measures cell gradients.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

import fairfront.torch as fft

from ..cases import synthetic
from ..report import Section, Table
from .process import medians

Step = Callable[[], object]

CYCLE = 4
"""Every so many-th fair step measures cell gradients, so that this many calls have all that a step costs."""


def people(n: int, d: int, seed: int = 0) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """Return features, labels and five groups."""
    rows = synthetic(n, d, groups=5, seed=seed)
    return torch.as_tensor(rows.X, dtype=torch.float32), rows.y, np.array(list("abcde"))[rows.groups]


def network(d: int, *widths: int) -> nn.Module:
    """Return a network with hidden layers of these widths."""
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for given, made in zip((d, *widths[:-1]), widths, strict=True):
        parts += [nn.Linear(given, made), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(widths[-1], 1))


def ordinary(module: nn.Module, X: torch.Tensor, y: np.ndarray) -> Step:
    """Return an ordinary training step."""
    optimizer = torch.optim.Adam(module.parameters(), 1e-4)
    target = torch.as_tensor(y, dtype=torch.float32)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(module(X)[:, 0], target).backward()
        optimizer.step()

    return step


def fair(module: nn.Module, X: torch.Tensor, given: Any, rows: np.ndarray) -> Step:
    """Return a step of PDO on all eleven objectives."""
    step = fft.FairStep(module, torch.optim.Adam(module.parameters(), 1e-4), given)
    return lambda: step(X, rows)


def losses(module: nn.Module, X: torch.Tensor, y: np.ndarray, group: np.ndarray) -> list[torch.Tensor]:
    """Return the eleven objectives as tensors: the loss, and half the squared gap of every pair of groups."""
    target = torch.as_tensor(y, dtype=X.dtype)
    each = nn.functional.binary_cross_entropy_with_logits(module(X)[:, 0], target, reduction="none")
    means = [each[torch.as_tensor((group == g) & (y == 1))].mean() for g in "abcde"]
    return [each.mean()] + [0.5 * (means[i] - means[j]) ** 2 for i in range(5) for j in range(i + 1, 5)]


def mgda(module: nn.Module, X: torch.Tensor, y: np.ndarray, group: np.ndarray) -> dict[str, Step]:
    """Return TorchJD's steps with MGDA on the same objectives, by both of its engines; none if it is not installed."""
    try:
        from torchjd.aggregation import MGDA, MGDAWeighting
        from torchjd.autogram import Engine
        from torchjd.autojac import backward, jac_to_grad
    except ImportError:
        return {}
    optimizer, twin = torch.optim.Adam(module.parameters(), 1e-4), copy.deepcopy(module)
    other, engine, weighting = torch.optim.Adam(twin.parameters(), 1e-4), Engine(twin, batch_dim=None), MGDAWeighting()

    def jacobian() -> None:
        optimizer.zero_grad()
        backward(losses(module, X, y, group))
        jac_to_grad(list(module.parameters()), MGDA())
        optimizer.step()

    def gramian() -> None:
        other.zero_grad()
        values = torch.stack(losses(twin, X, y, group))
        values.backward(weighting(engine.compute_gramian(values)))
        other.step()

    return {"autojac": jacobian, "autogram": gramian}


def raised(direction: np.ndarray, J: np.ndarray) -> bool:
    """Tell whether a direction raises some objective to first order, beyond rounding."""
    lengths = np.linalg.norm(J, axis=1) * max(float(np.linalg.norm(direction)), 1e-300)
    return bool((J @ direction < -1e-6 * lengths).any())


def counts(d: int, width: int, batches: int) -> list[Any]:
    """Count how often the directions of PDO and of MGDA raise an objective of their own batch."""
    try:
        from torchjd.aggregation import MGDA
    except ImportError:
        return ["", "not installed", batches]
    bad = [0, 0]
    for seed in range(batches):
        X, y, group = people(512, d, seed)
        module = network(d, width, width).double()
        values = losses(module, X.double(), y, group)
        rows = [torch.autograd.grad(v, list(module.parameters()), retain_graph=True) for v in values]
        J = torch.stack([torch.cat([g.reshape(-1) for g in row]) for row in rows])
        bad[0] += raised((fft.pdo_weights(J @ J.T) @ J).numpy(), J.numpy())
        bad[1] += raised(MGDA()(J).numpy(), J.numpy())
    return [bad[0], bad[1], batches]


def peak(step: Step) -> float:
    """Return the most memory in megabytes that a training holds at once beside its module and data, by the profiler.

    The step is a new one, and what it and the optimiser keep from step to step counts too.
    """
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
        for _ in range(3):
            step()
    held = most = 0
    for event in seen.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most / 1e6


def steps(sizes: list[tuple[int, tuple[int, ...], int]], d: int = 105) -> Table:
    """Measure the step of five groups against the ordinary one and MGDA's faster engine; sizes end with repeats."""
    rows = []
    for batch, widths, repeats in sizes:
        X, y, group = people(batch, d)
        given = fft.objectives(y, sensitive_features=group)
        index = next(iter(fft.CellSampler(given, batch)))
        X, y, group, module = X[torch.as_tensor(index)], y[index], group[index], network(d, *widths)
        jobs = {"plain": ordinary(module, X, y), "fair": fair(copy.deepcopy(module), X, given, index)}
        others = mgda(copy.deepcopy(module), X, y, group)
        found = medians(repeats, {**jobs, **others}, time.process_time, first=4, calls=CYCLE)
        ratio, its = found["fair"] / found["plain"], ["not installed", ""]
        if others:
            best = min(others, key=lambda name: found[name])
            new = fair(copy.deepcopy(module), X, given, index), mgda(copy.deepcopy(module), X, y, group)[best]
            memory = peak(new[0]) / peak(new[1])
            its = [f"{found[best] / found['fair']:.1f} ({best})", f"{memory:.2f}"]
        size = "-".join(str(width) for width in (d, *widths, 1))
        rows.append([batch, size, f"{1e3 * found['plain']:.1f} ms", f"{ratio:.2f}", *its])
    names = ["batch", "network", "ordinary step", "fair / ordinary (at most 1.5)", "MGDA / fair (at least 3)"]
    return Table([*names, "memory, fair / MGDA (at most 0.5)"], rows)


def stacks(runs: int, n: int, epochs: int, batches: list[int], repeats: int) -> Table:
    """Measure one trace of many preferences against a trace for each, and the slides alone, stacked or not."""
    X, y, group = people(n, 105)
    two, rows = np.where(group == "a", "a", "b"), []
    pi = np.column_stack([np.ones(runs), np.geomspace(30.0, 3000.0, runs)])
    for batch in batches:
        how = fft.Training(epochs=epochs, batch_size=batch)
        settings: dict[str, Any] = {"sensitive_features": two, "training": how, "progress": False}

        def traced(which: np.ndarray, how: dict[str, Any] = settings, **more: Any) -> None:
            fft.trace(network(105, 64, 32), X, y, preferences=which, **how, **more)

        jobs: dict[str, Step] = {
            "one": lambda: traced(pi, stack=True),
            "each": lambda: [traced(pi[r : r + 1]) for r in range(runs)],
            "chain": lambda: traced(pi, stack=False),
        }
        found = medians(repeats, jobs, time.process_time, first=0, calls=2)
        ratios = [f"{found[name] / found['one']:.1f}" for name in ("each", "chain")]
        rows.append([batch, runs, f"{found['one']:.1f} s", *ratios])
    names = ["batch", "preferences", "one trace, stacked", "a run for each / stacked (at least 4)"]
    return Table([*names, "shared start, one after the other / stacked"], rows)


def sections(quick: bool) -> list[Section]:
    """Measure steps, directions and stacks."""
    torch.set_num_threads(1)
    small, large = (64, 32), (512, 512)
    sizes = [(batch, small, 61 if batch < 4096 else 31) for batch in (256, 1024, 2048, 4096)]
    sizes += [(1024, large, 15), (4096, large, 7)]
    step = steps([(1024, small, 3)] if quick else sizes)
    raises = Table(["PDO raises", "MGDA raises", "batches"], [counts(20, 16, 5 if quick else 200)])
    stack = stacks(16, 1000 if quick else 20_000, 1 if quick else 2, [256] if quick else [256, 1024, 2048], 1)
    ratios = [float(row[3]) for row in step.rows]
    summary = f"A fair step costs {min(ratios):.1f} to {max(ratios):.1f} ordinary ones."
    return [Section("networks", "Modules: cost of a step", [step, raises, stack], summary)]
