"""From scores of test rows to the numbers of a cell, which `lcdb_builders.kernels.core.cell` names.

`metrics` scores a test set from log scores or from probabilities, `losses` has its sums over rows
and `auc` the area under the ROC curve; `counts` does the same from a confusion matrix, for what is
always certain. `cells` has the rows of a cell and the workspace of models with a row of numbers for
each class, and scores them on all test sets; `one_vs_rest` scores decision values. `kept` writes
what is said of each row behind the numbers, where that is asked for. Labels tie
within `TIED`; what the AUC ranks is rounded to single precision.
"""
