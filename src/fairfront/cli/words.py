"""The words of the shell: how commands spell what the functions that they call name in errors and warnings."""

from __future__ import annotations

NAMES = (
    "allow approval_rate at_least at_most checkpoint confidence costs cross cutoff decimal delimiter drop encoding "
    "favourable group_probabilities groups id improve incumbent incumbent_decision incumbent_score keep "
    "labelled_only_if loss max_fits max_seconds nobody_worse min_size notion overwrite resume ridge small split "
    "stability compare control exposure offset pairs person reasons strata surrogate target text units use_sensitive "
    "weight within"
)
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in NAMES.split()} | {
    "favourable_side='above'": "--favourable above",
    "favourable_side='below'": "--favourable below",
    "least": "--least-gap",
    "most": "--most",
    "n_points": "--points",
    "reference": "--ref",
    "signs": "--monotone",
    "dates": "--date",
    "numbers": "--number",
    "families": "--family",
    "prices": "--cost",
    "candidates": "--candidate",
    "person": "--person",
    "n_splits": "--splits",
    "approval_rate=": "--approval-rate",
    "cutoff= or approval_rate=": "--cutoff or --approval-rate",
    "costs=": "--costs",
    "trusted": "--trust",
    "confidence=None": "--confidence 0",
    "evaluate on more rows": "judge on more rows (--split 80/20 judges on all but test)",
    "cutoff=, approval_rate= or costs=": "--cutoff, --approval-rate or --costs",
    "units='rates'": "--units rates",
    "units='losses'": "--units losses",
    "estimator": "--model",
    "held_out=True": "a split without validation rows, such as 80/20,",
    "None": "none",
}
