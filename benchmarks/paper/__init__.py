"""The paper's experiments (section 5), regenerated: python -m benchmarks.paper writes docs/paper/."""
