"""The page of lying devices: it is what its table says, and its verdicts follow from the rows.

It covers ``tables`` too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import RESULTS
from benchmarks.poison import accounts
from benchmarks.poison.page import (
    NAME,
    TABLE,
    defences_table,
    grouped,
    lies_table,
    page,
    read_rows,
    summary,
    verdicts,
    write_rows,
)
from benchmarks.poison.sets import DEFENDED, MORE, SETS, passes


def row(attack: str, lie: str = "", **given: Any) -> dict[str, Any]:
    plain = dict.fromkeys(
        ("std", "vs_silent", "vs_silent_std", "fakes_accepted", "true_lost", "found", "false_alarms", "law", "measured",
         "theory", "bound", "passed", "goal_clean", "vs_clean", "vs_undefended"), None,
    )  # fmt: skip
    return {**plain, "method": "hogs", "epsilon": 8.0, "attack": attack, "lie": lie, "goal": "untargeted",
            "knowledge": "all", "share": 0.2, "defence": "none", "repeats": 3, "liars": 4, "honest_test": 9,
            "accuracy": 0.8, "goal_value": 0.8, "nulls": {}, **given}  # fmt: skip


ROWS = [
    row("none", share=0.0, nulls={"chance": 0.3}),
    row("silent", vs_silent=0.0, vs_clean=-0.01),
    row("fakes", "input", vs_silent=-0.02), row("fakes", "response", vs_silent=-0.07, accuracy=0.7),
    row("fakes", "response", vs_silent=-0.01, accuracy=0.79, defence="weight", found=1.0, vs_undefended=0.09,
        false_alarms=0.001),
]  # fmt: skip


def test_the_committed_page_is_what_the_writer_makes() -> None:
    assert (RESULTS / NAME).read_text() == page(read_rows(RESULTS / TABLE), accounts.tables())


def test_a_table_is_read_back(tmp_path: Path) -> None:
    write_rows(ROWS, tmp_path / "a.csv")
    found = read_rows(tmp_path / "a.csv")
    assert found[0]["nulls"] == {"chance": 0.3} and found[3]["vs_silent"] == pytest.approx(-0.07)
    assert page(found, {}) == page(ROWS, {})


def test_verdicts_follow_from_the_rows() -> None:
    ((title, group),) = grouped(ROWS).items()
    (line,) = verdicts(title, group)
    assert line == (
        "**hogs, eps 8, `fakes`**: from 20 % of liars on, honest people lose at least 5 points more than under "
        "silence; the worst difference is -7.0 points (response, 20 %). At 20 %, accuracy under response lies minus "
        "accuracy under input lies is -10.0 points. "
        "Silence of 20 % costs -1.0 points."
    )
    assert "within 6 standard deviations of theory" in summary(ROWS)
    alarms = {**ROWS[0], "law": "", "passed": True}  # a count of false alarms is no law
    assert summary([*ROWS, alarms]).partition(". ")[2] == summary(ROWS).partition(". ")[2]
    assert "for hogs" in summary(ROWS) and "for no method" in summary(ROWS[:3])


def test_tables() -> None:
    lines = lies_table(ROWS).splitlines()
    assert len(lines) == 2 + 4 and lines[-1].startswith("| `fakes` response | 20 % | 70.0 | -7.0 |")
    assert "| `weight` | 70.0 | 79.0 | 100.0 | 0.10 |" in defences_table(grouped(ROWS))
    assert defences_table({}) == "No defence was run."


def test_every_set_is_measured_three_times() -> None:
    asked = list(passes())
    for entry in (*SETS, *MORE, *DEFENDED):
        assert [repeats for other, repeats, _ in asked if other == entry] == [1, 2, 3]
    assert {entry.method for entry in SETS} == {"hogs", "rgnn", "lpgnn", "blink", "solitude", "fedavg-mlp"}
