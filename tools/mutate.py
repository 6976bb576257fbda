"""Measure which small mistakes in the sources the tests find.

    python tools/mutate.py --count 60 --seed 1 --log mutants.jsonl

in a clean clone that `make test` has passed in. Mutants of both packages are drawn by a seed, from
the kinds below. On each, the test files that import the mutated module run first, then, for those
that survive, everything that `make test` runs. The log has a line for each mutant, so that a run
that was stopped goes on where it was. Nothing of it is part of CI: it takes hours.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("lcdb", "builders/lcdb_builders")
LABELS = (
    ("additive", "random", "bootstrap"),
    ("fixed", "varying", "pool"),
    ("default", "tuned"),
    ("none", "standard", "minmax"),
    ("accuracy", "auc", "brier", "cross_entropy"),
    ("maximize", "minimize"),
    ("n", "repetition"),
)
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A replacement of some characters of one file."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    old: str
    new: str

    @property
    def module(self) -> str:
        """The name of the module it is in."""
        path = Path(self.file).with_suffix("")
        parts = path.parts[1:] if path.parts[0] == "builders" else path.parts
        return ".".join(part for part in parts if part != "__init__")


class Candidates(ast.NodeVisitor):
    """All mutants of one file."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.content = text.encode("utf-8")
        self.mutants: list[Mutant] = []
        lines = self.content.splitlines(keepends=True)
        self.offsets = [0]
        for line in lines:
            self.offsets.append(self.offsets[-1] + len(line))
        self.visit(ast.parse(text))

    def _place(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.offsets[node.lineno - 1] + node.col_offset
        return start, self.offsets[node.end_lineno - 1] + node.end_col_offset

    def _add(self, kind: str, node: ast.expr, new: str) -> None:
        start, end = self._place(node)
        old = self.content[start:end].decode("utf-8")
        if old != new:
            self.mutants.append(Mutant(self.file, node.lineno, kind, start, end, old, new))

    def visit_Compare(self, node: ast.Compare) -> None:
        """Turn a comparison around at its edge."""
        if len(node.ops) == 1:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            new = f"({left} {COMPARISONS[type(node.ops[0])]} {right})"
            self._add("comparison", node, new)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Be off by one, or name another label."""
        if type(node.value) is int and abs(node.value) < 1000:
            self._add("off by one", node, str(node.value + 1))
        if isinstance(node.value, str):
            for group in LABELS:
                if node.value in group:
                    other = group[(group.index(node.value) + 1) % len(group)]
                    self._add("label", node, repr(other))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Drop a factor."""
        if isinstance(node.op, ast.Mult | ast.Div) and not isinstance(node.left, ast.Constant):
            self._add("factor", node, f"({ast.unparse(node.left)})")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Swap an axis."""
        if node.arg == "axis" and isinstance(node.value, ast.Constant):
            swapped = {0: "1", 1: "0", -1: "0", 2: "1"}.get(node.value.value)
            if swapped:
                self._add("axis", node.value, swapped)
                return
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Let the first case swallow the others."""
        if node.orelse and not isinstance(node.test, ast.Constant):
            self._add("swallowed case", node.test, "True")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave docstrings alone."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave annotations alone."""
        if node.value:
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        """Mutate defaults, not annotations."""
        for default in (*node.defaults, *filter(None, node.kw_defaults)):
            self.visit(default)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leave decorators and the annotation of the result alone."""
        self.visit(node.args)
        for statement in node.body:
            self.visit(statement)


def drawn(count: int, seed: int) -> list[Mutant]:
    """Draw mutants: a file by its length, a kind evenly among its kinds, then one of that kind."""
    draw = random.Random(seed)
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    files, weights = list(texts), [text.count("\n") for text in texts.values()]
    mutants: list[Mutant] = []
    while len(mutants) < count:
        (file,) = draw.choices(files, weights)
        candidates = Candidates(file, texts[file]).mutants
        if candidates:
            kind = draw.choice(sorted({mutant.kind for mutant in candidates}))
            mutant = draw.choice([mutant for mutant in candidates if mutant.kind == kind])
            if mutant not in mutants:
                mutants.append(mutant)
    return mutants


def importing(module: str) -> list[str]:
    """Return the test files that import a module, or name it."""
    package, _, name = module.rpartition(".")
    pattern = re.compile(
        rf"\b{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{name}\b"
    )
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    named = [path for path in files if pattern.search(path.read_text("utf-8"))]
    return [path.relative_to(ROOT).as_posix() for path in named]


def fails(tests: list[str], seconds: float) -> str | None:
    """Return the first failure of some tests; None if they pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not full", "--no-header"]
    workers = len(os.sched_getaffinity(0))
    command += ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder", *tests]
    environment = {name: v for name, v in os.environ.items() if not name.startswith("LCDB_")}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "it never ends"
    if done.returncode in (0, 5):
        return None
    failed = re.findall(r"^(?:FAILED|ERROR) (\S.*)$", done.stdout, re.M)
    return failed[0][:160] if failed else (done.stdout + done.stderr)[-160:].strip()


def compiled() -> str | None:
    """Compile what a mutant changed of kernels; return why that fails."""
    done = subprocess.run(
        [sys.executable, "-m", "lcdb.cli", "compile"],
        *(), cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return f"lcdb compile: {done.stderr[-120:].strip()}" if done.returncode else None


def tried(mutant: Mutant, seconds: float) -> dict[str, object]:
    """Run the tests on a mutant and put the file back."""
    path, begin = ROOT / mutant.file, time.monotonic()
    original = path.read_bytes()
    changed = original[: mutant.start] + mutant.new.encode("utf-8") + original[mutant.end :]
    path.write_bytes(changed)
    try:
        by, stage = compiled() if "kernels" in mutant.file else None, "compile"
        near = importing(mutant.module)
        if by is None and near:
            by, stage = fails(near, seconds), "tests that import it"
        if by is None:
            by, stage = fails([], seconds), "make test"
    finally:
        path.write_bytes(original)
    minutes = round((time.monotonic() - begin) / 60, 1)
    return {**asdict(mutant), "found": by is not None, "stage": stage, "by": by, "minutes": minutes}


def logged(log: Path) -> Iterator[dict[str, object]]:
    """Yield what an earlier run wrote."""
    if log.exists():
        yield from map(json.loads, log.read_text("utf-8").splitlines())


def main() -> int:
    """Try mutants and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--minutes", type=float, default=15, help="limit of one run of the tests")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    asked = parser.parse_args()
    status = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no"],
        *(), cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    if status and not asked.list:
        sys.exit(f"commit first: a mutant changes files of this folder\n{status}")
    results = list(logged(asked.log))
    known = {(r["file"], r["start"], r["new"]) for r in results}
    for mutant in drawn(asked.count, asked.seed):
        if asked.list:
            print(f"{mutant.file}:{mutant.line} {mutant.kind}: {mutant.old!r} -> {mutant.new!r}")
        elif (mutant.file, mutant.start, mutant.new) not in known:
            results.append(tried(mutant, 60 * asked.minutes))
            with asked.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(results[-1]) + "\n")
            print(json.dumps(results[-1]), flush=True)
    if not asked.list:
        print(f"{sum(bool(r['found']) for r in results)} of {len(results)} mutants are found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
