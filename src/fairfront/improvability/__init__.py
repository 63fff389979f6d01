"""Is there a fairer alternative to the model in use? Searched for on some rows, tested on others.

The files, from the ground up:

- estimates: figures of one model with the influence of every row
- requirements: what must be kept, what must improve, and what is claimed when both hold
- families: where alternatives come from
- split_search: one split of the rows, and p-values of many splits as one
- arguments: what a person gives a search, read once
- verdict, gains: the table of models, whether the first qualifies, and who gains and who loses
- record, summary: what is known of a search as plain values, and the page made from them
- result, entry: the call and its answer
"""

from .entry import alternatives as alternatives
from .result import Alternatives as Alternatives
