"""The classes of a row's nearest neighbours, side by side.

A row's neighbours are met nearest first: down a list of candidates, or, where few rows were drawn
or there is no room for lists, in order of distances that are computed. Of equally near ones the one
drawn first comes first; as only classes are written, and votes are counted up to a few numbers of
them, that matters only where one of these cuts a group of equally near rows.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import Task
from lcdb_builders.kernels.core.simd import COPIES, LANES, bit_count, load, marks, repeat, spread
from lcdb_builders.kernels.neighbours.block import TIE, insert

__all__ = [
    "LARGEST_POOL",
    "give_votes",
    "take_votes",
    "vote_by_distance",
    "vote_in_list",
    "voter_buffers",
]

# Entries of a list that are looked at before anything is counted.
RUN = 16
# Places in a draw and in a list are uint16. Lists of tables, in which ties are to be settled, need
# them; those that are carried have the rows drawn first before others at their distance.
LARGEST_POOL = 2**16 - 1

#: Of rows that vote: `weight` (N,), `heaviest` (1,) the largest of them, and by slot `code` (two
#: numbers, class and weight, which is 0 for others) and `position` (place in the draw, from 1). Of
#: the column in hand:
#: `classes` of its nearest neighbours, `spots`, which entries of the list they are, and of a group
#: of them `places` in the draw and `sorted` classes; by distance, `nearest` rows, and their
#: `distance` from `x` (d,).
VoterBuffers = namedtuple(
    "VoterBuffers", "weight heaviest code position classes spots places sorted nearest distance x"
)


def voter_buffers(task: Task, most: int, weight: np.ndarray) -> VoterBuffers:
    """Return room for so many voters of a column; `weight` (N,) is that of the cell in hand."""
    slots = len(task.pool)
    # The last run counts all copies; lanes are written and read whole.
    length = most + int(task.sizes[-1]) + COPIES + 2 * LANES
    return VoterBuffers(
        weight=weight,
        heaviest=np.zeros(1, np.int64),
        code=np.zeros(2 * slots, np.uint16),
        position=np.zeros(slots, np.uint16),
        classes=np.zeros(length, np.uint16),
        spots=np.zeros(length, np.uint16),
        places=np.zeros(length, np.uint16),
        sorted=np.zeros(length, np.uint16),
        nearest=np.zeros(most, np.int64),
        distance=np.zeros(most),
        x=np.zeros(task.X.shape[1]),
    )


@kernel(borrow=True)
def give_votes(task, table, rows, voters):
    """Give rows, in the order of first draws, a vote."""
    voters.heaviest[0] = 0
    for i in range(len(rows)):
        row = rows[i]
        slot = table.slot[row]
        voters.code[2 * slot] = task.y[row]
        voters.code[2 * slot + 1] = voters.weight[row]
        voters.position[slot] = i + 1
        voters.heaviest[0] = max(voters.heaviest[0], voters.weight[row])


@kernel(borrow=True)
def take_votes(table, rows, voters):
    """Take the votes back."""
    for row in rows:
        voters.code[2 * table.slot[row] + 1] = 0
        voters.position[table.slot[row]] = 0


@kernel(glue=True)
def _walk(near, length, voters, wanted, careful):
    """Write the classes of the nearest rows that vote; returns how many, and whether all is done.

    Most rows may not vote: what is written for these is written over, which takes no branch. Walks
    that are not careful end at a tie. The others go on to the end of a group of equally near rows,
    write which entries of the list all are, and know of more copies than are written at once.
    """
    code, classes, spots = voters.code, voters.classes, voters.spots
    size, one = np.uint64(length), np.uint64(1)
    count, q, ties = np.uint64(0), np.uint64(0), np.uint64(0)
    while q < size and (count < wanted or (careful and near[q - one] & TIE)):
        stop = min(q + np.uint64(RUN), size)
        for i in range(q, stop):
            ties |= np.uint64(near[i])
            entry = np.uint64(near[i]) & ~one
            repeat(code[entry], classes, np.int64(count))
            weight = np.uint64(code[entry + one])
            if careful:
                repeat(np.uint16(i), spots, np.int64(count))
                while weight > COPIES:
                    count += np.uint64(COPIES)
                    weight -= np.uint64(COPIES)
                    repeat(code[entry], classes, np.int64(count))
                    repeat(np.uint16(i), spots, np.int64(count))
            count += weight
        if not careful and ties & one:
            return np.int64(0), False
        q = stop
    return np.int64(count), True


@kernel(borrow=True)
def _settle(near, voters, count, cut):
    """Put the voters that are as near as number `cut` in the order of draws; return their end."""
    classes, spots, places = voters.classes, voters.spots, voters.places
    low = np.int64(spots[cut])
    high = low
    while low > 0 and near[low - 1] & TIE:
        low -= 1
    while near[high] & TIE:
        high += 1
    first, stop = cut, cut
    while first > 0 and spots[first - 1] >= low:
        first -= 1
    while stop < count and spots[stop] <= high:
        stop += 1
    size = stop - first
    for i in range(size):
        places[i] = voters.position[near[spots[first + i]] >> 1]
    places[size : size + LANES] = 0
    copy = 0
    for i in range(size):
        own = spread(places[i], load(places, 0))
        later = np.uint64(0)  # voters, and itself with its copies, that do not come before
        for lane in range(0, size, LANES):
            later += bit_count(np.uint64(marks(own <= load(places, lane))))
        copy = copy + 1 if i > 0 and places[i] == places[i - 1] else 0
        voters.sorted[size - np.int64(later) + copy] = classes[first + i]
    for i in range(size):
        classes[first + i] = voters.sorted[i]
    return stop


@kernel(glue=True)
def vote_in_list(near, length, voters, most, steps):
    """Write the classes of the nearest rows of a column that vote.

    Parameters
    ----------
    near, length
        The list of the column, and how much of it there is.
    voters
        Rows have their votes; `classes` is written.
    most, steps
        ``most[:steps]`` are the numbers of voters, ascending.

    Returns
    -------
    bool
        Whether the list was long enough.
    """
    wanted = most[steps - 1]
    if voters.heaviest[0] <= COPIES:
        count, done = _walk(near, length, voters, wanted, False)
        if done:
            return count >= wanted
    count, _ = _walk(near, length, voters, wanted, True)
    settled = 0
    for s in range(steps):
        cut = most[s]
        if settled < cut < count:
            spot = voters.spots[cut]
            if near[spot] & TIE or (spot > 0 and near[spot - 1] & TIE):
                settled = _settle(near, voters, count, cut)
    return count >= wanted


@kernel(borrow=True)
def vote_by_distance(task, XT, t, rows, voters, wanted):
    """Write the classes of the rows nearest to a column, by distances that are computed.

    Parameters
    ----------
    task, rows
        Where rows are, and the distinct ones that vote.
    XT, t
        (d, columns) features, and the column.
    voters
        Rows have their votes; `classes` is written.
    wanted
        How many votes.
    """
    x = voters.x
    for j in range(len(x)):
        x[j] = XT[j, t]
    kept = min(len(rows), wanted)
    filled = 0
    for i in range(len(rows)):
        z = task.X[rows[i]]
        new = 0.0
        for j in range(len(x)):
            new += (z[j] - x[j]) * (z[j] - x[j])
        if filled == kept and new >= voters.distance[filled - 1]:
            continue
        filled = min(filled + 1, kept)
        insert(voters.nearest, voters.distance, filled - 1, new, i)
    cast = 0
    for i in range(filled):
        row = rows[voters.nearest[i]]
        for _ in range(min(voters.weight[row], wanted - cast)):
            voters.classes[cast] = task.y[row]
            cast += 1
