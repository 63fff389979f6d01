"""Is there a fairer alternative to the model in use? Searched for on some rows, tested on others, and documented.

The files, from the ground up:

- estimates: figures of one model with the influence of every row
- requirements: what must be kept, what must improve, and what is claimed when both hold
- incumbent: the model in use, however it is given
- families: where alternatives come from
- split_search: one split of the rows, and p-values of many splits as one
- digits, verdicts: how exactly figures may be told, who qualifies, and bounds that hold for all models at once
- approval_curves, published_curves: figures of incumbent and model over all approval rates, and swap sets by group
- drivers: which columns carry the gap of scores, and which tell the group
- refutation, null_result: what no linear model does, and what further random draws could find
- limit, attainable: the least error at every gap of any rule that does not see the group
- dossier_layout, sections, account, model_table, gains_and_losses, dossier: the folder written of a search, by sections
- result, entry: the call and its answer
"""

from .entry import alternatives as alternatives
from .result import Alternatives as Alternatives
