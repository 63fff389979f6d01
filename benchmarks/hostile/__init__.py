"""The hostile lane: faults tried on purpose, with counts and fixed seeds; see docs/reliability.md."""
