"""Statuses: why a run stopped, in the words that users read."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Reasons to stop; the value says what was reached and, where it helps, what to do."""

    RUNNING = "running"
    EFFICIENT = "efficient: no direction lowers one objective without raising another"
    LINE = "efficient and on the preference line"
    CHEBYSHEV = (
        "efficient: weighted Chebyshev point, the smallest largest pi_i h_i "
        "(the preference line does not meet the frontier)"
    )
    NEAREST = (
        "preference not reachable: nearest point (one objective is at its minimum, and the others "
        "are below what the preference asks)"
    )
    OUT_OF_REACH = "not reachable: nearest point (the gaps cannot be made as small as asked)"
    FLOOR = "efficient: the smallest gap that these models can reach on these data"
    PAST = "solved with the gaps past zero, on the other side of those of the unconstrained model"
    WEAK = (
        "weakly efficient: some objectives are at their smallest but another could still fall; "
        "use normalised gradients or another start"
    )
    STALLED = "stalled: no step lowers the objectives any more, although the point is not known to be efficient"
    STUCK = "stuck: the printed direction vanishes here, although all objectives could still fall together"
    UNATTAINED = (
        "no efficient point: objectives go on falling however far the point moves, and their infimum "
        "is not attained; add a penalty or bounds"
    )
    LIMIT = "stopped at the iteration limit before it converged; raise max_iter"
    STEPS_TAKEN = "took all T steps: the printed algorithm has no other end; raise T, or look at the history"
    DIVERGED = (
        "diverged: the printed steps led far above the loss of a model without weights; use a smaller eta "
        "or smaller preferences"
    )
    WEIGHTED = "weighted fit, not certified: a learner of any kind, fitted with row weights of the frontier"
    POSTERIOR = (
        "optimal for its posteriors, not certified: by a learner's probabilities of label and group, "
        "no rule has a smaller expected error at these gaps"
    )
    GIVEN = "given: no other candidate is at least as good on every axis and better on one"
    DOMINATED = "given: another candidate is at least as good on every axis and better on one"
    VISITED = "visited on the way: not dominated by any other point, not solved to tolerance"

    @property
    def solved(self) -> bool:
        """Tell whether the point is finished, so that rules may choose it."""
        return self.name not in UNFINISHED


UNFINISHED = (
    "RUNNING",
    "OUT_OF_REACH",
    "WEAK",
    "STALLED",
    "STUCK",
    "UNATTAINED",
    "LIMIT",
    "STEPS_TAKEN",
    "DIVERGED",
    "VISITED",
)
