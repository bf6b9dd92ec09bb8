"""Sums of a long run of the simulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("apsw")
from tests.faults import power


def _log(path: Path, *firsts: int, violations: int = 0, kind: str = "reports") -> Path:
    sums = {"schedules": 1000, "faults": 3, "asks": 2, "replies": 1, "violations": violations}
    lines = [{"kind": kind, "first": first, **sums} for first in firsts]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_a_long_run_is_added_up_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "LONG_RUN", tmp_path / "faults.json")
    power.add_up([_log(tmp_path / "one", 1000, 0), _log(tmp_path / "other", 3000)])
    power.add_up([_log(tmp_path / "later", 2000)])
    assert json.loads(power.LONG_RUN.read_text()) == {"reports": {
        "schedules": 4000, "faults": 12, "asks": 8, "replies": 4, "second answers": 0, "seeds": [[0, 4000]],
    }}  # fmt: skip
    assert power.figure() == ("A simulator ran 4,000 schedules with 12 faults: 8 asks, 4 replies, 0 second answers.")
    trained = _log(tmp_path / "trained", 0, kind="trainings")
    power.add_up([trained])
    assert power.figure().endswith("second answers.\nOf federated trainings it ran 1,000 schedules with 3 faults: "
                                   "2 asks, 1 replies, 0 beyond the cap.")  # fmt: skip
    with pytest.raises(ValueError, match="twice"):
        power.add_up([trained])
    with pytest.raises(ValueError, match="twice"):
        power.add_up([_log(tmp_path / "again", 3000)])
    with pytest.raises(ValueError, match="violated"):
        power.add_up([_log(tmp_path / "bad", 9000, violations=1)])


def test_the_table_has_what_was_found_first_and_what_was_not_found_last() -> None:
    rows = power.table({"seals are compared in their first byte": -6000, "the counter is not compared": 313_415,
                        "weights that are no numbers are used": 8}).splitlines()[2:]  # fmt: skip
    assert rows == [
        "| weights that are no numbers are used (training) | 8 |",
        "| the counter is not compared | 313,415 |",
        "| seals are compared in their first byte | not in 6,000 |",
    ]
