"""Whole blocks of DT, RFOR and ADAB: cells in, metrics out.

Tuned forests and ensembles of stumps are grown once on the rows that are fitted and once on all:
every smaller one is the head of it. Trees with leaves of other sizes are grown one by one, on a
training set that is coded and sorted once.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.cell import WIDTH
from lcdb_builders.kernels.core.holdout import (
    FIT_COPIES,
    FIT_ROWS,
    HELD_COPIES,
    ONE_CLASS_FIT,
    choose,
    hold_out,
    is_chosen,
    list_distinct,
    record,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import philox
from lcdb_builders.kernels.core.sets import copy, left_out
from lcdb_builders.kernels.scores.cells import begin_curve, take_rows
from lcdb_builders.kernels.scores.counts import score_groups
from lcdb_builders.kernels.scores.kept import keep_group
from lcdb_builders.kernels.trees.boost import boost
from lcdb_builders.kernels.trees.cells import buffers_of, learn, score_held, score_sets
from lcdb_builders.kernels.trees.codes import ROWS, release
from lcdb_builders.kernels.trees.forest import Stream, add_trees, grow_tree
from lcdb_builders.kernels.trees.grow import prepare, workspace
from lcdb_builders.kernels.trees.histograms import histograms
from lcdb_builders.kernels.trees.leaves import Rules, Tests
from lcdb_builders.kernels.trees.votes import (
    add_votes,
    ensemble,
    find_thresholds,
    probabilities,
)

__all__ = ["boosting_block", "forest_block", "tree_block"]

#: What the cells of a block are computed from, and its `buffers`; see `cells`.
Block = namedtuple("Block", "task columns data grid buffers")
#: Of DT: workspace `w`; the classes of columns, `labels`; class `shares` and `counts` of test rows
#: by leaf.
TreeScratch = namedtuple("TreeScratch", "w labels shares counts")
#: Of RFOR: workspace `w`, `rules` of all trees, and `votes` (columns, K).
ForestScratch = namedtuple("ForestScratch", "w rules votes")
#: Of ADAB: histograms `w`, an ensemble and its random `words`; `votes` (K, columns), those of the
#: columns that are scored, `packed`; `most` and `total` by column; `codes` of held-out rows, flat.
BoostingScratch = namedtuple("BoostingScratch", "w ensemble words votes packed most total codes")


@kernel(glue=True)
def _fill(block, key0, key1, score, scratch):
    """Go through the cells of a block: choose from the grid, fit what was chosen, record it.

    This is what the three learners share; they differ in `score`.

    Parameters
    ----------
    block
        Of what.
    key0, key1
        Key of the learner's random streams.
    score
        ``score(block, stream, refits, scratch, out)`` scores the chosen values on the test sets if
        it `refits`, or every grid value on the held-out rows. It is not merged into this function:
        references would be counted for every cell.
    scratch
        What that works in.
    """
    task, data, grid, buffers = block.task, block.data, block.grid, block.buffers
    held, drawn, weight = grid.held, buffers.drawn, buffers.drawn.weight
    for r in range(task.stop - task.first):
        repetition = task.first + r
        begin_curve(task, repetition, drawn)
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            take_rows(task, n, repetition, drawn)
            rows = drawn.distinct[: drawn.size[0]]
            if block.columns.varying:
                left_out(block.columns, weight, buffers.index, buffers.lo[0], buffers.hi[0])
                buffers.count[0] = buffers.hi[0, task.classes - 1]
            stream = Stream(key0=key0, key1=key1, n=n, repetition=repetition)
            out = grid.out.values[i, r]
            if grid.tunes:
                flag = hold_out(task, grid.tuning, n, repetition, rows, len(rows), weight, held)
                if flag != ONE_CLASS_FIT:
                    learn(buffers, data, held.fit[: held.sizes[FIT_ROWS]], weight)
                    score(block, stream, False, scratch, out)
                    release(buffers.sample)
                choose(grid.tuning, flag, held, grid.out.choices[i, r], grid.out.flags[i, r])
            learn(buffers, data, rows, weight)
            score(block, stream, True, scratch, out)
            release(buffers.sample)


# -- DT --------------------------------------------------------------------------------------------


@kernel(glue=True, borrow=True)
def _count_leaves(w, leaves, labels, begin, end, shares, counts):
    """Describe leaves by their class shares and their test rows with numbers begin..end-1.

    Parameters
    ----------
    w, leaves
        Workspace of a tree, and how many leaves it has.
    labels
        Classes of test rows.
    begin, end
        Which test rows count.
    shares, counts
        (leaves, K) shares of training rows, and numbers of test rows, by class; filled.
    """
    classes = shares.shape[1]
    for leaf in range(leaves):
        total = 0
        for k in range(classes):
            total += w.leaves.weights[leaf, k]
            counts[leaf, k] = 0
        for k in range(classes):
            shares[leaf, k] = w.leaves.weights[leaf, k] / total
        for i in range(w.leaves.first[leaf], w.leaves.stop[leaf]):
            test = w.tests[i]
            if begin <= test < end:
                counts[leaf, labels[test]] += 1


@kernel(glue=True, borrow=True)
def _keep_leaves(w, leaves, begin, end, shares, out):
    """Keep what leaves say of the test rows with numbers begin..end-1.

    Parameters
    ----------
    w, leaves, begin, end
        As for `_count_leaves`.
    shares
        (leaves, K) shares of training rows by class.
    out
        (WIDTH or more,) the numbers of the cell, and what is kept behind them.
    """
    for leaf in range(leaves):
        for i in range(w.leaves.first[leaf], w.leaves.stop[leaf]):
            test = w.tests[i]
            if begin <= test < end:
                keep_group(shares[leaf], test - begin, end - begin, out)


@kernel(inline=True, borrow=True)
def _score_trees(block, stream, refits, scratch, out):
    """Score trees with leaves of all sizes; see `_fill`."""
    data, grid, held, buffers = block.data, block.grid, block.grid.held, block.buffers
    columns, w = block.columns, scratch.w
    labels, every = block.task.y, len(block.task.y)
    tests = Tests(held.rows[: held.sizes[HELD_COPIES]], data.rows, data.coded.values)
    if refits:
        tests = Tests(buffers.index[: buffers.count[0]], data.columns, data.coded.values)
    prepare(buffers.sample, w)
    for q in range(len(grid.values)):
        least = grid.values[q]
        if refits and not is_chosen(held, q):
            continue
        if not refits and q > 0 and 2 * min(least, grid.values[q - 1]) > held.sizes[FIT_COPIES]:
            copy(held.scores[q - 1], held.scores[q])  # the root is a leaf
            continue
        leaves = grow_tree(buffers.sample, stream, tests, Rules(least, len(data.rows)), w)
        shares, counts = scratch.shares[:leaves], scratch.counts[:leaves]
        if not refits:
            _count_leaves(w, leaves, labels, 0, every, scratch.shares, scratch.counts)
            score_groups(shares, counts, held.scores[q])
            continue
        for k in range(len(buffers.lo)):
            # A constant set is a run of columns; any other is all of the columns scored.
            begin = 0 if columns.varying else columns.lo[k, 0]
            end = len(scratch.labels) if columns.varying else columns.hi[k, block.task.classes - 1]
            _count_leaves(w, leaves, scratch.labels, begin, end, scratch.shares, scratch.counts)
            score_groups(shares, counts, held.refit[k])
            if held.refit.shape[1] > WIDTH:
                _keep_leaves(w, leaves, begin, end, scratch.shares, held.refit[k])
        record(held, q, out)


@kernel
def tree_block(task, columns, data, key0, key1, grid):
    """Score the cells of a block of DT.

    Parameters
    ----------
    task, columns
        A `Task` and the `Columns` to score on.
    data
        The dataset, `Data`.
    key0, key1
        Key of the learner's random streams.
    grid
        Fewest rows in a leaf, `Grid`.
    """
    buffers = buffers_of(task, columns, data, grid)
    block = Block(task=task, columns=columns, data=data, grid=grid, buffers=buffers)
    width = buffers.P.shape[1]
    scratch = TreeScratch(
        w=workspace(len(task.pool), width, len(data.rows), task.classes),
        labels=task.y[columns.rows],
        shares=np.empty((width, task.classes)),
        counts=np.empty((width, task.classes), np.int64),
    )
    _fill(block, key0, key1, _score_trees, scratch)


# -- RFOR ------------------------------------------------------------------------------------------


@kernel(borrow=True)
def _divide_votes(votes, index, trees, P):
    """Divide the votes of the listed rows or columns by the number of trees."""
    for k in range(len(P)):
        shares = P[k]
        for i in range(np.uint64(len(index))):
            shares[i] = votes[np.uint64(index[i]), k] / trees


@kernel(inline=True, borrow=True)
def _score_forests(block, stream, refits, scratch, out):
    """Score forests of all sizes; see `_fill`."""
    data, grid, held, buffers = block.data, block.grid, block.grid.held, block.buffers
    rows = held.rows[: held.sizes[HELD_COPIES]]
    if refits:
        rows = buffers.index[: buffers.count[0]]
        tests = Tests(rows, data.columns, data.coded.values)
    else:
        distinct = held.order[: list_distinct(rows, held.order)]  # `hold_out` needs it no more
        tests = Tests(distinct, data.rows, data.coded.values)
    prepare(buffers.sample, scratch.w)
    done = 0
    for q in grid.order:
        if refits and not is_chosen(held, q):
            continue
        trees = grid.values[q]
        add_trees(
            buffers.sample, stream, done, trees, tests, scratch.rules, scratch.w, scratch.votes
        )
        done = trees
        _divide_votes(scratch.votes, rows, trees, buffers.P)
        if refits:
            score_sets(buffers, held.refit)
            record(held, q, out)
        else:
            score_held(buffers, held, held.scores[q])


@kernel
def forest_block(task, columns, data, key0, key1, grid, leaf, features):
    """Score the cells of a block of RFOR.

    Parameters
    ----------
    task, columns, data, key0, key1
        As for `tree_block`.
    grid
        Numbers of trees, `Grid`.
    leaf, features
        Fewest rows in a leaf, and features that a node visits.
    """
    buffers = buffers_of(task, columns, data, grid)
    block = Block(task=task, columns=columns, data=data, grid=grid, buffers=buffers)
    tests = max(len(columns.rows), len(task.y))
    scratch = ForestScratch(
        w=workspace(len(task.pool), tests, len(data.rows), task.classes),
        rules=Rules(leaf, features),
        votes=np.empty((tests, task.classes)),
    )
    _fill(block, key0, key1, _score_forests, scratch)


# -- ADAB ------------------------------------------------------------------------------------------


@kernel(borrow=True)
def _draw_words(stream, words):
    """Fill in the first words of a cell's stream."""
    for t in range(0, len(words), 4):
        drawn = philox(stream.key0, stream.key1, t // 4, stream.n, stream.repetition, 0)
        for j in range(min(4, len(words) - t)):
            words[t + j] = drawn[j]


@kernel(borrow=True)
def _fill_prior(sample, P):
    """Give every column the shares of the classes in the training set."""
    for k in range(len(P)):
        count = 0
        for i in range(sample.starts[k], sample.starts[k + 1]):
            count += np.int64(sample.packed[i] & np.uint32(0xFFFF))
        share = count / sample.size[ROWS]
        for i in range(P.shape[1]):
            P[k, i] = share


@kernel(borrow=True)
def _gather(source, index, target):
    """Put the listed columns side by side."""
    for k in range(len(source)):
        whole, part = source[k], target[k]
        for i in range(np.uint64(len(index))):
            part[i] = whole[np.uint64(index[i])]


@kernel(glue=True, borrow=True)
def _boost(block, stream, stumps, scratch):
    """Fit an ensemble to the sample; returns its number of stumps, 0 if shares say it all."""
    buffers = block.buffers
    _draw_words(stream, scratch.words)
    used = boost(buffers.sample, stumps, scratch.words, scratch.w, scratch.ensemble)
    find_thresholds(scratch.ensemble, used, block.data.coded.values)
    if used == 0:
        _fill_prior(buffers.sample, buffers.P)
    return used


@kernel(inline=True, borrow=True)
def _score_ensembles(block, stream, refits, scratch, out):
    """Score ensembles of all sizes; see `_fill`."""
    data, grid, held, buffers = block.data, block.grid, block.grid.held, block.buffers
    count, codes, votes, stumps = buffers.count[0], data.columns, scratch.votes, 0
    packs = refits and block.columns.varying
    if not refits:
        count = held.sizes[HELD_COPIES]
        codes = scratch.codes[: len(codes) * count].reshape((len(codes), count))
        _gather(data.rows, held.rows[:count], codes)
    for q in range(len(grid.values)):
        if not refits or is_chosen(held, q):
            stumps = max(stumps, grid.values[q])
    used = _boost(block, stream, stumps, scratch)
    done, sum_, last = 0, 0, -1
    for q in grid.order:
        if refits and not is_chosen(held, q):
            continue
        stop = min(grid.values[q], used)
        if stop > done:
            sum_ += add_votes(scratch.ensemble, done, stop, codes, votes)
            if packs:
                _gather(votes, buffers.index[:count], scratch.packed)
            scored, most, total = scratch.packed if packs else votes, scratch.most, scratch.total
            probabilities(scored, count, sum_, buffers.present, most, total, buffers.P)
        if refits:
            if stop > done or last < 0:
                score_sets(buffers, held.refit)
            record(held, q, out)
        elif stop > done or last < 0:
            score_held(buffers, held, held.scores[q])
        else:
            copy(held.scores[last], held.scores[q])
        done, last = stop, q


@kernel
def boosting_block(task, columns, data, key0, key1, grid):
    """Score the cells of a block of ADAB.

    Parameters
    ----------
    task, columns, data, key0, key1
        As for `tree_block`.
    grid
        Largest numbers of stumps, `Grid`.
    """
    d, size = data.columns.shape
    buffers = buffers_of(task, columns, data, grid)
    block = Block(task=task, columns=columns, data=data, grid=grid, buffers=buffers)
    width = buffers.P.shape[1]
    largest = grid.values[grid.order[len(grid.order) - 1]]
    scratch = BoostingScratch(
        w=histograms(d, task.classes, len(task.pool)),
        ensemble=ensemble(largest),
        words=np.empty(largest, np.uint64),
        votes=np.empty((task.classes, width), np.int64),
        packed=np.empty((task.classes, size if columns.varying else 0), np.int64),
        most=np.empty(width, np.int64),
        total=np.empty(width),
        codes=np.empty(d * (width if grid.tunes else 0), np.uint16),
    )
    _fill(block, key0, key1, _score_ensembles, scratch)
