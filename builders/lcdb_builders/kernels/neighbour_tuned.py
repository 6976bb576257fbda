"""Tuned blocks of NNC: every number of neighbours from one walk over each row's neighbours.

A row's neighbours are met nearest first: down its list of candidates (`neighbours.Table`), down the
list that an additive curve carries along (`neighbour_carried`), or, where few rows were drawn or
there is no room for lists, in order of distances computed for it. Their classes are written side
by side, only as many as the largest number of neighbours needs, and `neighbour_tally` counts votes.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.bits import bit_count
from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.lanes import COPIES, LANES, load, marks, repeat, spread
from lcdb_builders.kernels.layout import ADDITIVE, BOOTSTRAP, Columns, Task, draw, left_out, weigh
from lcdb_builders.kernels.neighbour_carried import Carried, carried_of, restart, take_in
from lcdb_builders.kernels.neighbour_tally import forget, score_tally, tally_of, tally_row
from lcdb_builders.kernels.neighbours import TIE, Table
from lcdb_builders.kernels.tuning import (
    ONE_CLASS_FIT,
    Tuned,
    Tuning,
    choose,
    hold_out,
    hold_out_of,
    is_chosen,
    record,
)

__all__ = ["carries", "neighbours_tuned"]

# Entries of a list that are looked at before anything is counted.
RUN = 16
# Places in a draw take 16 bits: larger pools have no lists anyway.
LARGEST_POOL = 2**16 - 1
# Additive curves carry lists along if they have at least one in so many of all sizes.
SPARSE = 10

#: Workspace. Of the grid: `most` (G,) numbers of neighbours, `first` (G,) where each value stands
#: among them, `wanted` (G,) values to try; `scores` (sets, G, 5). Of rows that vote, by slot:
#: `code` (class, then weight, 0 for others) and `position` (place in the draw, from 1); by place:
#: `label`, `copies`, and the bits of those that stand in `line`, with those of its words `above`.
#: Of the row in hand: `voters`, the classes of its nearest neighbours; `found` their places, and
#: their `distance` (largest value,) from `x` (d,). Of cells: `order`, `distinct` (pool,), `weight`
#: (N,), `index` (columns,), `lo`, `hi`, `size` (K,).
Desk = namedtuple(
    "Desk",
    [
        "most",
        "first",
        "wanted",
        "scores",
        "code",
        "position",
        "label",
        "copies",
        "places",
        "sorted",
        "group",
        "voters",
        "found",
        "distance",
        "x",
        "order",
        "distinct",
        "weight",
        "index",
        "lo",
        "hi",
        "size",
    ],
)
#: Where rows are polled: `XT`, `table`, lists of candidates `near` (columns, room) of which the
#: first `length` count, and how many of each are `clear` of ties.
Station = namedtuple("Station", ["XT", "table", "near", "length", "clear"])


def carries(task: Task) -> bool:
    """Return whether lists of nearest rows are carried along the sizes of a task."""
    return task.sampling == ADDITIVE and SPARSE * len(task.sizes) >= task.sizes[-1]


def _most(task: Task, tuning: Tuning) -> int:
    return min(int(tuning.grid.max()), int(task.sizes[-1]))


def _desk(task: Task, columns: Columns, tuning: Tuning) -> Desk:
    classes, slots, values = task.classes, len(task.pool), len(tuning.grid)
    most = _most(task, tuning)
    return Desk(
        np.zeros(values, np.int64),
        np.zeros(values, np.int64),
        np.zeros(values, bool),
        np.zeros((len(columns.lo), values, 5)),
        # Entries of lists with the bit `TIE` are off by one.
        np.zeros(2 * slots + 1, np.uint16),
        np.zeros(slots, np.uint16),
        np.zeros(slots + 1, np.uint16),
        np.zeros(slots + 1, np.int64),
        np.zeros(slots + 1 + LANES, np.uint16),
        np.zeros(slots + 1 + LANES, np.uint16),
        np.zeros(slots + 1, np.uint16),
        # The last run counts weights, or classes by mistake; and whole lanes are read.
        np.zeros(most + RUN * max(COPIES, classes) + 2 * LANES, np.uint16),
        np.zeros(slots + 1, np.int64),
        np.zeros(most),
        np.zeros(task.X.shape[1]),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int64),
        np.zeros(len(task.y), np.int64),
        np.arange(len(columns.rows)),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
    )


def _carried(task: Task, columns: Columns, table: Table, tuning: Tuning) -> Carried:
    """Return room for enough rows that with a fifth held out there are nearly always enough."""
    most = int(tuning.grid.max())
    kept = min(int(1.25 * most + 2.5 * most**0.5), int(task.sizes[-1]))
    return carried_of(columns, table, kept if carries(task) else 0)


@kernel(glue=True)
def _walk(near, length, code, voters, wanted, copied):
    """Write the classes of the nearest rows that vote; returns how many, and entries looked at.

    What comes after a tie may be wrong.
    """
    count = np.uint64(0)
    q = np.uint64(0)
    while count < wanted and q < length:
        stop = min(q + np.uint64(RUN), np.uint64(length))
        if copied:
            for i in range(q, stop):
                entry = np.uint64(near[i])
                repeat(code[entry], voters, np.int64(count))
                count += np.uint64(code[entry + np.uint64(1)])
        else:  # without branches: most rows may not vote
            for i in range(q, stop):
                entry = np.uint64(near[i])
                voters[count] = code[entry]
                count += np.uint64(code[entry + np.uint64(1)])
        q = stop
    return count, q


@kernel(glue=True)
def _find(near, desk, wanted):
    """Write group and place of the nearest rows that vote: equally near ones are one group.

    At least so many as are wanted, if there are. Returns how many.
    """
    places, group, position = desk.places, desk.group, desk.position
    size = np.uint64(len(near))
    one = np.uint64(1)
    count = np.uint64(0)
    q = np.uint64(0)
    g = np.uint64(0)
    while count < wanted and q < size:
        stop = min(q + np.uint64(RUN), size)
        for i in range(q, stop):
            entry = np.uint64(near[i])
            place = position[entry >> one]
            places[count] = place
            group[count] = g
            count += np.uint64(place != 0)
            g += one - (entry & one)
        q = stop
    while q < size and near[q - one] & TIE:
        place = position[np.uint64(near[q]) >> one]
        places[count] = place
        group[count] = g
        count += np.uint64(place != 0)
        q += one
    return np.int64(count)


@kernel(glue=True)
def _cast(place, desk, cast, wanted):
    """Write the class of a row as often as it was drawn, and wanted; returns how many there are."""
    stop = min(cast + desk.copies[place], wanted)
    for i in range(cast, stop):
        desk.voters[i] = desk.label[place]
    return stop


@kernel(glue=True)
def _sort_places(places, first, stop, out):
    """Sort so many places, all different: each goes where the number of smaller ones says."""
    for i in range(first, stop):
        mine = spread(places[i], load(places, first))
        rank = np.uint64(0)
        for at in range(first, stop, LANES):
            word = np.uint64(marks(load(places, at) <= mine))
            left = min(stop - at, LANES)
            rank += bit_count(word & ((np.uint64(1) << np.uint64(left)) - np.uint64(1)))
        out[np.uint64(first) + rank - np.uint64(1)] = places[i]


@kernel(borrow=True)
def _vote_in_list(near, desk, steps):
    """Write the classes of the nearest rows that vote, of equally near ones the first drawn first.

    Each as often as it was drawn, until there are enough for all steps.
    """
    wanted = desk.most[steps - 1]
    count = _find(near, desk, wanted)
    places, group = desk.places, desk.group
    cast = 0
    i = 0
    while cast < wanted:
        stop = i + 1
        while stop < count and group[stop] == group[i]:
            stop += 1
        chosen = places
        if stop > i + 1:
            _sort_places(places, i, stop, desk.sorted)
            chosen = desk.sorted
        while i < stop:
            cast = _cast(chosen[i], desk, cast, wanted)
            i += 1


@kernel(borrow=True)
def _vote_by_distance(task, XT, t, rows, desk, wanted):
    """Write the classes of the rows nearest to a column, by distances that are computed."""
    x = desk.x
    for j in range(len(x)):
        x[j] = XT[j, t]
    kept = min(len(rows), wanted)
    held = 0
    for i in range(len(rows)):
        z = task.X[rows[i]]
        new = 0.0
        for j in range(len(x)):
            new += (z[j] - x[j]) * (z[j] - x[j])
        if held == kept and new >= desk.distance[held - 1]:
            continue
        held = min(held + 1, kept)
        place = held - 1
        while place > 0 and desk.distance[place - 1] > new:
            desk.distance[place] = desk.distance[place - 1]
            desk.found[place] = desk.found[place - 1]
            place -= 1
        desk.distance[place] = new
        desk.found[place] = i + 1
    cast = 0
    for i in range(held):
        cast = _cast(desk.found[i], desk, cast, wanted)


@kernel(borrow=True)
def _poll(task, station, rows, heaviest, index, lo, hi, steps, desk, tally):
    """Let rows vote on the columns ``index[lo[c]:hi[c]]`` of each class c, and count the votes."""
    near = station.near
    wanted = desk.most[steps - 1]
    # Entries of a list to go down, and what distances cost in the same unit.
    listed = min(1.0 * station.length, len(task.pool) * wanted / len(rows))
    measured = len(rows) * (4.0 + 0.7 * len(station.XT)) + wanted * wanted / 3.0
    walked = len(near) > 0 and listed < measured and len(task.pool) <= LARGEST_POOL
    copied = task.sampling == BOOTSTRAP
    forget(tally, desk.most, steps)
    for c in range(len(lo)):
        for i in range(lo[c], hi[c]):
            t = index[i]
            ready = False
            if walked:
                mine = near[t]
                if heaviest <= COPIES and (copied or wanted <= station.clear[t]):
                    count, q = _walk(mine, station.length, desk.code, desk.voters, wanted, copied)
                    ready = count >= wanted and q <= station.clear[t]
                if not ready and station.length == len(task.pool):
                    _vote_in_list(mine, desk, steps)
                    ready = True
            if not ready:
                _vote_by_distance(task, station.XT, t, rows, desk, wanted)
            tally_row(desk.voters, c, desk.most, steps, tally)


@kernel(borrow=True)
def _arm(task, table, rows, desk):
    """Give rows, in the order of first draws, a vote; returns the largest weight."""
    heaviest = 0
    for i in range(len(rows)):
        row = rows[i]
        slot = table.slot[row]
        desk.code[2 * slot] = task.y[row]
        desk.code[2 * slot + 1] = desk.weight[row]
        desk.position[slot] = i + 1
        desk.label[i + 1] = task.y[row]
        desk.copies[i + 1] = desk.weight[row]
        heaviest = max(heaviest, desk.weight[row])
    return heaviest


@kernel(borrow=True)
def _disarm(table, rows, desk):
    for row in rows:
        desk.code[2 * table.slot[row] + 1] = 0
        desk.position[table.slot[row]] = 0


@kernel(borrow=True)
def _plan_steps(tuning, n, desk):
    """List the different numbers of neighbours among n rows, ascending; returns how many.

    Only wanted values of the grid are listed, which ascends; more neighbours than rows are n.
    """
    steps = 0
    for g in range(len(tuning.grid)):
        if desk.wanted[g]:
            most = min(np.int64(tuning.grid[g]), n)
            if steps == 0 or desk.most[steps - 1] != most:
                desk.most[steps] = most
                steps += 1
            desk.first[g] = steps - 1
    return steps


@kernel(borrow=True)
def _score(lo, hi, steps, desk, tally, scores):
    """Score every step; ``scores`` is (G, 5)."""
    for c in range(len(lo)):
        desk.size[c] = hi[c] - lo[c]
    for s in range(steps):
        score_tally(tally, s, desk.most[s], desk.size, scores[s])


@kernel(borrow=True)
def _try_grid(task, tuning, station, desk, tally, at):
    """Score every grid value on the held-out rows."""
    for g in range(len(tuning.grid)):
        desk.wanted[g] = True
    steps = _plan_steps(tuning, at.sizes[2], desk)
    rows = at.fit[: at.sizes[0]]
    index = at.order[: at.sizes[1]]  # `hold_out` needs it no more
    for t in range(len(index)):
        index[t] = station.table.own[at.held[t]]
    heaviest = _arm(task, station.table, rows, desk)
    _poll(task, station, rows, heaviest, index, at.lo, at.hi, steps, desk, tally)
    _disarm(station.table, rows, desk)
    scores = desk.scores[0]
    _score(at.lo, at.hi, steps, desk, tally, scores)
    for g in range(len(tuning.grid)):
        for m in range(5):
            at.scores[g, m] = scores[desk.first[g], m]


@kernel(borrow=True)
def _refit(task, columns, tuning, station, n, rows, desk, tally, at, out):
    """Score the chosen values on the test sets."""
    for g in range(len(tuning.grid)):
        desk.wanted[g] = is_chosen(at, g)
    steps = _plan_steps(tuning, n, desk)
    heaviest = _arm(task, station.table, rows, desk)
    if columns.varying:
        left_out(columns, desk.weight, desk.index, desk.lo, desk.hi)
    for k in range(len(columns.lo)):
        lo = desk.lo if columns.varying else columns.lo[k]
        hi = desk.hi if columns.varying else columns.hi[k]
        _poll(task, station, rows, heaviest, desk.index, lo, hi, steps, desk, tally)
        _score(lo, hi, steps, desk, tally, desk.scores[k])
    _disarm(station.table, rows, desk)
    for g in range(len(tuning.grid)):
        if desk.wanted[g]:
            for k in range(len(columns.lo)):
                for m in range(5):
                    at.found[k, m] = desk.scores[k, desk.first[g], m]
            record(at, g, out)


@kernel(glue=True)
def _station(columns, table, carried, held):
    """Where rows are polled after so many have been carried along, if they are."""
    if carried.near.shape[1] > 0:
        length = min(held, carried.near.shape[1])
        return Station(columns.XT, table, carried.near, length, carried.clear)
    return Station(columns.XT, table, table.near, table.near.shape[1], table.clear)


@kernel(borrow=True)
def _run(task, columns, table, studied, study, carried, followed, tuning, desk, tally, at, tuned):
    for r in range(task.stop - task.first):
        repetition = task.first + r
        restart(carried)
        restart(followed)
        done = 0
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            if task.sampling != ADDITIVE or i == 0:
                draw(task, n, repetition, desk.order)
            while carried.near.shape[1] > 0 and done < n:
                take_in(task, columns, table, desk.order[done], done, carried)
                if not columns.varying:
                    take_in(task, studied, study, desk.order[done], done, followed)
                done += 1
            count = weigh(desk.order[:n], desk.weight, desk.distinct)
            rows = desk.distinct[:count]
            flag = hold_out(task, tuning, n, repetition, rows, count, desk.weight, at)
            if flag != ONE_CLASS_FIT:
                _try_grid(task, tuning, _station(studied, study, followed, n), desk, tally, at)
            choose(tuning, flag, at, tuned.choices[i, r], tuned.flags[i, r])
            out = tuned.values[i, r]
            here = _station(columns, table, carried, n)
            _refit(task, columns, tuning, here, n, rows, desk, tally, at, out)
            for row in rows:
                desk.weight[row] = 0


def neighbours_tuned(
    task: Task,
    columns: Columns,
    table: Table,
    studied: Columns,
    study: Table,
    tuning: Tuning,
    tuned: Tuned,
) -> None:
    """Fill the cells of a tuned block.

    Parameters
    ----------
    task, columns, tuning
        Cells, where they are scored, and what is chosen from what.
    table
        Of the columns: lists of candidates, or, if the task `carries` its own, distances.
    studied, study
        Columns of all rows that may be held out, and their table: if the test set varies, the same.
    tuned
        Filled.
    """
    desk, at = _desk(task, columns, tuning), hold_out_of(task, columns, tuning)
    tally = tally_of(task.classes, len(tuning.grid), _most(task, tuning))
    carried = _carried(task, columns, table, tuning)
    followed = carried if columns.varying else _carried(task, studied, study, tuning)
    _run(task, columns, table, studied, study, carried, followed, tuning, desk, tally, at, tuned)
