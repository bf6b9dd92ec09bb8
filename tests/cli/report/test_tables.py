from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from ldpsim.cli.report.gather import gather
from ldpsim.cli.report.shown import shown_rows
from ldpsim.cli.report.tables import data_link, tables


def _tables(folder: Path) -> dict[str, str]:
    found = gather([folder])
    return tables(shown_rows(found), found.results)


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_figures_of_every_chart(comparison: Path) -> None:
    found = {name: read(text) for name, text in _tables(comparison).items()}
    assert set(found) == {
        "results",
        "all-figures",
        "nulls",
        "privacy",
        "bytes",
        "rounds-and-seconds",
        "edges",
        "degrees",
    }
    hogs = next(row for row in found["all-figures"] if row["method"] == "hogs")
    assert (hogs["test_accuracy"], hogs["holds_relationship"]) == ("0.6124", "14.4")
    assert hogs["command"].startswith("ldpsim run --method hogs")
    raw = next(row for row in found["privacy"] if row["method"] == "raw")
    assert (raw["holds_user"], raw["holds_user_status"], raw["claimed"]) == ("", "unprotected", "")
    nulls = {row["method"]: row for row in found["nulls"]}
    assert (nulls["hogs"]["chance"], nulls["hogs"]["graph_alone"], nulls["hogs"]["margin_high"]) == (
        "0.3013", "0.7884", "-0.162",
    )  # fmt: skip
    assert nulls["raw"]["graph_alone"] == nulls["raw"]["verdict"] == ""
    degrees = [row for row in found["degrees"] if row["method"] == "hogs"]
    assert [row["noisy"] for row in degrees] == ["20.0", "180.0", "700.0", "1200.0", "800.0", "100.0"]


def test_text_that_a_spreadsheet_would_compute_is_text(comparison: Path) -> None:
    found = gather([comparison])
    rows = shown_rows(found)
    rows[0]["label"] = "=HYPERLINK(A1)"
    assert read(tables(rows, found.results)["bytes"])[0]["method"] == "'=HYPERLINK(A1)"


def test_every_result_of_a_row_is_in_a_table(comparison: Path, write_result: Callable[..., Path]) -> None:
    write_result(comparison, "raw-1", {"method": "raw", "config/seed": 1, "accuracy/test": 0.5})
    results = read(_tables(comparison)["results"])
    assert [(row["method"], row["seed"], row["folder"]) for row in results if row["method"] == "raw"] == [
        ("raw", "0", "raw-0"), ("raw", "1", "raw-1")
    ]  # fmt: skip


def test_a_link_holds_the_text_and_nothing_that_ends_it() -> None:
    text = "a,\"b\r\n#&<>'%\n"
    link = data_link(text)
    assert link.startswith("data:text/csv;charset=utf-8,")
    assert not set(link) & set("\"'<>& \n#")
    assert unquote(link.partition(",")[2]) == text
