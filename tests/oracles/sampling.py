"""Rows of a cell with NumPy's Philox and Python integers, nothing else."""

import hashlib
import json
from fractions import Fraction

import numpy as np


def words(seed, sha256, purpose, where, n, repetition, count, lane=0):
    text = json.dumps(["lcdb-stream-1", seed, sha256, purpose, *where])
    key = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], "<u8")
    counter = np.array([0, n, repetition, lane], np.uint64)
    raw = np.random.Philox(key=key, counter=counter).random_raw(count)
    return [int(word) for word in raw]


def permuted_head(values, draws):
    values = list(values)
    for i, word in enumerate(draws):
        j = i + (word * (len(values) - i) >> 64)
        values[i], values[j] = values[j], values[i]
    return values[: len(draws)]


def pool(rows, seed, sha256):
    m = rows * 7 // 10
    return sorted(permuted_head(range(rows), words(seed, sha256, "pool", (), 0, 0, m)))


def shuffled(source, n, repetition, stream, count, lane=0):
    draws = words(*stream, n, repetition, count, lane)
    return permuted_head(source, draws)


def additive(source, n, repetition, y, stream):
    return shuffled(source, 0, repetition, stream, n)


def random(source, n, repetition, y, stream):
    return shuffled(source, n, repetition, stream, n)


def bootstrap(source, n, repetition, y, stream):
    draws = words(*stream, n, repetition, n)
    return [source[word * len(source) >> 64] for word in draws]


def proportional(n, available):
    """Rows of each class: as near to proportional as whole numbers that add up to n can be.

    Of all divisions, the one with the smallest sum of squared distances from the exact shares; of
    several, the one that favours low classes.
    """
    total = sum(available)
    best = [(0, ())]
    for k in available:
        share = Fraction(n * k, total)
        near = {share.__floor__(), share.__ceil__()}
        best = [
            (cost + (share - count) ** 2, (*counts, count))
            for cost, counts in best
            for count in near
        ]
    fitting = [(cost, [-c for c in counts]) for cost, counts in best if sum(counts) == n]
    return [-c for c in min(fitting)[1]]


def stratified(source, n, repetition, y, stream):
    order = shuffled(source, n, repetition, stream, len(source))
    classes = sorted(set(y))
    wanted = dict(
        zip(
            classes, proportional(n, [sum(y[i] == c for i in source) for c in classes]), strict=True
        )
    )
    taken = []
    for row in order:
        if wanted[y[row]]:
            wanted[y[row]] -= 1
            taken.append(row)
    return shuffled(taken, n, repetition, stream, n, lane=1)


TRAINING = {
    "additive": additive,
    "random": random,
    "bootstrap": bootstrap,
    "stratified": stratified,
}


def cell(rows, seed, sha256, sampling, split, n, repetition, y=None):
    """Training rows in drawn order, test rows in file order."""
    trained_on = "fixed" if split == "pool" else split
    source = list(range(rows)) if trained_on == "varying" else pool(rows, seed, sha256)
    stream = (seed, sha256, "rows", (sampling, trained_on))
    train = TRAINING[sampling](source, n, repetition, y, stream)
    if split == "varying":
        test = sorted(set(range(rows)) - set(train))
    elif split == "fixed":
        test = sorted(set(range(rows)) - set(source))
    else:
        test = source
    return train, test
