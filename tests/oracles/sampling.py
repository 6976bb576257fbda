"""Rows of a cell with NumPy's Philox and Python integers, nothing else."""

import hashlib
import json

import numpy as np


def words(seed, sha256, purpose, where, n, repetition, count):
    text = json.dumps(["lcdb-stream-1", seed, sha256, purpose, *where])
    key = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], "<u8")
    counter = np.array([0, n, repetition, 0], np.uint64)
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


def cell(rows, seed, sha256, sampling, split, n, repetition):
    """Training rows in drawn order, test rows in file order."""
    trained_on = "fixed" if split == "pool" else split
    source = list(range(rows)) if trained_on == "varying" else pool(rows, seed, sha256)
    along = 0 if sampling == "additive" else n
    draws = words(seed, sha256, "rows", (sampling, trained_on), along, repetition, n)
    if sampling == "bootstrap":
        train = [source[word * len(source) >> 64] for word in draws]
    else:
        train = permuted_head(source, draws)
    if split == "varying":
        test = sorted(set(range(rows)) - set(train))
    elif split == "fixed":
        test = sorted(set(range(rows)) - set(source))
    else:
        test = source
    return train, test
