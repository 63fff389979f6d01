"""The end of the index: what the pages on the paper's theory show, in a table."""

from __future__ import annotations

from pathlib import Path

THEORY = """
## Theory and Example 1

[The paper's statements, checked](statements.md): every definition, assumption, lemma, theorem, proposition, remark and claim with a
verdict, a counterexample where there is one, and the name of its test.

| claim | paper | here | verdict | page |
| --- | --- | --- | --- | --- |
| Algorithm 2 reaches the desired point of Example 1 | two starts (Figure 4) | 500 of 500 combinations of start and preference, both readings, steps of 0.25 and 1 | holds | [example](example.md) |
| PB-PDO uses descent directions only | Remark 3 | 10 to 31 % of the steps of Figure 4 (b) raise an objective | does not hold | [example](example.md) |
| the KL objective is crucial | section 3, no figures | needed to cover a fairness front (normalised reading), not to reach the aims of Example 1; case II is | holds with a condition | [ablations](ablations.md) |
| solutions of the bilevel problem are efficient | Theorem 1 | any model without a gap solves it | does not hold as stated | [statements](statements.md) |
| rate 1 / T for convex objectives | Theorem 2 | bound exceeded by 81 and 816 where weights move; holds with mean weights | does not hold as stated | [convergence](convergence.md) |
| rate 1 / T without convexity | Theorem 3 | right side can be negative; holds with single objectives | does not hold as stated | [convergence](convergence.md) |
| bounded objectives have an efficient point | Theorem 4 | (exp(-w), 2 exp(-w)) has none | holds with compactness | [geometry](geometry.md) |
| weights are ordered along a convex front | Proposition 2 | ordered on 40 points of a fairness front | holds | [geometry](geometry.md) |
| second-order exploration of fronts is not feasible | appendix A | for linear models the fewest passes over the data of all methods compared | holds with a condition | [named methods](named-methods.md) |
"""


def append(folder: Path, *sections: str) -> None:
    """Put the section at the end of the index, and others after it."""
    path = folder / "README.md"
    path.write_text("".join([path.read_text(), THEORY, *sections]))
