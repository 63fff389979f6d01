"""The models of a frontier, what is known of them, how they are kept, and how one is chosen."""

from .explanation import Reasons as Reasons
from .explanation import reasons as reasons
from .frontier import Frontier as Frontier
from .linear_frontier import assemble as assemble
from .linear_models import LinearModels as LinearModels
from .models import Models as Models
from .points import Facts as Facts
from .points import Points as Points
from .rate_frontier import Rates as Rates
