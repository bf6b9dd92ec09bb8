from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.papers import stress_all
from strategies.adversaries import ADVERSARIES
from strategies.stress.registered import STRIKING
from strategies.stress.repeating import PLAIN


def test_every_adversary_and_fault_is_a_case() -> None:
    cases = list(stress_all.cases())
    names = [adversary or fault for adversary, fault, _ in cases]
    assert sorted(names) == sorted({*PLAIN, *STRIKING, *(n for n, a in ADVERSARIES.items() if a.covered)})
    assert {fault for _, fault, covered in cases if not covered} == {n for n, f in STRIKING.items() if not f.covered}


def test_a_case_is_run_once_and_stands_on_the_page(
    data_dir: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stress_all, "RESULTS", tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    for case in (("greedy-first", "", True), ("", "older-backup", False)):
        stress_all.run(case, "refuse", 12, home)
    (home / "refuse-12-new-run.json").touch()  # somebody else is at it
    stress_all.run(("new-run", "", True), "refuse", 12, home)
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    stress_all.run(("greedy-first", "", True), "refuse", 12, home)
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before
    stress_all.write(stress_all.results(home))
    page = (tmp_path / "stress-all.md").read_text()
    covered, uncovered = page.split("## Not covered")
    assert "| refuse | 12 | `greedy-first` |" in covered and "12 of 12 rows are what theory says" in covered
    assert "| refuse | 12 | `older-backup` |" in uncovered and "| 25 | reported 312 |" in uncovered
