"""The cube contract: its tables, and `validate` to hold a dataset against it.

Examples
--------
>>> from lcdb.schema import DIMS, METRICS
>>> DIMS
('learner', 'sampling', 'split', 'tuning', 'n', 'repetition')
>>> METRICS["auc"].direction
'maximize'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lcdb.schema.experiments import EXPERIMENTS, LIFETIMES_KIND, Experiment, TrialVariable
from lcdb.schema.tables import (
    ATTRIBUTES,
    CHOICE_DIMS,
    CHOICE_FLAGS,
    CREDITS,
    CUBE_KIND,
    DIMS,
    DRAW_DIMS,
    FORMAT_VERSION,
    KEY_VERSION,
    LEARNER_ROWS,
    LEARNERS,
    METRICS,
    SAMPLING_ROWS,
    SAMPLINGS,
    SCALINGS,
    SPLIT_ROWS,
    SPLITS,
    STATUSES,
    SUMMARY_KIND,
    TABLES,
    TUNINGS,
    UNIT_DIMS,
    VARIABLES,
    Attribute,
    LearnerRow,
    Metric,
    Table,
    Variable,
    learner_order,
)

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "ATTRIBUTES",
    "CHOICE_DIMS",
    "CHOICE_FLAGS",
    "CREDITS",
    "CUBE_KIND",
    "DIMS",
    "DRAW_DIMS",
    "EXPERIMENTS",
    "FORMAT_VERSION",
    "KEY_VERSION",
    "LEARNERS",
    "LEARNER_ROWS",
    "LIFETIMES_KIND",
    "METRICS",
    "SAMPLINGS",
    "SAMPLING_ROWS",
    "SCALINGS",
    "SPLITS",
    "SPLIT_ROWS",
    "STATUSES",
    "SUMMARY_KIND",
    "TABLES",
    "TUNINGS",
    "UNIT_DIMS",
    "VARIABLES",
    "Attribute",
    "Experiment",
    "LearnerRow",
    "Metric",
    "Table",
    "TrialVariable",
    "Variable",
    "learner_order",
    "validate",
]


def validate(dataset: xr.Dataset, *, values: bool = True) -> None:
    """Hold a cube against the contract of its kind, and name every deviation at once.

    The cube is described in JSON (`lcdb.schema.describe`), and the description is held against
    ``schemas/cube.schema.json``, or that of its kind; a reader in any language can do so.

    Parameters
    ----------
    dataset
        A cube as `lcdb.open` or `xarray.open_dataset` gives it.
    values
        Whether to read all values, curve by curve: ranges, and whether what is missing agrees
        with `status`. Without it only structure, labels and attributes are checked.

    Raises
    ------
    FormatVersionError
        A newer version wrote the cube, so that its contract is not known here.
    SchemaError
        The cube breaks the contract; ``error.problems`` lists all deviations.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     cube = db["iris"]
    ...     lcdb.schema.validate(cube)
    ...     try:
    ...         lcdb.schema.validate(cube.rename(auc="acu"), values=False)
    ...     except lcdb.LCDBError as error:
    ...         print(len(error.problems))
    2
    """
    # What holds cubes against the contract needs xarray; those who read tables alone do not.
    from lcdb.schema.validation import validate as apply

    apply(dataset, values=values)
