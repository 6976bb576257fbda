"""What the database holds."""

from __future__ import annotations

from lcdb.reporting.document import Block, Code, Section, Table, Text
from lcdb.reporting.gather import Scope
from lcdb.reporting.texts import counted, listed
from lcdb.schema import LEARNER_ROWS, UNIT_DIMS
from lcdb.shipped import opening

__all__ = ["holdings"]


def holdings(scope: Scope) -> Section:
    """Return the section on datasets, curves, and which of them the report is of."""
    headers = list(scope.db.headers.values())
    labels = {
        dim: list(dict.fromkeys(label for header in headers for label in header.labels[dim]))
        for dim in UNIT_DIMS
    }
    ids = {header.id for header in headers}
    scalings = dict.fromkeys(header.scaling for header in headers)
    text = (
        f"The database has learning curves of {counted(len(labels['learner']), 'learner')} "
        f"({listed(labels['learner'])}) on {counted(len(ids), 'dataset')}. A curve is the "
        "distribution of a score over repetitions at each training set size n; in each repetition "
        "the training rows are drawn anew, and with the split varying the test rows too. "
        f"Samplings: {listed(labels['sampling'])}; splits: {listed(labels['split'])}; parameters: "
        f"{listed(labels['tuning'])}; scaling of the features: {listed(scalings)}."
    )
    known = [LEARNER_ROWS[name] for name in labels["learner"] if name in LEARNER_ROWS]
    blocks: list[Block] = [Text(text), _table(scope), Text(_of(scope)), Code(_lines(scope))]
    if known:
        names = "; ".join(f"{row.name}, {row.long_name}" for row in known)
        blocks.insert(1, Text(f"Learners in full: {names}."))
    return Section("What the database holds", tuple(blocks))


def _table(scope: Scope) -> Table:
    rows = []
    parts = {part.key: part for part in scope.parts}
    for key, header in scope.db.headers.items():
        counts = header.counts
        complete, asked = counts["complete"], sum(counts.values())
        part = parts.get(key)
        sizes = f"{part.sizes[0]}–{part.sizes[-1]}" if part is not None else ""
        rows.append(
            (
                header.name, str(key), f"{header.rows:,}", f"{header.features:,}",
                f"{header.classes:,}", f"{header.repetitions:,}", f"{complete:,} of {asked:,}",
                "summary" if header.is_summary else "repetitions",
                sizes, f"{len(part.sizes):,}" if part is not None else "",
            )
        )  # fmt: skip
    head = (
        "dataset", "id", "rows", "features", "classes", "repetitions", "complete curves", "kept",
        "n here", "sizes here",
    )  # fmt: skip
    caption = (
        'Datasets, a row for each scaling. "complete curves": of all combinations of learner, '
        'sampling, split and parameters. "kept" says whether repetitions are there or statistics '
        "of each cell alone; the last two columns say which training set sizes this report looks "
        "at."
    )
    return Table(head, tuple(rows), caption, "db", left=(0, 1, 7))


def _of(scope: Scope) -> str:
    part = scope.parts[0]
    numbers = sorted({part.repetitions for part in scope.parts})
    span = f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
    labels = {**part.labels, "scaling": scope.scaling}
    text = (
        f"All that follows is about {_metric(scope)} under {scope.conditions} "
        f"({listed(f'{dim} {label}' for dim, label in labels.items())}), from {span} "
        "repetitions. At most 60 sizes of a dataset are looked at, evenly spread on a logarithmic "
        "axis, at which all its learners have values."
    )
    for one in scope.parts:
        if one.left_out:
            text += f" On {one.name}, {listed(one.left_out)} had no values there and are left out."
    if scope.absent:
        text += f" No such curves are there of {listed(scope.absent)}."
    if scope.summaries:
        names = "Every dataset" if not scope.with_repetitions else "What the table calls a summary"
        text += (
            f" {names} is here without its repetitions, with moments, quantiles and tests of each "
            "cell."
        )
    return text


def _metric(scope: Scope) -> str:
    from lcdb.plot.style import metric_label

    better = "large" if scope.parts[0].sign > 0 else "small"
    return f"{metric_label(scope.metric)} ({better} values are good)"


def _lines(scope: Scope) -> str:
    labels = {"metric": scope.metric, **scope.labels}
    given = ", ".join(f"{name}={label!r}" for name, label in labels.items())
    if scope.scaling != "none":
        given += f", scaling={scope.scaling!r}"
    alike = [head for head in scope.db.headers.values() if head.scaling == scope.scaling]
    if len(scope.parts) + len(scope.absent) < len(alike):
        given += f", datasets={[part.key for part in scope.parts]!r}"
    return (
        f"import lcdb\nfrom lcdb import reporting\n\ndb = {opening(scope.db.path)}\n"
        f"curves = reporting.curves(db, {given})"
    )
