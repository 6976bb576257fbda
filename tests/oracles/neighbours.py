"""Nearest neighbours with Python's own floats and sort."""


def distance(a, b):
    total = 0.0
    for x, z in zip(a, b, strict=True):
        total += (x - z) * (x - z)
    return total


def shares(X, y, test, k):
    """Class shares among the k nearest rows; equally near ones in the order of the rows."""
    classes = sorted(set(y.tolist()))
    rows, labels = X.tolist(), y.tolist()
    result = []
    for query in test.tolist():
        order = sorted(range(len(rows)), key=lambda i: distance(query, rows[i]))[:k]
        votes = [sum(labels[i] == c for i in order) for c in classes]
        result.append([vote / len(order) for vote in votes])
    return result
