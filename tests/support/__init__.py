"""What several tests use: rows, problems written out a second time, doubles of the world outside, and how to wait."""
