from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.papers import stress_all
from benchmarks.papers.stress_all import AFTER, StressCell, cells
from benchmarks.study import Measured
from strategies.attacks.adversaries import ADVERSARIES
from strategies.attacks.stress.known import STRIKING
from strategies.attacks.stress.plain import PLAIN


def test_every_adversary_and_fault_is_a_cell_of_both_protections() -> None:
    for protection in ("refuse", "replay"):
        found = [cell for cell in cells() if cell.protection == protection]
        wanted = {*PLAIN, *STRIKING, *(n for n, a in ADVERSARIES.items() if a.covered)}
        assert sorted(cell.name for cell in found) == sorted(wanted)
        assert {cell.fault for cell in found if not cell.covered} == {n for n, f in STRIKING.items() if not f.covered}


def test_a_cell_becomes_rows_and_stands_on_the_page(
    data_dir: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a process of their own is the subject of tests/benchmarks/test_study.py
    monkeypatch.setattr("benchmarks.study.ProcessPoolExecutor", lambda workers, **_: ThreadPoolExecutor(workers))
    chosen = [
        StressCell("refuse", "greedy-first", "none", True, 12),
        StressCell("refuse", AFTER, "older-backup", False, 12),
    ]
    results = Measured(tmp_path / "rows.jsonl", stress_all.run)
    results.run(chosen, workers=1, until=time.monotonic() + 600)
    study = replace(stress_all.study(tmp_path), cells=chosen, results=results)
    found = study.found(tmp_path)
    study.write(found, tmp_path)
    covered, uncovered = (tmp_path / "stress-all.md").read_text().split("## Not covered")
    assert "| refuse | 12 | `greedy-first` |" in covered and "12 of 12 rows are what theory says" in covered
    assert "| refuse | 12 | `older-backup` |" in uncovered and "| 25 | reported 312 |" in uncovered
    kept = replace(study, results=Measured(tmp_path / "none.jsonl", stress_all.run)).found(tmp_path)
    assert study.page(kept) == study.page(found) if study.page else False
