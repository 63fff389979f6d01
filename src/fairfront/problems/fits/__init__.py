"""Fits of any learner: rows weighed or posteriors weighed, measured on rows that were left out."""
