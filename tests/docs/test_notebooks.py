"""Notebooks of the gallery: stored without outputs, named in its list, and true: every cell runs and every claim holds.

``make docs`` executes them too. The test that runs them all is slow, so it is not part of ``make test``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
NOTEBOOKS = sorted(GALLERY.glob("*.ipynb"))
every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def _executed(path: Path) -> str:
    """Execute a notebook and return what it printed."""
    notebook = _read(path)
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(GALLERY)}}).execute()
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    return "".join(output.get("text", "") for output in outputs)


def test_each_is_in_the_list() -> None:
    listed = re.findall(r"\(([\w-]+)\.ipynb\)", (GALLERY / "README.md").read_text())
    assert set(listed) == {path.stem for path in NOTEBOOKS} and len(NOTEBOOKS) >= 6


@every
def test_it_is_stored_without_outputs_and_asserts_what_it_says(path: Path) -> None:
    notebook = _read(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert notebook.cells[0].source.startswith("# ") and any("plt.show()" in cell.source for cell in code)
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert any("assert " in cell.source for cell in code)
    words = " ".join(cell.source for cell in notebook.cells)
    for link in re.findall(r"\]\(([^)#]+)\)", words):
        if not link.startswith("http"):
            assert (GALLERY / link).exists(), link


@pytest.mark.slow
def test_without_data_it_says_so_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDPSIM_DATA", str(tmp_path))
    printed = _executed(GALLERY / "reproduce-hogs.ipynb")
    assert printed.count("\n") == 1 and printed.startswith("Cora is not on disk: set LDPSIM_DATA")


@pytest.mark.slow
@every
def test_every_cell_runs_and_every_claim_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if path.stem == "reproduce-hogs" and not os.environ.get("LDPSIM_DATA"):
        pytest.skip("LDPSIM_DATA is not set: Cora is needed")
    assert _executed(path)
