"""How good an algorithm is *and* how hard it is to tune: distributions over hyper-parameters.

`dse` evaluates an algorithm of your own as the experiments are built: every trial draws
hyper-parameters and data, trains, and keeps what came of it (Algorithm 1 of Jordan, Cohen and
Thomas). `nested` draws them crosswise, and `spread` says how much of the spread is theirs. The
other functions take outcomes, or those of ``db["dse"]``, along the dim ``trial``.
"""

from lcdb.distribution.comparison import cvar_difference
from lcdb.distribution.components import nested, spread
from lcdb.distribution.statistics import cdf, cvar, cvar_error, inverse_cdf, threshold_area
from lcdb.distribution.trials import dse

__all__ = [
    "cdf",
    "cvar",
    "cvar_difference",
    "cvar_error",
    "dse",
    "inverse_cdf",
    "nested",
    "spread",
    "threshold_area",
]
