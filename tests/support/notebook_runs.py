"""Notebooks are documents: what they print is stored with them, and the tests run them again.

``python -m tests.support.notebook_runs`` runs all of them, or those that are named, and stores
what they print and draw; do that after changing a cell.
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

__all__ = ["FOLDER", "NOTEBOOKS", "figures", "kernel", "outputs", "run"]

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))
#: What one notebook leaves to the next in the same kernel: no names, but the imports that are slow.
RESET = "get_ipython().run_line_magic('reset', '-f')"


@contextmanager
def kernel() -> Iterator[KernelManager]:
    """Start a kernel that leaves nothing in the user's folders."""
    with tempfile.TemporaryDirectory(prefix="nb") as folder:
        settings = {"IPYTHONDIR": folder, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        manager = KernelManager(
            kernel_name="python3",
            transport="ipc",
            ip=f"{folder}/socket",
            connection_file=f"{folder}/kernel.json",
        )
        manager.start_kernel(
            extra_arguments=["--HistoryManager.enabled=False"],
            cwd=str(FOLDER),
            env={**os.environ, **settings},
        )
        try:
            yield manager
        finally:
            manager.shutdown_kernel(now=True)


def run(name: str, manager: KernelManager) -> NotebookNode:
    """Return a notebook as it is after all its cells were run, first to last."""
    notebook = nbformat.read(FOLDER / name, as_version=4)
    reset = nbformat.v4.new_code_cell(RESET)
    notebook.cells.insert(0, reset)
    client = NotebookClient(notebook, km=manager, timeout=120, coalesce_streams=True)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    notebook.cells.remove(reset)
    _tidy(notebook)
    return notebook


def _tidy(notebook: NotebookNode) -> None:
    """Leave out what differs from run to run: times, counters, places, generated names."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for place, cell in enumerate(codes, 1):
        cell.metadata = {}
        cell.execution_count = place
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = place
            output.pop("metadata", None)
            if output.output_type != "stream":
                output.metadata = {}
            for kind in list(output.get("data", {})):
                if kind == "text/html" and "xr-wrap" in output.data[kind]:
                    del output.data[kind]  # has names drawn at random; the text says the same
                elif kind.startswith("text/"):
                    output.data[kind] = _without_place(output.data[kind])
            if "text" in output:
                output.text = _without_place(output.text)
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"


def _without_place(text: str) -> str:
    return text.replace(f"{ROOT}{os.sep}", "")


def outputs(notebook: NotebookNode) -> list[tuple[str, str]]:
    """Return what each cell printed, and which of them drew something."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                found.append(("figure", ""))
            else:
                found.append((output.output_type, output.get("text") or data.get("text/plain", "")))
    return found


def figures(notebook: NotebookNode) -> list[bytes]:
    """Return the pictures that a notebook shows."""
    data = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
    return [base64.b64decode(one["image/png"]) for one in data if "image/png" in one]


def main(names: list[str]) -> None:
    """Run notebooks and store them with their outputs."""
    with kernel() as manager:
        for name in names or NOTEBOOKS:
            notebook = run(Path(name).name, manager)
            nbformat.validate(notebook)
            nbformat.write(notebook, FOLDER / Path(name).name)
            print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
