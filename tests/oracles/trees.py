"""Trees and boosted stumps by enumeration, in fractions and Python integers."""

import itertools
import math
from fractions import Fraction

import numpy as np

MASK = 2**64 - 1


def split_mix(state):
    state &= MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def child(word, which):
    return split_mix(word + which * 0x9E3779B97F4A7C15)


def visiting_order(word, d):
    order, fraction = list(range(d)), Fraction(word, 2**64)
    for i in range(d):
        if i in range(4, d, 4):
            fraction = Fraction(child(word, 2 + i // 4), 2**64)
        scaled = fraction * (d - i)
        draw = math.floor(scaled)
        fraction = scaled - draw
        order[i], order[i + draw] = order[i + draw], order[i]
    return order


def lane(key, n, repetition, tree, count):
    counter = np.array([0, n, repetition, tree], np.uint64)
    raw = np.random.Philox(key=np.array(key, np.uint64), counter=counter).random_raw(count)
    return [int(word) for word in raw]


def half_way(a, b):
    middle = a / 2 + b / 2
    return middle if a <= middle < b else a


def counts_of(rows, classes):
    return [sum(label == c for _, label in rows) for c in range(classes)]


def purity(counts):
    return Fraction(sum(k * k for k in counts), sum(counts)) if any(counts) else Fraction(0)


def splits_of(rows, f):
    values = sorted({x[f] for x, _ in rows})
    return [(half_way(a, b), a) for a, b in itertools.pairwise(values)]


def grow(rows, classes, leaf, visits, word):
    """A tree as nested tuples: (feature, threshold, left, right), or shares as a list."""
    counts = counts_of(rows, classes)
    shares = [k / len(rows) for k in counts]
    if max(counts) == len(rows) or len(rows) < 2 * leaf:
        return shares
    best, seen, varied = None, 0, False
    for f in visiting_order(word, len(rows[0][0])):
        if seen >= visits and varied:
            break
        seen += 1
        candidates = splits_of(rows, f)
        varied = varied or bool(candidates)
        for threshold, _ in candidates:
            left = [row for row in rows if row[0][f] <= threshold]
            right = [row for row in rows if row[0][f] > threshold]
            if min(len(left), len(right)) < leaf:
                continue
            gain = purity(counts_of(left, classes)) + purity(counts_of(right, classes))
            if best is None or gain > best[0]:
                best = gain, f, threshold, left, right
    if best is None:
        return shares
    _, f, threshold, left, right = best
    return (
        f,
        threshold,
        grow(left, classes, leaf, visits, child(word, 1)),
        grow(right, classes, leaf, visits, child(word, 2)),
    )


def shares_at(tree, x):
    while isinstance(tree, tuple):
        f, threshold, left, right = tree
        tree = left if x[f] <= threshold else right
    return tree


def forest(X, y, classes, trees, leaf, visits, key, n, repetition, X_test):
    """Mean leaf shares; rows of X drawn from in ascending order."""
    rows = sorted((tuple(map(float, x)), int(label)) for x, label in zip(X, y, strict=True))
    total = np.zeros((len(X_test), classes))
    for tree in range(trees):
        root, *words = lane(key, n, repetition, tree, 1 + (len(rows) + 1) // 2)
        bag = []
        for i in range(len(rows)):
            fraction = Fraction(words[i // 2], 2**64) * len(rows)
            if i % 2:
                fraction = (fraction - math.floor(fraction)) * len(rows)
            bag.append(rows[math.floor(fraction)])
        grown = grow(bag, classes, leaf, visits, root)
        total += [shares_at(grown, x) for x in X_test]
    return total / trees


def one_tree(X, y, classes, leaf, key, n, repetition, X_test):
    rows = [(tuple(map(float, x)), int(label)) for x, label in zip(X, y, strict=True)]
    word = lane(key, n, repetition, 0, 1)[0]
    grown = grow(rows, classes, leaf, len(rows[0][0]), word)
    return np.array([shares_at(grown, x) for x in X_test])


def first_largest(values):
    top = max(values) * (1 - 1e-9)
    return next(c for c, value in enumerate(values) if value >= top)


def boosted(X, y, classes, stumps, key, n, repetition, X_test):
    """SAMME with every gain an exact fraction; all classes 0..classes-1 occur in y."""
    rows = [(tuple(map(float, x)), int(label)) for x, label in zip(X, y, strict=True)]
    X_test = [tuple(map(float, x)) for x in X_test]
    d, weights = len(rows[0][0]), [2 ** (48 - len(rows).bit_length())] * len(rows)
    words, kept = lane(key, n, repetition, 0, stumps), []

    def weigh(inside):
        return [
            sum(w for w, (x, label) in zip(weights, rows, strict=True) if label == c and inside(x))
            for c in range(classes)
        ]

    for word in words:
        whole = weigh(lambda x: True)
        total = sum(whole)
        found = []
        for position, f in enumerate(visiting_order(word, d)):
            for threshold, _ in splits_of(rows, f):
                left = weigh(lambda x, f=f, t=threshold: x[f] <= t)
                right = [a - b for a, b in zip(whole, left, strict=True)]
                gain = (purity(left) + purity(right) - purity(whole)) / total
                found.append((gain, position, threshold, f, left, right))
        if found:
            top = max(found)[0]
            equal = [each for each in found if each[0] >= top * (1 - Fraction(1, 10**9)) - 1e-15]
            _, _, threshold, f, left, right = min(equal, key=lambda each: each[1:3])
        else:
            threshold, f, left, right = math.inf, 0, whole, [0] * classes
        a, b = first_largest(left), first_largest(right)
        error = total - left[a] - right[b]
        if error == 0:
            kept.append((f, threshold, a, b, 2**40))
            break
        if error / total >= (1 - 1 / classes) * (1 - 1e-9):
            break
        odds = (total - error) / error
        kept.append((f, threshold, a, b, round((math.log(odds) + math.log(classes - 1)) * 2**40)))
        for i, (x, label) in enumerate(rows):
            if label != (a if x[f] <= threshold else b):
                weights[i] = round(weights[i] * (odds * (classes - 1)))
        while sum(weights) > 2**52:
            weights = [-(-w // 16) for w in weights]

    if not kept:
        prior = [sum(label == c for _, label in rows) / len(rows) for c in range(classes)]
        return np.array([prior] * len(X_test))
    result, all_votes = [], sum(vote for *_, vote in kept)
    for x in X_test:
        votes = [0] * classes
        for f, threshold, a, b, vote in kept:
            votes[a if x[f] <= threshold else b] += vote
        decision = [(v - (all_votes - v) / (classes - 1)) / all_votes for v in votes]
        powers = [math.exp(value / (classes - 1)) for value in decision]
        result.append([power / sum(powers) for power in powers])
    return np.array(result)
