"""What choices deliver on people who were not in the sample: populations whose truth is known, and real test rows."""
