"""The classes of a row's nearest neighbours, side by side.

A row's neighbours are met nearest first: down a list of candidates, or, where few rows were drawn
or there is no room for lists, in order of distances that are computed. Of equally near ones the one
drawn first comes first; as only classes are written, and votes are counted up to a few numbers of
them, that matters only where one of these cuts a group of equally near rows.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.bits import bit_count
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import BOOTSTRAP, Task
from lcdb_builders.kernels.core.simd import COPIES, LANES, load, marks, repeat, spread
from lcdb_builders.kernels.neighbours.block import TIE

__all__ = [
    "LARGEST_POOL",
    "VoterBuffers",
    "give_votes",
    "take_votes",
    "vote_by_distance",
    "vote_in_list",
    "voter_buffers",
]

# Entries of a list that are looked at before anything is counted.
RUN = 16
# Places in a draw and in a list take so many bits: larger pools have no lists anyway.
SPOT = np.uint64(16)
LARGEST_POOL = 2**16 - 1

#: Of rows that vote: `weight` (N,), `heaviest` (1,) the largest of them, and by slot `code` (class,
#: then weight, 0 for others) and `position` (place in the draw, from 1). Of the column in hand:
#: `classes` of its nearest neighbours, `spots`, their group and which entry of the list they are,
#: and `places`, `sorted` of a group of them; by distance, `nearest` rows, and their `distance` from
#: `x` (d,).
VoterBuffers = namedtuple(
    "VoterBuffers",
    "weight heaviest code position classes spots places sorted nearest distance x",
)


def voter_buffers(task: Task, most: int) -> VoterBuffers:
    """Return room for so many voters of a column."""
    slots = len(task.pool)
    # The last run counts all copies, and classes by mistake; lanes are written and read whole.
    room = most + int(task.sizes[-1]) + RUN * task.classes + COPIES + 2 * LANES
    return VoterBuffers(
        weight=np.zeros(len(task.y), np.int64),
        heaviest=np.zeros(1, np.int64),
        # Entries of lists with the bit `TIE` are off by one.
        code=np.zeros(2 * slots + 1, np.uint16),
        position=np.zeros(slots, np.uint16),
        classes=np.zeros(room, np.uint16),
        spots=np.zeros(room, np.uint32),
        places=np.zeros(room, np.uint16),
        sorted=np.zeros(room, np.uint16),
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
def _walk(near, length, code, classes, wanted):
    """Write the classes of the nearest rows that vote; returns how many, and entries looked at.

    What comes after a tie may be wrong. There are no branches: most rows may not vote, and what is
    written for these is written over.
    """
    count = np.uint64(0)
    q = np.uint64(0)
    while count < wanted and q < length:
        stop = min(q + np.uint64(RUN), np.uint64(length))
        for i in range(q, stop):
            entry = np.uint64(near[i])
            repeat(code[entry], classes, np.int64(count))
            count += np.uint64(code[entry + np.uint64(1)])
        q = stop
    return count, q


@kernel(glue=True)
def _walk_tied(near, voters, wanted):
    """Do what `_walk` does, to the end of the last group of equally near rows, ties and all.

    Writes the group of each voter and which entry of the list it is; returns how many there are.
    """
    code, classes, spots = voters.code, voters.classes, voters.spots
    heavy = voters.heaviest[0] > COPIES
    size = np.uint64(len(near))
    one = np.uint64(1)
    count = np.uint64(0)
    q = np.uint64(0)
    group = np.uint64(0)
    while q < size and (count < wanted or near[q - one] & TIE):
        stop = min(q + np.uint64(RUN), size)
        for i in range(q, stop):
            tied = np.uint64(near[i]) & one
            entry = np.uint64(near[i]) - tied
            weight = np.int64(code[entry + one])
            first = np.int64(count)
            repeat(code[entry], classes, first)
            repeat(np.uint32(group << SPOT | i), spots, first)
            while heavy and weight > COPIES:
                first += COPIES
                weight -= COPIES
                repeat(code[entry], classes, first)
                repeat(np.uint32(group << SPOT | i), spots, first)
            count = np.uint64(first + weight)
            group += one - tied
        q = stop
    return np.int64(count)


@kernel(glue=True)
def _sort_group(near, voters, first, stop):
    """Put the voters first..stop-1 in the order of their places; copies have the same."""
    places, classes = voters.places, voters.classes
    size = stop - first
    for i in range(size):
        spot = np.uint64(voters.spots[first + i]) & np.uint64(LARGEST_POOL)
        places[i] = voters.position[np.uint64(near[spot]) >> np.uint64(1)]
    copy = 0
    for i in range(size):
        own = spread(places[i], load(places, 0))
        later = np.uint64(0)  # voters, and itself with its copies, that do not come before
        for lane in range(0, size, LANES):
            word = np.uint64(marks(own <= load(places, lane)))
            left = np.uint64(min(size - lane, LANES))
            later += bit_count(word & ((np.uint64(1) << left) - np.uint64(1)))
        copy = copy + 1 if i > 0 and places[i] == places[i - 1] else 0
        voters.sorted[size - np.int64(later) + copy] = classes[first + i]
    for i in range(size):
        classes[first + i] = voters.sorted[i]


@kernel(borrow=True)
def _vote_with_ties(near, voters, most, steps):
    """Write the classes of the nearest rows that vote, of equally near ones the first drawn first.

    Their order is seen to only where a number of voters cuts a group of them.
    """
    count = _walk_tied(near, voters, most[steps - 1])
    spots = voters.spots
    done = 0
    for s in range(steps):
        cut = most[s]
        if cut <= done or cut >= count:
            continue
        group = spots[cut] >> SPOT
        first = cut
        while first > 0 and spots[first - 1] >> SPOT == group:
            first -= 1
        if first == cut:
            continue
        stop = cut + 1
        while stop < count and spots[stop] >> SPOT == group:
            stop += 1
        _sort_group(near, voters, first, stop)
        done = stop


@kernel(glue=True)
def vote_in_list(task, near, length, clear, voters, most, steps):
    """Write the classes of the nearest rows of a column that vote.

    Parameters
    ----------
    task
        Whose rows vote.
    near, length, clear
        The list of the column, how much of it there is, and how much of that is clear of ties.
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
    copied = task.sampling == BOOTSTRAP
    least = wanted // 2 if copied else wanted  # entries that it will surely meet, or nearly so
    if least <= clear and voters.heaviest[0] <= COPIES:
        count, q = _walk(near, length, voters.code, voters.classes, wanted)
        if q <= clear:
            return count >= wanted
    if length < len(task.pool):
        return False
    _vote_with_ties(near, voters, most, steps)
    return True


@kernel(borrow=True)
def vote_by_distance(task, XT, t, rows, voters, wanted):
    """Write the classes of the rows nearest to a column, by distances that are computed."""
    x = voters.x
    for j in range(len(x)):
        x[j] = XT[j, t]
    kept = min(len(rows), wanted)
    held = 0
    for i in range(len(rows)):
        z = task.X[rows[i]]
        new = 0.0
        for j in range(len(x)):
            new += (z[j] - x[j]) * (z[j] - x[j])
        if held == kept and new >= voters.distance[held - 1]:
            continue
        held = min(held + 1, kept)
        place = held - 1
        while place > 0 and voters.distance[place - 1] > new:
            voters.distance[place] = voters.distance[place - 1]
            voters.nearest[place] = voters.nearest[place - 1]
            place -= 1
        voters.distance[place] = new
        voters.nearest[place] = i
    cast = 0
    for i in range(held):
        row = rows[voters.nearest[i]]
        for _ in range(min(voters.weight[row], wanted - cast)):
            voters.classes[cast] = task.y[row]
            cast += 1
