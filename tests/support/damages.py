"""Random damages of a cube, and what readers make of them: run by itself, since HDF5 may crash.

``python damages.py ROOT DATASET KIND SEED COUNT HOW...`` prints JSON: by way of reading, how often
a damage was told, how often the values were right, and how often they were wrong without a word.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import xarray as xr

SECTOR = 512


def flip(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def zero(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = draw.randrange(len(data) // SECTOR) * SECTOR
    data[start : start + SECTOR] = bytes(SECTOR)
    path.write_bytes(data)


def swap(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    one, other = (i * SECTOR for i in draw.sample(range(len(data) // SECTOR), 2))
    data[one : one + SECTOR], data[other : other + SECTOR] = (
        data[other : other + SECTOR],
        data[one : one + SECTOR],
    )
    path.write_bytes(data)


def truncate(path: Path, draw: random.Random) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size))


def relabel(path: Path, draw: random.Random) -> None:
    """Overwrite a label, a size or a status with another that HDF5 has nothing against."""
    with h5py.File(path, "r+") as file:
        name = draw.choice(["learner", "sampling", "n", "repetition", "status"])
        values = file[name][...]
        where = tuple(draw.randrange(length) for length in values.shape)
        if name in ("learner", "sampling"):
            others = [b"NMC", b"QDC", b"additive", b"random", b"x", *values.ravel().tolist()]
            values[where] = draw.choice([one for one in others if one != values[where]])
        else:
            values[where] += draw.choice([-1, 1, 2])
        file[name][...] = values


def exchange(path: Path, draw: random.Random) -> None:
    """Write two chunks of a variable each in the place of the other."""
    with h5py.File(path, "r+") as file:
        stored = file[draw.choice(["accuracy", "auc", "brier", "n_clipped", "n_test"])].id
        one, other = (
            stored.get_chunk_info(i).chunk_offset
            for i in draw.sample(range(stored.get_num_chunks()), 2)
        )
        first, second = stored.read_direct_chunk(one), stored.read_direct_chunk(other)
        stored.write_direct_chunk(one, second[1], second[0])
        stored.write_direct_chunk(other, first[1], first[0])


KINDS = {
    "flip": flip,
    "zero": zero,
    "swap": swap,
    "truncate": truncate,
    "relabel": relabel,
    "exchange": exchange,
}


def fingerprint(dataset: xr.Dataset) -> str:
    """Return a digest of everything that a user could see of a cube."""
    digest = hashlib.sha256(repr(sorted((k, str(v)) for k, v in dataset.attrs.items())).encode())
    for name, array in sorted(dataset.variables.items()):
        attrs = sorted((k, str(v)) for k, v in array.attrs.items())
        digest.update(repr((name, array.dims, array.shape, attrs)).encode())
        values = array.values
        as_bytes = (
            values.tobytes() if values.dtype.kind in "iuf" else repr(values.tolist()).encode()
        )
        digest.update(as_bytes)
    return digest.hexdigest()


def seen(root: Path, dataset: str, how: str) -> str:
    """Return the fingerprint of a cube as a reader sees it."""
    path = root / "cubes" / f"{dataset}.nc"
    if how == "xarray":
        with xr.open_dataset(path) as plain:
            return fingerprint(plain.load())
    import lcdb

    check = {"open": None, "check": True}[how.removesuffix(" alone")]
    if how.endswith("alone"):
        alone = root / "alone.nc"
        alone.write_bytes(path.read_bytes())
        path = alone
    with lcdb.open(path if how.endswith("alone") else root, check=check) as db:
        return fingerprint(db[next(iter(db))].load())


def outcome(root: Path, dataset: str, how: str, right: str) -> str:
    """Return how reading ends, in a process that may crash or hang over it."""
    child = os.fork()
    if not child:
        signal.alarm(60)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            os._exit(0 if seen(root, dataset, how) == right else 1)
        except OSError:
            os._exit(2)
        except BaseException as error:  # a reader without lcdb raises anything
            os._exit(2 if how == "xarray" or type(error).__module__ == "lcdb.errors" else 4)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "hung" if os.WTERMSIG(status) == signal.SIGALRM else "crashed"
    return {0: "right", 1: "WRONG", 2: "told", 4: "foreign error"}[os.WEXITSTATUS(status)]


def main(root: str, dataset: str, kind: str, seed: str, count: str, *ways: str) -> None:
    warnings.simplefilter("ignore")
    if os.environ.get("LCDB_FULL") != "1":  # what hangs is given up sooner
        import lcdb.probe

        lcdb.probe._CPU_SECONDS = 3
    draw = random.Random(f"{seed} {kind}")
    np.seterr(all="ignore")
    path = Path(root) / "cubes" / f"{dataset}.nc"
    clean = path.read_bytes()
    right = {how: seen(Path(root), dataset, how) for how in ways}
    ends = {how: Counter() for how in ways}
    for _ in range(int(count)):
        path.write_bytes(clean)
        KINDS[kind](path, draw)
        if path.read_bytes() == clean:  # two sectors or chunks of the same bytes
            continue
        for how in ways:
            ends[how][outcome(Path(root), dataset, how, right[how])] += 1
    path.write_bytes(clean)
    print(json.dumps(ends))


if __name__ == "__main__":
    main(*sys.argv[1:])
