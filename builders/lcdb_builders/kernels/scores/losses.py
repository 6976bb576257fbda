"""Softmax, class log-odds and losses of the test rows of a cell, in runs that stay in the cache.

Every pass is a loop over rows without branches, so that it becomes vector instructions, and writes
each row's numbers by itself, so that equal rows have equal numbers. Runs are padded to whole
vectors (`pad`): the remainder of a vector loop costs as much as many vectors.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.cell import Sums
from lcdb_builders.kernels.core.elementary import exp_nonpositive, log_normal
from lcdb_builders.kernels.core.jit import kernel

__all__ = [
    "CHUNK",
    "EPSILON",
    "FIRST",
    "GUESS",
    "LARGEST",
    "LEAD",
    "LOSS_OF_ONE",
    "LOSS_OF_ZERO",
    "REST",
    "ROWS",
    "TIED",
    "TOP",
    "label_columns",
    "log_loss",
    "margin_losses",
    "pad",
    "probability_losses",
    "softmax_losses",
]

EPSILON = 2.0**-52
#: -ln EPSILON, the largest loss of a row.
LOSS_OF_ZERO = 36.04365338911715
#: -ln(1 - EPSILON)
LOSS_OF_ONE = EPSILON
#: The largest number of single precision.
LARGEST = float(np.finfo(np.float32).max)
#: Scores that differ by no more than this, relative to 1 + |score|, are tied.
TIED = 1e-9
#: Rows per run: ten classes of so many stay in the first-level cache.
CHUNK = 256
#: How many numbers of workspace a row has, and which: the probability of its class and the squared
#: `ERROR`; its largest (`FIRST`) and second largest score, the `TOP` class, which has the largest;
#: the sums of the others' powers (`REST`) and of their squares, and the power of its `OWN` class;
#: e**(second - first), the `LEAD`; its label, the `GUESS`.
ROWS = 10
PROBABILITY, ERROR, FIRST, SECOND, TOP, REST, SQUARES, OWN, LEAD, GUESS = range(ROWS)
# Numbers of a vector.
VECTOR = 8


@kernel(inline=True, borrow=True)
def pad(size):
    """Return the size rounded up to whole vectors."""
    return (size + VECTOR - 1) // VECTOR * VECTOR


@kernel(reorder=True, borrow=True)
def _total(values):
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@kernel(borrow=True)
def log_loss(p):
    """Return the sum of -ln p of clipped probabilities, one logarithm per 16; overwrites `p`."""
    size = len(p)
    for i in range(size):
        x = p[i]
        x = x if x > EPSILON else EPSILON
        p[i] = x if x < 1.0 - EPSILON else 1.0 - EPSILON
    # Folding in halves: products of 16 stay above 2**-832.
    for _ in range(4):
        half = size // 2
        upper = p[size - half : size]
        for i in range(half):
            p[i] *= upper[i]
        size -= half
    for i in range(size):
        p[i] = log_normal(p[i])
    return -_total(p[:size])


@kernel(borrow=True)
def _count_clipped(p):
    """Rows whose label has so small a probability that the clip decides their loss."""
    clipped = 0
    for i in range(len(p)):
        clipped += p[i] < EPSILON
    return clipped


@kernel(borrow=True)
def label_columns(scores, classes, a, b, best, top):
    """Write the lowest class whose score is tied with the largest of each column.

    Scores are tied within rounding, so that equal models label alike whatever the order of sums.

    Parameters
    ----------
    scores
        (K, columns), at least of the present classes.
    classes
        Present classes, ascending.
    a, b
        Columns a:b; those that fill vectors up are labelled like any other.
    best
        (CHUNK,) workspace: the least score that is tied with the largest.
    top
        (CHUNK,) labels as floats, filled.
    """
    for i in range(b - a):
        best[i] = -np.inf
        top[i] = -1.0
    for c in classes:
        s = scores[c, a:b]
        for i in range(b - a):
            x = s[i]
            best[i] = x if x > best[i] else best[i]
    for i in range(b - a):
        best[i] -= TIED * (1.0 + abs(best[i]))
    for k in range(len(classes) - 1, -1, -1):
        s = scores[classes[k], a:b]
        code = float(classes[k])
        for i in range(b - a):
            top[i] = code if s[i] >= best[i] else top[i]


@kernel(borrow=True)
def _two_largest(scores, classes, a, b, first, second, top):
    """Largest and second largest score of each column, and the lowest class with the largest.

    Parameters
    ----------
    scores, classes, a, b
        As for `label_columns`.
    first, second, top
        (b - a,) largest and second largest scores, and the classes of the largest; filled.
    """
    s = scores[classes[0], a:b]
    code = float(classes[0])
    for i in range(b - a):
        first[i] = s[i]
        second[i] = -np.inf
        top[i] = code
    for c in classes[1:]:
        s = scores[c, a:b]
        code = float(c)
        for i in range(b - a):
            x = s[i]
            leader = first[i]
            runner_up = second[i]
            ahead = x > leader
            behind = x if x > runner_up else runner_up
            second[i] = leader if ahead else behind
            first[i] = x if ahead else leader
            top[i] = code if ahead else top[i]


@kernel(borrow=True)
def _powers(scores, classes, a, b, label, second, top, powers, rest, squares, own):
    """e**(s_c - second largest) for all but the top class (0 there), and their sums.

    Relative to the second largest they do not underflow together, however far ahead the top is.

    Parameters
    ----------
    scores, classes, a, b
        Log scores (K, T), the classes of the training set, and which rows.
    label
        (b - a,) classes of the rows.
    second, top
        Their second largest scores, and the classes of the largest.
    powers
        (K, b - a), filled.
    rest, squares, own
        Sums of powers and of their squares, and that of the row's class; filled.
    """
    for i in range(b - a):
        rest[i] = 0.0
        squares[i] = 0.0
        own[i] = 0.0
    for c in classes:
        s = scores[c, a:b]
        e = powers[c]
        code = float(c)
        for i in range(b - a):
            x = exp_nonpositive(s[i] - second[i])
            x = 0.0 if top[i] == code else x
            e[i] = x
            rest[i] += x
            squares[i] += x * x
            own[i] = x if label[i] == code else own[i]


@kernel(borrow=True)
def _class_odds(scores, classes, a, b, powers, first, second, top, rest, lead):
    """Replace scores by class log-odds: s_c - ln of the sum of the others' exponentials.

    Those that are as near to 0 as tied scores to each other are 0.

    Parameters
    ----------
    scores, classes, a, b
        Log scores (K, T), replaced; the classes of the training set, and which rows.
    powers, rest
        Of `_powers`.
    first, second, top
        The two largest scores, and the class of the largest.
    lead
        e**(second - first).
    """
    for c in classes:
        s = scores[c, a:b]
        e = powers[c]
        code = float(c)
        for i in range(b - a):
            leads = top[i] == code
            others = rest[i] if leads else 1.0 + (rest[i] - e[i]) * lead[i]
            odds = s[i] - (second[i] if leads else first[i]) - log_normal(others)
            s[i] = odds if abs(odds) > TIED * (1.0 + abs(first[i])) else 0.0


@kernel(borrow=True)
def _label_losses(size, label, top, rest, squares, own, lead, p, error):
    """Write the probability of a row's class, and the squared distance to its one-hot.

    Parameters
    ----------
    size
        How many rows.
    label, top
        Their classes, and the classes of their largest scores.
    rest, squares, own
        Of `_powers`.
    lead
        e**(second - first).
    p, error
        Filled.
    """
    for i in range(size):
        leads = top[i] == label[i]
        share = 1.0 / (1.0 + rest[i] * lead[i])  # of the top class
        scale = lead[i] * share
        missing = rest[i] * scale if leads else share + (rest[i] - own[i]) * scale
        wrong = 0.0 if leads else share * share
        p[i] = share if leads else own[i] * scale
        error[i] = missing * missing + wrong + (squares[i] - own[i] * own[i]) * scale * scale


@kernel(inline=True, borrow=True)
def _count_equal(a, b):
    count = 0
    for i in range(len(a)):
        count += a[i] == b[i]
    return count


@kernel(borrow=True)
def softmax_losses(scores, classes, label, a, b, powers, rows):
    """Replace the log scores of columns a:b by class log-odds and sum their losses.

    Rows are labelled before, in ``rows[GUESS]`` (`label_columns`).

    Parameters
    ----------
    scores
        (K, columns) log scores, padded with ones up to ``a + pad(b - a)``.
    classes
        Present classes, at least two, ascending.
    label
        (columns,) class of each column as a float; -1 in the padding.
    a, b
        At most CHUNK columns.
    powers
        (K, CHUNK) workspace: e**(s_c - second largest).
    rows
        (ROWS, CHUNK) workspace, whose rows are `PROBABILITY` to `GUESS`.

    Returns
    -------
    Sums
        Of the rows.
    """
    size = b - a
    end = a + pad(size)
    first, second, top, lead = rows[FIRST], rows[SECOND], rows[TOP], rows[LEAD]
    rest, squares, own = rows[REST], rows[SQUARES], rows[OWN]
    p, error = rows[PROBABILITY], rows[ERROR]
    truth = label[a:end]
    right = _count_equal(rows[GUESS][:size], truth[:size])
    _two_largest(scores, classes, a, end, first, second, top)
    _powers(scores, classes, a, end, truth, second, top, powers, rest, squares, own)
    for i in range(end - a):
        lead[i] = exp_nonpositive(second[i] - first[i])
    _class_odds(scores, classes, a, end, powers, first, second, top, rest, lead)
    _label_losses(end - a, truth, top, rest, squares, own, lead, p, error)
    clipped = _count_clipped(p[:size])
    error_sum, loss = _total(error[:size]), log_loss(p[:size])
    return Sums(right=right, error=error_sum, loss=loss, clipped=clipped)


@kernel(borrow=True)
def margin_losses(margin, label, a, b, rows):
    """Return what `softmax_losses` returns, for classes 0 and 1 and from s_1 - s_0.

    Parameters
    ----------
    margin, label
        Differences of log scores, exactly 0 where they are tied, and classes, padded as for
        `softmax_losses`.
    a, b, rows
        As for `softmax_losses`.
    """
    size = b - a
    p, error = rows[PROBABILITY], rows[ERROR]
    f = margin[a : a + pad(size)]
    truth = label[a : a + pad(size)]
    right = 0
    for i in range(len(f)):  # padding (margin 1, label -1) is never right
        small = exp_nonpositive(-abs(f[i]))
        large_share = 1.0 / (1.0 + small)
        small_share = small * large_share
        leads = (f[i] > 0.0) == (truth[i] > 0.5)  # a tie goes to class 0
        right += leads
        p[i] = large_share if leads else small_share
        missing = small_share if leads else large_share
        error[i] = missing * missing
    clipped = _count_clipped(p[:size])
    error_sum, loss = _total(error[:size]), log_loss(p[:size])
    return Sums(right=right, error=error_sum, loss=loss, clipped=clipped)


@kernel(borrow=True)
def probability_losses(p, classes, label, a, b, rows):
    """Return what `softmax_losses` returns, from (K, columns) probabilities; overwrites them.

    Parameters
    ----------
    p
        (K, columns); absent classes have probability 0. Odds take their place.
    classes, label, a, b, rows
        As for `softmax_losses`.
    """
    size = b - a
    end = a + pad(size)
    own, error = rows[PROBABILITY], rows[ERROR]
    truth = label[a:end]
    label_columns(p, classes, a, end, rows[FIRST], rows[GUESS])
    right = _count_equal(rows[GUESS][:size], truth[:size])
    for i in range(end - a):
        own[i] = 0.5
        error[i] = 0.0
    for c in range(len(p)):
        share = p[c, a:end]
        code = float(c)
        for i in range(end - a):
            x = share[i]
            is_label = truth[i] == code
            missing = x - 1.0 if is_label else x
            error[i] += missing * missing
            own[i] = x if is_label else own[i]
            # What the AUC ranks by: near 1 single precision tells odds apart, not probabilities.
            share[i] = x / (1.0 - x) if x < 1.0 else LARGEST
    clipped = _count_clipped(own[:size])
    squares = _total(error[:size])
    if len(p) == 2:
        squares *= 0.5  # of one class
    return Sums(right=right, error=squares, loss=log_loss(own[:size]), clipped=clipped)
