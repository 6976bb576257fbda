"""Classifiers that misbehave, for tests that name them in a plan (`estimators.Raises`)."""

import ctypes
import faulthandler
import os
import signal
import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Prior(ClassifierMixin, BaseEstimator):
    """Behaves: class shares of the training set."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / len(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class Raises(Prior):
    def fit(self, X, y):
        if len(y) >= 3:
            raise ValueError("three rows are\ntoo many")
        return super().fit(X, y)


class LosesItsDisk(Prior):
    """Fails as its surroundings do, which is no fault of the cell."""

    def fit(self, X, y):
        if len(y) >= 3:
            raise OSError("three rows are\ntoo many")
        return super().fit(X, y)


class Hangs(Prior):
    """Sleeps in C without giving the GIL back."""

    def __init__(self, seconds=1000, rows=3):
        self.seconds = seconds
        self.rows = rows

    def fit(self, X, y):
        if len(y) >= self.rows:
            ctypes.PyDLL(None).sleep(self.seconds)
        return super().fit(X, y)


class RunsOut(Prior):
    """Hangs, and its time is over at once: what ends a block at its limit does so now."""

    def fit(self, X, y):
        if len(y) >= 3:
            faulthandler.dump_traceback_later(0.01, exit=True)
            time.sleep(1000)
        return super().fit(X, y)


class Dies(Prior):
    """Kills its process, as a segmentation fault or the kernel's memory killer would."""

    def __init__(self, rows=3, once=""):
        self.rows = rows
        self.once = once

    def fit(self, X, y):
        if len(y) >= self.rows:
            if not self.once:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


class Chatters(Prior):
    """Prints where answers go."""

    def fit(self, X, y):
        print("a line on standard output", flush=True)
        os.write(1, b"and one past Python\n")
        return super().fit(X, y)


class Slow(Prior):
    def __init__(self, seconds=0.05):
        self.seconds = seconds

    def fit(self, X, y):
        time.sleep(self.seconds)
        return super().fit(X, y)


class Waits(Prior):
    """Waits for a file, where the environment names one."""

    def fit(self, X, y):
        gate = os.environ.get("LCDB_TEST_GATE")
        while gate and not os.path.exists(gate):
            time.sleep(0.05)
        return super().fit(X, y)


class NotANumber(Prior):
    """Answers NaN."""

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


class NeedsFile(Prior):
    def __init__(self, path=""):
        self.path = path

    def fit(self, X, y):
        if not os.path.exists(self.path):
            raise FileNotFoundError("no such file yet")
        return super().fit(X, y)
