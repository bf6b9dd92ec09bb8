"""A graph read from small files that a test writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ldpsim.strategies.importing.graph_import import read_graph
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles
from ldpsim.strategies.importing.people import ImportedGraph


def read(folder: Path, texts: dict[str, str], **options: Any) -> tuple[ImportedGraph, list[str]]:
    """Return the graph of files of these texts, and the notes.

    Raises:
        WrongFiles: with every fault.
    """
    for name, text in texts.items():
        (folder / name).write_text(text, newline="")
    faults: list[str] = []
    notes: list[str] = []
    graph = read_graph([folder / name for name in texts], ImportOptions(**options), faults, notes)
    if faults:
        raise WrongFiles(faults)
    return graph, notes
