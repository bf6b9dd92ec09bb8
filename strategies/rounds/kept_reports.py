"""Reports of a finished collection in a folder, with the counts of its devices and messages."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from pathlib import Path

from curator.reports.reports import Reports
from devices.atomic_files import write_atomically
from strategies.rounds.collect_once import Collected

_COUNTS = "collected.json"
_NOT_COUNTED = ("reports", "answers", "grouping", "decoded")  # the reports have files of their own


def are_kept(folder: Path) -> bool:
    """Return whether a folder holds the reports of a finished collection."""
    return (folder / _COUNTS).is_file()


def write_reports(folder: Path, collected: Collected, reports: Reports) -> None:
    """Write the reports and the counts; the counts come last."""
    reports.save(folder)
    counts = {entry.name: getattr(collected, entry.name) for entry in fields(Collected)}
    known = {name: value for name, value in counts.items() if name not in _NOT_COUNTED}
    known["digest"] = collected.reports_sha256
    write_atomically(folder / _COUNTS, json.dumps(known, indent=1) + "\n")


def load_reports(folder: Path) -> tuple[Collected, Reports]:
    """Return the counts, without the reports' bytes, and the decoded reports."""
    counts = json.loads((folder / _COUNTS).read_text())
    return Collected(**{**counts, "refused": Counter(counts["refused"])}), Reports.load(folder)
