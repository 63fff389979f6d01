"""Why a run stopped: each value is the sentence that users read."""

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
    NEAREST = "preference not reachable: nearest point (the gaps are below what the preference asks without any effort)"
    OUT_OF_REACH = "not reachable: nearest point (the gaps cannot be made as small as asked)"
    FLOOR = "efficient: the smallest gap that these models can reach on these data"
    PAST = "solved with the gaps past zero, on the other side of what plain training has"
    WEAK = (
        "weakly efficient: some objectives are at their smallest but another could still fall; "
        "use normalised gradients or another start"
    )
    STALLED = "stalled: no step lowers the objectives any more, although the point is not known to be efficient"
    LIMIT = "stopped at the iteration limit before it converged; raise max_iter"
    WEIGHTED = "weighted fit, not certified: a learner of any kind, fitted with row weights of the frontier"
    POSTERIOR = (
        "from posteriors, not certified: what would have the least weighted error if a learner's probabilities of "
        "label and group were right"
    )
    GIVEN = "given: no other candidate is at least as good on every axis and better on one"
    DOMINATED = "given: another candidate is at least as good on every axis and better on one"
    VISITED = "visited on the way: not dominated by any other point, not solved to tolerance"

    @property
    def solved(self) -> bool:
        """Tell whether the point is finished: solved to tolerance, fitted, or given."""
        return self in SOLVED


SOLVED = frozenset(
    {
        Status.EFFICIENT,
        Status.LINE,
        Status.CHEBYSHEV,
        Status.NEAREST,
        Status.FLOOR,
        Status.PAST,
        Status.WEIGHTED,
        Status.POSTERIOR,
        Status.GIVEN,
        Status.DOMINATED,
    }
)
"""Finished models, which rules may choose among."""
