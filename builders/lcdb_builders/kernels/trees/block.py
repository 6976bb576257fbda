"""Whole blocks of DT, RFOR and ADAB: cells in, metrics out.

Tuned forests and ensembles of stumps are grown once on the rows that are fitted and once on all:
every smaller one is the head of it. Trees with leaves of other sizes are grown one by one, on a
training set that is coded and sorted once.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.cell import WIDTH
from lcdb_builders.kernels.core.holdout import ONE_CLASS_FIT, choose, is_chosen, record
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import philox
from lcdb_builders.kernels.scores.counts import score_groups
from lcdb_builders.kernels.scores.kept import keep_group
from lcdb_builders.kernels.trees.boost import boost, ensemble
from lcdb_builders.kernels.trees.cells import desk_of, learn, open_cell, score_held, score_sets
from lcdb_builders.kernels.trees.codes import release
from lcdb_builders.kernels.trees.forest import Cell, add_trees, grow_tree, stand
from lcdb_builders.kernels.trees.grow import prepare
from lcdb_builders.kernels.trees.histograms import forge
from lcdb_builders.kernels.trees.votes import add_votes, find_thresholds, probabilities

__all__ = ["boosting_block", "forest_block", "tree_block"]


@kernel(borrow=True)
def _count_leaves(leaves, count, tests, labels, begin, end, p, counts):
    """Describe leaves by their class shares and their test rows with numbers begin..end-1.

    Parameters
    ----------
    leaves, count
        The leaves of a tree, and how many.
    tests, labels
        Test rows by leaf, and their classes.
    begin, end
        Which test rows count.
    p, counts
        (leaves, K) shares of training rows, and numbers of test rows, by class; filled.
    """
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


@kernel(borrow=True)
def _keep_leaves(leaves, count, tests, begin, end, p, out):
    """Keep what leaves say of the test rows with numbers begin..end-1."""
    for leaf in range(count):
        for i in range(leaves.first[leaf], leaves.stop[leaf]):
            if begin <= tests[i] < end:
                keep_group(p[leaf], tests[i] - begin, end - begin, out)


@kernel(borrow=True)
def _copy_scores(source, target):
    for m in range(len(source)):
        target[m] = source[m]


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
    d, size = data.columns.shape
    desk = desk_of(task, columns, data, grid)
    parted, values, end = grid.held, data.coded.values, len(task.y)
    width = desk.P.shape[1]
    s = stand(len(task.pool), width, d, task.classes)
    labels = task.y[columns.rows]
    p, counts = np.empty((width, task.classes)), np.empty((width, task.classes), np.int64)
    for r in range(task.stop - task.first):
        for i in range(len(task.sizes)):
            n, repetition = task.sizes[i], task.first + r
            flag = open_cell(task, columns, grid, desk, n, repetition, i == 0)
            cell = Cell(key0, key1, n, repetition)
            if grid.tunes:
                if flag != ONE_CLASS_FIT:
                    learn(desk, data, desk.fit[: parted.sizes[2]])
                    prepare(desk.sample, s.grove)
                    held = parted.held[: parted.sizes[1]]
                    for q in range(len(grid.values)):
                        leaf = grid.values[q]
                        if q > 0 and 2 * min(leaf, grid.values[q - 1]) > parted.sizes[2]:
                            _copy_scores(
                                parted.scores[q - 1], parted.scores[q]
                            )  # the root is a leaf
                            continue
                        leaves = grow_tree(desk.sample, cell, held, data.rows, values, s, leaf)
                        _count_leaves(s.grove.leaves, leaves, s.tests, task.y, 0, end, p, counts)
                        score_groups(p[:leaves], counts[:leaves], parted.scores[q])
                    release(desk.sample)
                choose(grid.tuning, flag, parted, grid.out.choices[i, r], grid.out.flags[i, r])
            learn(desk, data, desk.order[:n])
            prepare(desk.sample, s.grove)
            tests = desk.index[: desk.count[0]]
            for q in range(len(grid.values)):
                if not is_chosen(parted, q):
                    continue
                leaf = grid.values[q]
                leaves = grow_tree(desk.sample, cell, tests, data.columns, values, s, leaf)
                for k in range(len(desk.lo)):
                    # A constant set is a run of columns; any other is all of the columns scored.
                    begin = 0 if columns.varying else columns.lo[k, 0]
                    stop = size if columns.varying else columns.hi[k, task.classes - 1]
                    _count_leaves(s.grove.leaves, leaves, s.tests, labels, begin, stop, p, counts)
                    score_groups(p[:leaves], counts[:leaves], parted.refit[k])
                    if parted.refit.shape[1] > WIDTH:
                        _keep_leaves(
                            s.grove.leaves, leaves, s.tests, begin, stop, p, parted.refit[k]
                        )
                record(parted, q, grid.out.values[i, r])
            release(desk.sample)


@kernel(borrow=True)
def _pack(votes, index, count, trees, P):
    """Divide the votes of the listed rows or columns by the number of trees."""
    for k in range(len(P)):
        own = P[k]
        for i in range(np.uint64(count)):
            own[i] = votes[np.uint64(index[i]), k] / trees


@kernel(borrow=True)
def _list_distinct(rows, count, distinct):
    """List rows whose copies stand side by side, each once; returns their number."""
    last = 0
    for i in range(count):
        if i == 0 or rows[i] != rows[i - 1]:
            distinct[last] = rows[i]
            last += 1
    return last


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
    d, size = data.columns.shape
    desk = desk_of(task, columns, data, grid)
    parted, values = grid.held, data.coded.values
    s = stand(len(task.pool), max(size, len(task.y)), d, task.classes)
    votes = np.empty((max(size, len(task.y)), task.classes))
    for r in range(task.stop - task.first):
        for i in range(len(task.sizes)):
            n, repetition = task.sizes[i], task.first + r
            flag = open_cell(task, columns, grid, desk, n, repetition, i == 0)
            cell = Cell(key0, key1, n, repetition)
            if grid.tunes:
                if flag != ONE_CLASS_FIT:
                    learn(desk, data, desk.fit[: parted.sizes[2]])
                    prepare(desk.sample, s.grove)
                    tests = desk.distinct[
                        : _list_distinct(parted.held, parted.sizes[1], desk.distinct)
                    ]
                    done = 0
                    for q in grid.order:
                        trees = grid.values[q]
                        add_trees(
                            desk.sample,
                            parted.sizes[2],
                            cell,
                            done,
                            trees,
                            tests,
                            data.rows,
                            values,
                            s,
                            leaf,
                            features,
                            votes,
                        )
                        done = trees
                        _pack(votes, parted.held, parted.sizes[1], trees, desk.P)
                        score_held(desk, parted, parted.scores[q])
                    release(desk.sample)
                choose(grid.tuning, flag, parted, grid.out.choices[i, r], grid.out.flags[i, r])
            learn(desk, data, desk.order[:n])
            prepare(desk.sample, s.grove)
            count, done = desk.count[0], 0
            for q in grid.order:
                if not is_chosen(parted, q):
                    continue
                trees = grid.values[q]
                add_trees(
                    desk.sample,
                    n,
                    cell,
                    done,
                    trees,
                    desk.index[:count],
                    data.columns,
                    values,
                    s,
                    leaf,
                    features,
                    votes,
                )
                done = trees
                _pack(votes, desk.index, count, trees, desk.P)
                score_sets(desk, parted.refit)
                record(parted, q, grid.out.values[i, r])
            release(desk.sample)


@kernel(borrow=True)
def _draw_words(cell, words):
    """Fill in the first words of a cell's stream."""
    for t in range(0, len(words), 4):
        block = philox(cell.key0, cell.key1, t // 4, cell.n, cell.repetition, 0)
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


@kernel(borrow=True)
def _gather_codes(codes, rows, gathered):
    """Put the codes of rows side by side."""
    for f in range(len(codes)):
        source, target = codes[f], gathered[f]
        for i in range(np.uint64(len(rows))):
            target[i] = source[np.uint64(rows[i])]


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
    desk = desk_of(task, columns, data, grid)
    parted, values = grid.held, data.coded.values
    width = desk.P.shape[1]
    w = forge(d, task.classes, len(task.pool))
    largest = grid.values[grid.order[len(grid.order) - 1]]
    grown = ensemble(largest)
    words = np.empty(largest, np.uint64)
    votes = np.empty((task.classes, width), np.int64)
    packed = np.empty((task.classes, size if columns.varying else 0), np.int64)
    most, total = np.empty(width, np.int64), np.empty(width)
    room = np.empty(d * (width if grid.tunes else 0), np.uint16)
    for r in range(task.stop - task.first):
        for i in range(len(task.sizes)):
            n, repetition = task.sizes[i], task.first + r
            flag = open_cell(task, columns, grid, desk, n, repetition, i == 0)
            _draw_words(Cell(key0, key1, n, repetition), words)
            if grid.tunes:
                if flag != ONE_CLASS_FIT:
                    learn(desk, data, desk.fit[: parted.sizes[2]])
                    count = parted.sizes[1]
                    codes = room[: d * count].reshape((d, count))
                    _gather_codes(data.rows, parted.held[:count], codes)
                    used = boost(desk.sample, parted.sizes[2], largest, words, w, grown)
                    find_thresholds(grown, used, values)
                    if used == 0:
                        _fill_prior(desk.sample, parted.sizes[2], desk.P)
                    done, sum_, last = 0, 0, -1
                    for q in grid.order:
                        stop = min(grid.values[q], used)
                        if last >= 0 and stop == done:
                            _copy_scores(parted.scores[last], parted.scores[q])
                            continue
                        if stop > 0:
                            sum_ += add_votes(grown, done, stop, codes, votes)
                            probabilities(votes, count, sum_, desk.present, most, total, desk.P)
                        done, last = stop, q
                        score_held(desk, parted, parted.scores[q])
                    release(desk.sample)
                choose(grid.tuning, flag, parted, grid.out.choices[i, r], grid.out.flags[i, r])
            learn(desk, data, desk.order[:n])
            classes = 0
            for k in range(task.classes):
                classes += 1 if desk.present[k] else 0
            stumps = 0
            for q in range(len(grid.values)):
                if is_chosen(parted, q):
                    stumps = max(stumps, grid.values[q])
            used = boost(desk.sample, n, stumps, words, w, grown) if classes > 1 else 0
            find_thresholds(grown, used, values)
            if used == 0:
                _fill_prior(desk.sample, n, desk.P)
            count, done, sum_, scored = desk.count[0], 0, 0, False
            for q in grid.order:
                if not is_chosen(parted, q):
                    continue
                stop = min(grid.values[q], used)
                if stop > done:
                    sum_ += add_votes(grown, done, stop, data.columns, votes)
                    if columns.varying:
                        _gather_votes(votes, desk.index, count, packed)
                    chosen = packed if columns.varying else votes
                    probabilities(chosen, count, sum_, desk.present, most, total, desk.P)
                if stop > done or not scored:
                    score_sets(desk, parted.refit)
                done, scored = stop, True
                record(parted, q, grid.out.values[i, r])
            release(desk.sample)
