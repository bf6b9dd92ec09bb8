from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ldpsim.cli.report.gather import gather
from ldpsim.cli.report.shown import headline, panels_of, shown_rows

CORA = {"dataset/name": "cora", "dataset/nodes": 2708, "dataset/digest": "11" * 32}


def test_rows_are_sorted_by_data_set_method_and_budget(tmp_path: Path, write_result: Callable[..., Path]) -> None:
    for number, (method, epsilon) in enumerate([("rgnn", 10.0), ("rgnn", 2.0), ("hogs", 10.0), ("hogs", 2.0)]):
        write_result(tmp_path, f"a{number}", {"method": method, "config/epsilon": epsilon})
    write_result(tmp_path, "0-first", {"method": "hogs", "config/epsilon": 2.0, **CORA})
    found = gather([tmp_path])
    rows = shown_rows(found)
    assert [row["label"] for row in rows] == [
        "hogs ε 2, generated", "hogs ε 10, generated", "rgnn ε 2, generated", "rgnn ε 10, generated", "hogs, cora",
    ]  # fmt: skip
    assert [(row["panel"], row["series"], row["line"]) for row in rows] == [
        (0, 0, "hogs"), (0, 0, "hogs"), (0, 1, "rgnn"), (0, 1, "rgnn"), (1, 0, "hogs")
    ]  # fmt: skip
    assert shown_rows(found, methods=["rgnn", "hogs"])[0]["name"] == "rgnn ε 2"
    panels = panels_of(found)
    assert [panel["title"] for panel in panels] == ["generated, 3,000 people", "cora, 2,708 people"]
    said = headline(rows, panels)
    assert said["title"] == "2 methods, 5 configurations on 2 data sets" and said["about"] == "generated and cora"


def test_commands_of_all_seeds(tmp_path: Path, write_result: Callable[..., Path]) -> None:
    for seed in range(3):
        write_result(tmp_path, f"a{seed}", {"config/seed": seed, "accuracy/test": 0.5 + seed / 10})
    found = gather([tmp_path])
    (row,) = shown_rows(found)
    assert [command.rpartition("--")[2] for command in row["commands"]] == ["dataset generated", "seed 1", "seed 2"]
    said = headline([row], panels_of(found))
    assert said["repeats"] == "Figures are means of 3 seeds; ± is the standard deviation."
    assert said["title"] == "generated: 1 method on the same 3,000 people"
