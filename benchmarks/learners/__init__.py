"""Learners other than linear models, as peers of the same judge: boosted trees and networks."""
