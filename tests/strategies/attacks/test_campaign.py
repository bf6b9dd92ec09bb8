"""A campaign: cells are kept, a stopped one goes on, and a failed cell does not end the others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ldpsim.strategies.attacks import campaign as module
from ldpsim.strategies.attacks.campaign import AttackRow, Campaign, CampaignResult
from ldpsim.strategies.experiments.cells import Failed


@dataclass(frozen=True)
class Number:
    value: int

    @property
    def name(self) -> str:
        return f"number {self.value}"


def half_of(cell: Number) -> dict[str, float]:
    """Return the half of an even number."""
    if cell.value % 2:
        raise ValueError("is odd,\nand has none")
    return {"half": cell.value / 2}


class Halves(Campaign):
    command = "halves"
    columns = ("value", "half", "passed")
    exact = frozenset({"value"})
    trains = False
    measure = half_of

    def __init__(self, *values: float, workers: int = 1, people: str = "p", **settings: Any) -> None:
        cells = [Number(int(value)) for value in values]
        super().__init__(cells, {"dataset": "d", "seed": 4, **settings}, people=people, workers=workers)

    def rows(self, results: Mapping[str, Any]) -> Sequence[AttackRow]:
        return [{"value": float(cell.value), **results[cell.name], "passed": None, "more": 1}
                for cell in self.cells if cell.name in results]  # fmt: skip

    def record(self, result: CampaignResult) -> dict[str, Any]:
        return {"rows": list(result.rows)}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failed_cell_does_not_end_the_others_and_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    told: list[tuple[str, float | None]] = []
    result, folder = Halves(4, 3, 2, workers=workers).run_and_write(
        tmp_path, progress=lambda phase, share: told.append((phase, share))
    )
    assert result.failures == [("number 3", Failed("is odd, and has none"))] and result.found == 0
    assert [row["half"] for row in result.rows] == [2.0, 1.0] and result.passed
    assert told == [("cells", 0.0), ("cells", 1 / 3), ("cells", 2 / 3), ("cells", 1.0)]
    assert sorted(path.name for path in folder.iterdir()) == ["cells", "table.csv"]
    assert (folder / "cells" / "number_4.json").read_text() == '{"half": 2.0}\n'
    assert (folder / "table.csv").read_text() == "value,half,passed\n4.0,2.000000,\n2.0,1.000000,\n"
    (folder / "cells" / "number_2.json").write_text("{")  # a damaged one is measured again
    monkeypatch.setattr(Halves, "measure", lambda cell: {"half": 0.5})
    again, same = Halves(4, 3, 2).run_and_write(tmp_path)
    assert same == folder and again.found == 1 and [row["half"] for row in again.rows] == [2.0, 0.5, 0.5]
    assert json.loads((folder / "result.json").read_text())["rows"] == list(again.rows)
    assert Halves(4, 3, 2).run_and_write(tmp_path)[1].name == f"{folder.name}-2"


def test_a_folder_is_named_after_settings_people_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Halves(2).digest
    assert first == Halves(4, workers=2).digest
    assert len({first, Halves(2, people="q").digest, Halves(2, shares=[0.1]).digest}) == 3
    monkeypatch.setattr(module, "ldpsim_version", lambda: "another")
    assert Halves(2).digest != first


def test_a_row_without_theory_passes() -> None:
    rows = [{"passed": None}, {"passed": True}]
    assert CampaignResult(rows, {}).passed and not CampaignResult([*rows, {"passed": False}], {}).passed
    assert Halves.table_csv([]) == "value,half,passed\n"
