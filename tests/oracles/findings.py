"""What summaries say, read with h5py alone: for sentences that others wrote of them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

DIMS = ("metric", "learner", "sampling", "split", "tuning")


def names(file: h5py.File, dim: str) -> list[str]:
    return [str(label) for label in file[dim].asstr()[...]]


def text(file: h5py.File, name: str) -> str:
    value = np.asarray(file.attrs[name]).reshape(-1)[0]
    return value.decode() if isinstance(value, bytes) else str(value)


def table(file: h5py.File, variable: str, dims: tuple[str, ...]) -> pd.DataFrame:
    """Return a row for each combination of labels that has a value."""
    labels = itertools.product(*(names(file, dim) for dim in dims))
    statistics = names(file, "statistic")
    values = file[variable][...].reshape(-1, len(statistics))
    parts = [pd.DataFrame(labels, columns=dims), pd.DataFrame(values, columns=statistics)]
    frame = pd.concat(parts, axis=1)
    frame["dataset"], frame["name"] = text(file, "dataset_id"), text(file, "dataset_name")
    return frame[np.isfinite(frame["rate"])]


class Summaries:
    """The summaries of a folder with one scaling of the features."""

    def __init__(self, folder: Path, scaling: str = "none") -> None:
        self.files = {}
        for path in sorted(folder.glob("*.nc")):
            file = h5py.File(path, "r")
            if text(file, "scaling") == scaling:
                self.files[text(file, "dataset_id")] = file
        self.names = {id: text(file, "dataset_name") for id, file in self.files.items()}
        some = [table(file, "curve_statistic", DIMS) for file in self.files.values()]
        self.curves = pd.concat(some, ignore_index=True)
        every = "every_rate" in self.curves
        #: The column that is held against what is printed.
        self.rate = "every_rate" if every else "rate"

    def of(self, metric: str, **labels: object) -> pd.DataFrame:
        found = self.curves[self.curves["metric"] == metric]
        for dim, label in labels.items():
            found = found[found[dim].isin(label if isinstance(label, (list, set)) else [label])]
        return found

    def by(self, dim: str, metric: str, column: str = "") -> dict[str, float]:
        means = self.of(metric).groupby(dim)[column or self.rate].mean()
        return {str(key): float(value) for key, value in means.items()}

    def asked_for(self) -> int:
        """Return how many curves and metrics the plans ask for."""
        plans = [json.loads(text(file, "plan")) for file in self.files.values()]
        curves = [curve for plan in plans for curve in plan["curves"]]
        return 4 * sum(len(curve["draws"]) for curve in curves if curve["learner"] != "draws")

    def complete(self) -> int:
        return 4 * sum(int((file["status"][...] == 1).sum()) for file in self.files.values())

    def pairs(self, metric: str, tuning: str, split: str, column: str, without: set[str]) -> float:
        """Return the mean over (dataset, sampling, pair) of what is known of differences."""
        dims = ("metric", "pair", "sampling", "split", "tuning")
        frames = [table(file, "pair_statistic", dims) for id, file in self.files.items()
                  if id not in without]  # fmt: skip
        frame = pd.concat(frames)
        kept = (frame["metric"] == metric) & (frame["tuning"] == tuning) & (frame["split"] == split)
        return float(frame.loc[kept, column].mean())

    def changes(self, metric: str, tuning: str, comparison: str, way: str,
                without: set[str]) -> float:  # fmt: skip
        """Return the share of sizes, of all datasets, at which the best three change."""
        total = np.zeros(2)
        for id, file in self.files.items():
            if id not in without:
                place = [
                    names(file, dim).index(label)
                    for dim, label in zip(("metric", "tuning", "comparison", "way"),
                                          (metric, tuning, comparison, way), strict=True)
                ]  # fmt: skip
                total += file["top_k_change"][tuple(place)]
        return total[0] / total[1]

    def cells(self, metric: str) -> pd.DataFrame:
        """Return a row for each cell that ships: its size as a share of m, W and rejection."""
        frames = []
        dims = ("learner", "sampling", "split", "tuning")
        for id, file in self.files.items():
            place = names(file, "metric").index(metric)
            sizes = file["n"][...]
            labels = [*(names(file, dim) for dim in dims), sizes.tolist()]
            frame = pd.DataFrame(itertools.product(*labels), columns=[*dims, "n"])
            for name in ("count", "constant", "shapiro_p", "shapiro_w"):
                frame[name] = file[name][place].ravel()
            frame = frame[frame["count"] > 0].assign(dataset=id, share=frame["n"] / sizes[-1])
            frames.append(frame)
        found = pd.concat(frames)
        return found.assign(rejected=(found["shapiro_p"] < 0.05) & (found["constant"] != 1))

    def moved(self, metric: str) -> pd.DataFrame:
        """Return by how much rates at every n move if estimated from the cells that ship."""
        units = ["dataset", "learner", "sampling", "split"]
        known = self.of(metric, tuning="default").set_index(units)["every_rate"]
        rows = []
        for unit, cells in self.cells(metric).query("tuning == 'default'").groupby(units):
            n, g = cells["n"].to_numpy(), cells["rejected"].to_numpy().astype(float)
            flat = cells["constant"].to_numpy() == 1
            every = np.arange(n[0], n[-1] + 1)
            # A constant cell at the largest n says nothing of those before it.
            end = -1 if flat[-1] and not flat[-2] else None
            drawn = np.append(np.interp(every[:-1], n[:end], g[:end]), g[-1])
            rows.append((*unit, 100 * drawn.mean() - known[unit]))
        return pd.DataFrame(rows, columns=[*units, "moved"])

    def grid(self, learner: str) -> tuple[float, float]:
        """Return the largest value of a learner's grid, and the default."""
        file = next(iter(self.files.values()))
        place = names(file, "learner").index(learner), names(file, "tuning").index("tuned")
        params = json.loads(file["learner_params"].asstr()[place])
        rule = params["tuning_rule"]
        return max(rule["grid"]), params["params"][rule["parameter"]]

    def rounded_tails(self, id: str) -> tuple[float, float]:
        """Return how far 5 % quantiles of accuracy would be off if only rounding made them so."""
        file, off = self.files[id], []
        rows, sizes = int(file.attrs["n_rows"][0]), file["n"][...]
        for i, sampling in enumerate(names(file, "sampling")):
            for j, split in enumerate(names(file, "split")):
                if sampling == "bootstrap":
                    continue
                mean, sd = (file[name][names(file, "metric").index("accuracy"), :, i, j]
                            for name in ("mean", "sd"))  # fmt: skip
                for n, m, s in zip(np.broadcast_to(sizes, mean.shape).flat, mean.flat,
                                   sd.astype(float).flat, strict=True):  # fmt: skip
                    if s > 0:
                        count = rows - (n if split == "varying" else rows * 7 // 10)
                        quantile = m - 1.6448536269514722 * s
                        off.append(abs(round(quantile * count) / count - quantile) / s)
        return float(np.mean(off)), 100 * float(np.mean(np.array(off) > 0.5))

    def last(self, id: str, metric: str, tuning: str, sampling: str, split: str) -> pd.DataFrame:
        """Return mean, sd and count by learner at the largest size that was computed."""
        file = self.files[id]
        place = [names(file, "metric").index(metric), slice(None)]
        place += [names(file, "sampling").index(sampling), names(file, "split").index(split)]
        place += [names(file, "tuning").index(tuning)]
        mean = file["mean"][tuple(place)]
        n = np.flatnonzero(np.isfinite(mean).any(axis=0))[-1]
        columns = {name: file[name][tuple(place)][:, n] for name in ("mean", "sd", "count")}
        return pd.DataFrame(columns, index=names(file, "learner"))
