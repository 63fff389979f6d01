"""Benchmarks: quality first, then time; figures go to docs/benchmarks.md with the command that made them."""
