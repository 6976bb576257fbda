"""The cube contract: its tables, and `validate` to hold a dataset against them.

Examples
--------
>>> from lcdb.schema import DIMS, METRICS
>>> DIMS
('learner', 'sampling', 'split', 'tuning', 'n', 'repetition')
>>> METRICS["auc"].direction
'maximize'
"""

from lcdb.schema.tables import (
    ATTRIBUTES,
    CHOICE_DIMS,
    CHOICE_FLAGS,
    CUBE_KIND,
    DIMS,
    DRAW_DIMS,
    FORMAT_VERSION,
    LEARNERS,
    METRICS,
    SAMPLINGS,
    SPLITS,
    STATUSES,
    TUNINGS,
    UNIT_DIMS,
    VARIABLES,
    Attribute,
    Metric,
    Variable,
    learner_order,
)

__all__ = [
    "ATTRIBUTES",
    "CHOICE_DIMS",
    "CHOICE_FLAGS",
    "CUBE_KIND",
    "DIMS",
    "DRAW_DIMS",
    "FORMAT_VERSION",
    "LEARNERS",
    "METRICS",
    "SAMPLINGS",
    "SPLITS",
    "STATUSES",
    "TUNINGS",
    "UNIT_DIMS",
    "VARIABLES",
    "Attribute",
    "Metric",
    "Variable",
    "learner_order",
]
