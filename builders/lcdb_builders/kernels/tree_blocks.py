"""Whole blocks of DT, RFOR and ADAB: cells in, metrics out."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.boosting import boost, ensemble
from lcdb_builders.kernels.forest import grow_forest, grow_tree
from lcdb_builders.kernels.forge import forge
from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.layout import ADDITIVE, draw, left_out, weigh
from lcdb_builders.kernels.metrics import room, score_groups, score_probabilities
from lcdb_builders.kernels.samples import release, sample_of, take
from lcdb_builders.kernels.streams import philox
from lcdb_builders.kernels.trees import grove, prepare
from lcdb_builders.kernels.voting import count_votes, probabilities

__all__ = ["boosting_block", "forest_block", "tree_block"]

#: Workspace of a block: the `sample` and which classes are `present` in it; `order`, `distinct`
#: (pool,) rows drawn, `weight` (N,) multiplicities; `index` (columns,) the columns that are scored,
#: `count` (1,) of them, `lo` and `hi` (sets, K) which of them belong to a class; `P` (K, columns)
#: and `room` to score them.
Desk = namedtuple(
    "Desk",
    [
        "sample",
        "present",
        "order",
        "distinct",
        "weight",
        "index",
        "count",
        "lo",
        "hi",
        "P",
        "room",
    ],
)


@kernel(glue=True)
def _desk(task, columns, coded):
    size = len(columns.rows)
    return Desk(
        sample_of(coded, task.classes, len(task.pool)),
        np.zeros(task.classes, np.bool_),
        np.empty(len(task.pool), np.int64),
        np.empty(len(task.pool), np.int64),
        np.zeros(len(task.y), np.int64),
        np.arange(size),
        np.full(1, size),
        columns.lo.copy(),
        columns.hi.copy(),
        np.empty((task.classes, size)),
        room(task.classes, size),
    )


@kernel(glue=True)
def _open_cell(task, columns, coded, desk, n, repetition, first):
    """Draw a cell: its sample, and the columns it is scored on; `first` of its repetition."""
    if first or task.sampling != ADDITIVE:
        draw(task, n, repetition, desk.order)
    drawn = desk.order[:n]
    take(desk.sample, coded, drawn, task.classes)
    for k in range(task.classes):
        desk.present[k] = desk.sample.starts[k + 1] > desk.sample.starts[k]
    if columns.varying:
        distinct = weigh(drawn, desk.weight, desk.distinct)
        left_out(columns, desk.weight, desk.index, desk.lo[0], desk.hi[0])
        desk.count[0] = desk.hi[0, task.classes - 1]
        for row in desk.distinct[:distinct]:
            desk.weight[row] = 0


@kernel(glue=True)
def _score(desk, out):
    """Score the probabilities of the columns on every test set; ``out`` is (sets, 5)."""
    for s in range(len(desk.lo)):
        score_probabilities(desk.P, desk.present, desk.lo[s], desk.hi[s], desk.room, out[s])


@kernel(borrow=True)
def _count_leaves(leaves, count, tests, labels, begin, end, p, counts):
    """Describe leaves by their class shares and their test rows with numbers begin..end-1."""
    classes = p.shape[1]
    for leaf in range(count):
        total = 0
        for k in range(classes):
            total += leaves.weights[leaf, k]
            counts[leaf, k] = 0
        for k in range(classes):
            p[leaf, k] = leaves.weights[leaf, k] / total
        for i in range(leaves.first[leaf], leaves.stop[leaf]):
            if begin <= tests[i] < end:
                counts[leaf, labels[tests[i]]] += 1


@kernel
def tree_block(task, columns, coded, codes, key0, key1, leaf, out):
    """Score the cells of a block of DT.

    Parameters
    ----------
    task
        A `Task`.
    columns
        `Columns` to score on.
    coded
        The dataset, `Coded`.
    codes
        (d, columns) codes of the columns.
    key0, key1
        Key of the learner's random streams.
    leaf
        Fewest rows in a leaf.
    out
        (sizes, repetitions, sets, 5), filled.
    """
    d, size = codes.shape
    desk = _desk(task, columns, coded)
    g = grove(len(task.pool), size, d, task.classes)
    rows = np.empty(len(task.pool) + 1, np.uint32)
    segments = np.empty(task.classes + 1, np.int64)
    tests = np.empty(size, np.uint16)
    labels = task.y[columns.rows]
    p, counts = np.empty((size, task.classes)), np.empty((size, task.classes), np.int64)
    for r in range(task.stop - task.first):
        for i in range(len(task.sizes)):
            n, repetition = task.sizes[i], task.first + r
            _open_cell(task, columns, coded, desk, n, repetition, i == 0)
            prepare(desk.sample, g)
            count = desk.count[0]
            for t in range(count):
                tests[t] = desk.index[t]
            word = philox(key0, key1, 0, n, repetition, 0)[0]
            leaves = grow_tree(
                desk.sample, tests, count, codes, coded.values, g, rows, segments, leaf, d, word
            )
            for s in range(len(desk.lo)):
                # A constant set is a run of columns; any other is all of the columns scored.
                begin = 0 if columns.varying else columns.lo[s, 0]
                end = size if columns.varying else columns.hi[s, task.classes - 1]
                _count_leaves(g.leaves, leaves, tests, labels, begin, end, p, counts)
                score_groups(p[:leaves], counts[:leaves], out[i, r, s])
            release(desk.sample)


@kernel(borrow=True)
def _pack(votes, index, count, trees, P):
    """Divide the votes of the listed columns by the number of trees."""
    for k in range(len(P)):
        mine = P[k]
        for i in range(np.uint64(count)):
            mine[i] = votes[np.uint64(index[i]), k] / trees


@kernel
def forest_block(task, columns, coded, codes, key0, key1, trees, leaf, features, out):
    """Score the cells of a block of RFOR.

    Parameters
    ----------
    task, columns, coded, codes, key0, key1, out
        As for `tree_block`.
    trees
        Number of trees.
    leaf, features
        Fewest rows in a leaf, and features that a node visits.
    """
    d, size = codes.shape
    desk = _desk(task, columns, coded)
    g = grove(len(task.pool), size, d, task.classes)
    rows = np.empty(len(task.pool) + 1, np.uint32)
    segments = np.empty(task.classes + 1, np.int64)
    bag = np.empty(len(task.pool) + 1, np.uint32)
    chosen, tests = np.empty(size, np.uint16), np.empty(size, np.uint16)
    votes = np.empty((size, task.classes))
    for r in range(task.stop - task.first):
        for i in range(len(task.sizes)):
            n, repetition = task.sizes[i], task.first + r
            _open_cell(task, columns, coded, desk, n, repetition, i == 0)
            prepare(desk.sample, g)
            count = desk.count[0]
            for t in range(count):
                chosen[t] = desk.index[t]
            grow_forest(
                desk.sample,
                n,
                trees,
                key0,
                key1,
                repetition,
                chosen[:count],
                tests,
                codes,
                coded.values,
                g,
                rows,
                segments,
                bag,
                leaf,
                features,
                votes,
            )
            _pack(votes, desk.index, count, trees, desk.P)
            _score(desk, out[i, r])
            release(desk.sample)


@kernel(borrow=True)
def _draw_words(key0, key1, n, repetition, words):
    """Fill in the first words of a cell's stream."""
    for t in range(0, len(words), 4):
        block = philox(key0, key1, t // 4, n, repetition, 0)
        for j in range(min(4, len(words) - t)):
            words[t + j] = block[j]


@kernel(borrow=True)
def _fill_prior(sample, n, P):
    """Give every column the shares of the classes in the training set."""
    for k in range(len(P)):
        count = 0
        for i in range(sample.starts[k], sample.starts[k + 1]):
            count += np.int64(sample.packed[i] & np.uint32(0xFFFF))
        share = count / n
        for i in range(P.shape[1]):
            P[k, i] = share


@kernel(borrow=True)
def _gather_votes(votes, index, count, packed):
    """Put the votes of the listed columns side by side."""
    for k in range(len(votes)):
        source, target = votes[k], packed[k]
        for i in range(np.uint64(count)):
            target[i] = source[np.uint64(index[i])]


@kernel
def boosting_block(task, columns, coded, codes, key0, key1, stumps, out):
    """Score the cells of a block of ADAB.

    Parameters
    ----------
    task, columns, coded, codes, key0, key1, out
        As for `tree_block`.
    stumps
        Largest number of stumps.
    """
    d, size = codes.shape
    desk = _desk(task, columns, coded)
    w = forge(d, task.classes, len(task.pool))
    found = ensemble(stumps)
    words = np.empty(stumps, np.uint64)
    votes = np.empty((task.classes, size), np.int64)
    packed = np.empty((task.classes, size if columns.varying else 0), np.int64)
    most, total = np.empty(size, np.int64), np.empty(size)
    for r in range(task.stop - task.first):
        for i in range(len(task.sizes)):
            n, repetition = task.sizes[i], task.first + r
            _open_cell(task, columns, coded, desk, n, repetition, i == 0)
            _draw_words(key0, key1, n, repetition, words)
            used = 0
            if desk.present.sum() > 1:
                used = boost(desk.sample, n, stumps, words, w, found)
            count = desk.count[0]
            if used == 0:
                _fill_prior(desk.sample, n, desk.P)
            else:
                sum_ = count_votes(found, used, codes, coded.values, votes)
                if columns.varying:
                    _gather_votes(votes, desk.index, count, packed)
                chosen = packed if columns.varying else votes
                probabilities(chosen, count, sum_, desk.present, most, total, desk.P)
            _score(desk, out[i, r])
            release(desk.sample)
