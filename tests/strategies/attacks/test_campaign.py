"""A campaign: cells are kept, a stopped one goes on, and a failed cell does not end the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ldpsim.strategies.attacks import campaign as module
from ldpsim.strategies.attacks.campaign import Campaign
from ldpsim.strategies.experiments.cells import Failed


def half_of(number: int) -> dict[str, float]:
    """Return the half of an even number."""
    if number % 2:
        raise ValueError("is odd,\nand has none")
    return {"half": number / 2}


def halves(*numbers: int, measure: Callable[[int], Any] = half_of) -> Campaign:
    return Campaign(
        "halves", {f"number {number}": number for number in numbers}, measure,
        lambda results: [{"value": name, **each, "more": 1} for name, each in results.items()], ("value", "half"),
        lambda result: {"rows": list(result.rows)}, {"dataset": "d", "seed": 4}, "p", trains=False,
    )  # fmt: skip


def test_a_failed_cell_does_not_end_the_others_and_is_done_again(tmp_path: Path) -> None:
    shares: list[float | None] = []
    result = halves(4, 3, 2).run(tmp_path, progress=lambda phase, share: shares.append(share))
    folder = result.folder
    assert folder is not None and result.failures == [("number 3", Failed("is odd, and has none"))]
    assert [row["half"] for row in result.rows] == [2.0, 1.0] and result.passed
    assert shares == [0.0, 1 / 3, 2 / 3, 1.0]
    assert sorted(path.name for path in folder.iterdir()) == ["cells", "table.csv"]
    assert (folder / "table.csv").read_text() == "value,half\nnumber 4,2.0\nnumber 2,1.0\n"
    (folder / "cells" / "number_2.json").write_text("{")  # a damaged one is measured again
    again = halves(4, 3, 2, measure=lambda number: {"half": 0.5}).run(tmp_path)
    assert again.folder == folder and [row["half"] for row in again.rows] == [2.0, 0.5, 0.5]
    assert json.loads((folder / "result.json").read_text())["rows"] == list(again.rows)
    assert halves(4, 2).run(tmp_path).folder == folder.with_name(f"{folder.name}-2")


def stopped(number: int) -> dict[str, float]:
    if number == 2:
        raise KeyboardInterrupt
    return half_of(number)


def test_a_stopped_one_says_what_is_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as stop:
        halves(4, 2, measure=stopped).run(tmp_path)
    (folder,) = tmp_path.iterdir()
    assert stop.value.__notes__ == [f"1 of 2 cells are finished and kept in {folder}; the same command goes on"]
    assert [path.name for path in (folder / "cells").iterdir()] == ["number_4.json"]


def test_a_folder_is_named_after_settings_people_and_format(monkeypatch: pytest.MonkeyPatch) -> None:
    first = halves(2)
    others = replace(first, people="q"), replace(first, settings={**first.settings, "shares": [0.1]})
    digest = first.digest
    assert digest == halves(4).digest and len({digest, *(other.digest for other in others)}) == 3
    monkeypatch.setattr(module, "FORMAT", module.FORMAT + 1)
    assert halves(2).digest != digest
