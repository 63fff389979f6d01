"""Quality of the first-order engine: preferences reached and loss excess against SciPy's SLSQP.

python -m benchmarks.engine_quality
"""

from __future__ import annotations

import numpy as np

import fairfront as ff

from .adult import Split, adult
from .reference import Reference
from .report import table, write_section

GENDER = np.column_stack([np.ones(10), np.geomspace(5.0, 20_000.0, 10)])
STEPS = (0.05, 0.2, 0.5, 1.0, 2.0)


def main() -> None:
    """Run both parts."""
    gender()
    race()


def readings(setup: object, pi: np.ndarray) -> dict[str, object]:
    """Return the outcomes of the default and of the printed algorithm in both readings, at their best step."""
    found = {"PB-PDO (default)": ff.solve(setup, "pb_pdo", preferences=pi)}
    for gradients in ("raw", "normalised"):
        tried = [
            ff.solve(setup, ff.PaperPBPDO(gradients=gradients, eta=eta, T=400), preferences=pi, random_state=0)
            for eta in STEPS
        ]
        worst = [np.median((outcome.objectives * pi).max(axis=1)) for outcome in tried]
        found[f"as printed, {gradients} (eta {STEPS[int(np.argmin(worst))]:g})"] = tried[int(np.argmin(worst))]
    return found


def gender() -> None:
    """Adult by gender, one-hot, ten preferences: imbalance and loss excess at each end point's own gap."""
    data = adult("sex")
    setup = ff.linear_problem(data.X, data.y, sensitive_features=data.groups)
    reference = Reference(data.X, data.y, data.groups)
    plain = reference.to_whitened(setup.problem.fit(setup.problem.algebra.p)[0])
    L = reference.losses(plain)[0]
    smallest, widest = L[0], abs(L[1] - L[2])
    span = reference.at_gap(0.0, plain) - smallest
    reachable = GENDER[:, 1] * widest**2 / 2 > smallest
    rows = []
    for name, outcome in readings(setup, GENDER).items():
        h = outcome.objectives * GENDER
        balance = (h.max(axis=1) / h.min(axis=1) - 1.0)[reachable]
        caps = np.sqrt(2 * outcome.objectives[:, 1])
        best = [reference.at_gap(min(cap, widest), plain) for cap in caps]
        excess = (outcome.objectives[:, 0] - np.array(best)) / span
        statuses = [status.name for status in outcome.status]
        said = f"{statuses.count('LINE')} line, {statuses.count('NEAREST')} nearest, {statuses.count('LIMIT')} limit"
        rows.append(
            [
                name,
                f"{balance.max():.2%}",
                f"{np.median(balance):.2%}",
                f"{excess[reachable].max():.4%}",
                f"{np.median(excess):.4%}",
                said,
                outcome.passes,
            ]
        )
    body = (
        f"Adult (the paper's split, {data.X.shape[0]} x {data.X.shape[1]} one-hot without sex and race), gender, equal "
        f"opportunity, logistic. Ten preferences pi_2 / pi_1 from 5 to 20 000, {int(reachable.sum())} reachable. "
        "Imbalance is the difference between pi_1 h_1 and pi_2 h_2; loss excess is (loss - SLSQP's optimum at the "
        "point's own gap) / (loss range of the front). The printed algorithm had 400 steps and the best of five step "
        "sizes.\n\n"
        + table(
            [
                "algorithm",
                "largest imbalance",
                "median imbalance",
                "largest loss excess (reachable)",
                "median loss excess",
                "status",
                "passes over the data",
            ],
            rows,
        )
    )
    write_section(
        "solvers", "First-order engine: preferences on Adult by gender", "python -m benchmarks.engine_quality", body
    )


def race(preferences: int = 5, seed: int = 0) -> None:
    """Adult by race, the paper's 13 columns: weighted Chebyshev points against SLSQP."""
    data: Split = adult("race", "paper")
    setup = ff.linear_problem(data.X, data.y, sensitive_features=data.groups, groups=ff.Groups(reference="White"))
    rng = np.random.default_rng(seed)
    fair = np.exp(rng.uniform(np.log(10.0), np.log(1000.0), size=(preferences, 10)))
    pi = np.column_stack([np.ones(preferences), fair])
    reference = Reference(data.X, data.y, data.groups)
    plain = reference.to_whitened(setup.problem.fit(setup.problem.algebra.p)[0])
    outcomes = readings(setup, pi)
    best = []
    for r in range(preferences):
        starts = [plain, reference.to_whitened(outcomes["PB-PDO (default)"].W[r, 0])]
        best.append(min(reference.chebyshev(pi[r], start) for start in starts))
    rows = []
    for name, outcome in outcomes.items():
        excess = (outcome.objectives * pi).max(axis=1) / np.array(best) - 1.0
        rows.append([name, f"{excess.max():.4%}", f"{np.median(excess):.4%}", outcome.passes])
    body = (
        f"Adult ({data.X.shape[0]} x {data.X.shape[1]}, the paper's integer-coded columns, sex and race among them), "
        f"race, 5 groups, 11 objectives, {preferences} random preferences. Excess of max_i pi_i h_i over the weighted "
        "Chebyshev optimum by SLSQP (the better of two starts).\n\n"
        + table(["algorithm", "largest excess", "median excess", "passes over the data"], rows)
    )
    write_section(
        "solvers", "First-order engine: 11 objectives on Adult by race", "python -m benchmarks.engine_quality", body
    )


if __name__ == "__main__":
    main()
