from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ldpsim.cli.report.charts import DRAWN, chart_data, has_curves, opening_level
from ldpsim.cli.report.gather import gather
from ldpsim.cli.report.shown import panels_of, shown_rows
from ldpsim.curator.privacy.level import Level
from ldpsim.strategies.results.levels import shown_levels

IN_CLEAR = {f"privacy/holds/{level}": Level("unprotected", reason="x").to_dict()
            for level in ("user", "relationship", "bit_adjacency", "node")}  # fmt: skip


def data(folder: Path) -> dict[str, Any]:
    found = gather([folder])
    rows = shown_rows(found)
    return chart_data(rows, panels_of(found), opening_level(rows, None))


def test_axes_say_what_holds_or_what_is_claimed(comparison: Path) -> None:
    views = data(comparison)["views"]
    assert all(view["title"].startswith(view["head"]) and "(log scale)" in view["title"] for view in views.values())
    assert {name: view["head"] for name, view in views.items() if name != "claimed"} == {
        name: f"ε holds, {term}" for name, (term, _) in shown_levels().items()
    }  # fmt: skip
    assert views["user"]["note"] == (
        "1 of 5 have a bound; the others stand in the strip at the edge: right, it is in clear."
    )
    assert "strips at the edge: left, nothing about this is asked; right" in views["relationship"]["note"]


def test_the_whole_record_opens_unless_another_level_was_matched(comparison: Path) -> None:
    rows = shown_rows(gather([comparison]))
    assert opening_level(rows, None) == opening_level(rows, "label") == "user"
    assert opening_level(rows, "relationship") == "relationship"


def test_curves_without_a_bound_for_a_record_open_where_there_is_one(
    tmp_path: Path, write_result: Callable[..., Path]
) -> None:
    for epsilon in (1.0, 2.0):
        write_result(tmp_path, f"lpgnn-{epsilon:g}", {"config/epsilon": epsilon, **IN_CLEAR})
    rows = shown_rows(gather([tmp_path]))
    assert has_curves(rows) and opening_level(rows, None) == "vector"
    assert opening_level(rows[:1], None) == "user"


def test_rows_carry_their_badge_and_place(comparison: Path) -> None:
    rows = {row["name"]: row for row in data(comparison)["rows"]}
    assert rows["lpgnn"]["label"] == "lpgnn ◎" and rows["lpgnn"]["tip"].startswith("lpgnn (edges in clear)\n")
    assert rows["hogs"]["label"] == "hogs" and rows["hogs"]["badge"] == ""
    assert rows["raw"]["places"]["claimed"] == {"strip": "right", "value": None, "words": "–"}
    assert [rows[name]["places"]["relationship"]["strip"] for name in ("hogs", "mlp", "raw")] == [None, "left", "right"]
    assert rows["hogs"]["edges"] and rows["raw"]["edges"] is None


def test_many_rows_are_said_to_be_more_than_those_drawn(tmp_path: Path, write_result: Callable[..., Path]) -> None:
    for number in range(DRAWN + 1):
        write_result(tmp_path, f"hogs-{number}", {"method": f"m{number:02}"})
    found = data(tmp_path)
    assert found["notes"]["rows"] == f"The first {DRAWN} of {DRAWN + 1} rows are drawn; the data have all."
    assert sum(row["degrees"] is not None for row in found["rows"]) == 12
    assert sum("seconds" in row["words"] for row in found["rows"]) == DRAWN
    assert sum(row["edges"] is not None for row in found["rows"]) == DRAWN
    assert found["notes"]["degrees"] == "The first 12 of 41 are drawn; the data have all."
