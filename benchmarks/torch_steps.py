"""Cost of a training step with cells: against an ordinary step, against TorchJD, and many preferences at once.

python -m benchmarks.torch_steps [--quick]
"""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import torch
from torch import nn

import fairfront.torch as fft

from .report import table, write_section
from .timing import medians


def people(n: int, d: int, seed: int = 0) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """Return features, labels and five groups."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, d)), rng.choice(list("abcde"), n, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    y = (X[:, 0] + 0.5 * (group == "a") + rng.logistic(size=n) > 0).astype(int)
    return torch.as_tensor(X, dtype=torch.float32), y, group


def network(d: int, width: int) -> nn.Module:
    """Return a network with two hidden layers."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(d, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def ordinary(module: nn.Module, X: torch.Tensor, y: np.ndarray) -> Any:
    """Return an ordinary training step."""
    optimizer = torch.optim.SGD(module.parameters(), 1e-4)
    target = torch.as_tensor(y, dtype=torch.float32)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(module(X)[:, 0], target).backward()
        optimizer.step()

    return step


def fair(module: nn.Module, X: torch.Tensor, given: Any, rows: np.ndarray) -> Any:
    """Return a step of PDO on all eleven objectives."""
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 1e-4), given)
    return lambda: step(X, rows)


def losses(module: nn.Module, X: torch.Tensor, y: np.ndarray, group: np.ndarray) -> list[torch.Tensor]:
    """Return the eleven objectives as tensors: the loss, and half the squared gap of every pair of groups."""
    each = nn.functional.binary_cross_entropy_with_logits(
        module(X)[:, 0], torch.as_tensor(y, dtype=torch.float32), reduction="none"
    )
    means = [each[torch.as_tensor((group == g) & (y == 1))].mean() for g in "abcde"]
    return [each.mean()] + [0.5 * (means[i] - means[j]) ** 2 for i in range(5) for j in range(i + 1, 5)]


def mgda(module: nn.Module, X: torch.Tensor, y: np.ndarray, group: np.ndarray) -> Any:
    """Return TorchJD's step with MGDA on the same objectives, or None where it is not installed."""
    try:
        from torchjd.aggregation import MGDA
        from torchjd.autojac import backward, jac_to_grad
    except ImportError:
        return None
    optimizer = torch.optim.SGD(module.parameters(), 1e-4)

    def step() -> None:
        optimizer.zero_grad()
        backward(losses(module, X, y, group))
        jac_to_grad(list(module.parameters()), MGDA())
        optimizer.step()

    return step


def raised(direction: np.ndarray, J: np.ndarray) -> bool:
    """Tell whether a direction raises some objective to first order, beyond rounding."""
    lengths = np.linalg.norm(J, axis=1) * max(float(np.linalg.norm(direction)), 1e-300)
    return bool((J @ direction < -1e-6 * lengths).any())


def counts(d: int, width: int, batches: int) -> list[Any]:
    """Count how often the directions of PDO and of MGDA raise an objective of their own batch."""
    try:
        from torchjd.aggregation import MGDA
    except ImportError:
        return ["not installed", "", batches]
    bad = [0, 0]
    for seed in range(batches):
        X, y, group = people(512, d, seed)
        module = network(d, width).double()
        values = losses(module, X.double(), y, group)
        rows = [torch.autograd.grad(v, list(module.parameters()), retain_graph=True) for v in values]
        J = torch.stack([torch.cat([g.reshape(-1) for g in row]) for row in rows])
        alpha = fft.pdo_weights(J @ J.T)
        bad[0] += raised((alpha @ J).numpy(), J.numpy())
        bad[1] += raised(MGDA()(J).numpy(), J.numpy())
    return [bad[0], bad[1], batches]


def peak(step: Any) -> float:
    """Return the most memory in megabytes that tensors of one step hold at once, by the profiler's account."""
    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
        step()
    held = most = 0
    for event in seen.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most / 1e6


def steps(sizes: list[tuple[int, int, int]], repeats: int) -> str:
    """Measure the step of five groups against the ordinary one and MGDA's."""
    rows = []
    for batch, d, width in sizes:
        X, y, group = people(batch, d)
        given = fft.objectives(y, sensitive_features=group, groups=None)
        module, index = network(d, width), np.arange(batch)
        jobs = {"plain": ordinary(module, X, y), "fair": fair(copy.deepcopy(module), X, given, index)}
        other = mgda(copy.deepcopy(module), X, y, group)
        if other is not None:
            jobs["mgda"] = other
        found = medians(repeats, **jobs)
        memory = {name: peak(job) for name, job in jobs.items()}
        its = (
            [f"{found['mgda'] / found['fair']:.1f}", f"{memory['fair'] / memory['mgda']:.2f}"]
            if other is not None
            else ["not installed", ""]
        )
        ratio = found["fair"] / found["plain"]
        rows.append([f"{batch} x {d}, {width} units", f"{1e3 * found['plain']:.1f} ms", f"{ratio:.2f}", *its])
    names = ["batch and network", "ordinary step", "fair / ordinary (at most 1.5)", "MGDA / fair (at least 3)"]
    return table([*names, "memory, fair / MGDA (at most 0.5)"], rows)


def stacks(runs: int, n: int, epochs: int) -> str:
    """Measure one stack of preferences against runs one after the other."""
    X, y, group = people(n, 50)
    how = fft.Training(epochs=epochs, batch_size=256)
    settings: dict[str, Any] = {"sensitive_features": group, "preferences": runs, "training": how, "progress": False}
    found = medians(
        1,
        stacked=lambda: fft.trace(network(50, 32), X, y, stack=True, **settings),
        single=lambda: fft.trace(network(50, 32), X, y, stack=False, **settings),
    )
    ratio = found["single"] / found["stacked"]
    return table(
        ["runs", "one stack", "one after the other", "ratio (at least 4)"],
        [[runs, f"{found['stacked']:.2f} s", f"{found['single']:.2f} s", f"{ratio:.2f}"]],
    )


def main(quick: bool = False) -> None:
    """Measure and write the section of the report; ``--quick`` prints it instead."""
    torch.set_num_threads(1)
    sizes = [(1024, 50, 64)] if quick else [(512, 100, 64), (4096, 100, 64), (4096, 100, 512)]
    parts = [
        steps(sizes, 3 if quick else 31),
        table(["PDO raises", "MGDA raises", "batches"], [counts(20, 16, 5 if quick else 200)]),
        stacks(16, 1000 if quick else 20_000, 1 if quick else 4),
    ]
    if quick:
        print("\n\n".join(parts))
        return
    write_section("Modules: cost of a step", "python -m benchmarks.torch_steps", "\n\n".join(parts))


if __name__ == "__main__":
    main("--quick" in sys.argv)
