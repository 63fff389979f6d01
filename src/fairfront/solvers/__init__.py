"""Solvers: frozen hyper-parameters and pure functions; they see cells, never rows or features."""
