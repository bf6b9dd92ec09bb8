"""``ldpsim stress``: its first screen, its page, JSON and exit codes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.cli.report.stress import chart
from ldpsim.cli.screen import Screen
from ldpsim.cli.stress import attacks_view, view
from ldpsim.strategies.attacks.campaign import CampaignResult
from ldpsim.strategies.attacks.stress import campaign
from ldpsim.strategies.attacks.stress.summary import Summary

runner = CliRunner()
SMALL = ["stress", "--clients", "40", "--asks", "1,5,25", "--adversary", "new-run", "--workers", "1"]


@pytest.fixture(scope="module")
def result() -> CampaignResult:
    """Forty people asked once, five times and 25 times in new runs, under four protections."""
    options = campaign.StressOptions(clients=40, adversaries=("new-run",), protections=("none", "context-state",
                                     "refuse", "replay"))  # fmt: skip
    return campaign.stress(options)


@pytest.mark.parametrize("width", [80, 40])
def test_the_first_screen(result: CampaignResult, width: int) -> None:
    screen = Screen(width=width, highlight=False)
    with screen.capture() as capture:
        screen.print(view(result, Summary.of(result.rows), screen))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width and (width < 80 or len(lines) <= 18)  # two more lines say where all rows are
    table = [line.split() for line in lines if re.search(r"(\d+/){2}\d+$", line.rstrip())]
    assert [row[0] for row in table] == ["none", "context-state", "refuse", "replay", "no"]
    cells = {row[0]: [cell for cell in row if "/" in cell] for row in table}
    assert len(cells["none"]) == (3 if width == 80 else 2)  # 40 columns have the first and the last number
    assert cells["none"] == cells["context-state"] and cells["refuse"] == cells["replay"]
    assert len(set(cells["refuse"])) == 1 and cells["none"][0] != cells["none"][-1]
    friendships = int(cells["none"][-1].split("/")[0])
    text = " ".join(capture.get().split())
    assert friendships > 90 and f"Without protection 25 questions recover {friendships} % of friendships" in text
    assert f"with one report kept, 25 recover what 1 does ({cells['refuse'][0].split('/')[0]} %)" in text
    assert width == 40 or f"4 of them are worth 5 questions without protection ({cells['none'][1]})" in text
    assert "as theory says" in text and "NOT" not in text


def test_all_attacks_by_name_beside_theory(result: CampaignResult) -> None:
    rows = [{**result.rows[0], "passed": False}, *result.rows[1:]]
    screen = Screen(width=80, highlight=False)
    with screen.capture() as capture:
        screen.print(attacks_view(replace(result, rows=rows)))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80 and capture.get().count("new-run") == 4 + 1  # its legend names it
    marked = [line for line in lines if "!" in line]
    assert len(marked) == 1 and re.search(r"^none +new-run +1 .*/73\.1!", marked[0])


def test_files_and_last_line(tmp_path: Path) -> None:
    found = runner.invoke(app, [*SMALL, "--protection", "none", "--out", str(tmp_path)])
    assert found.exit_code == 0, found.output
    (folder,) = tmp_path.iterdir()
    assert found.stdout.splitlines()[-1] == f"Page: {folder / 'stress.html'}" and "new-run" not in found.stdout
    assert "--details" in found.stdout.splitlines()[-2]
    assert {path.name for path in folder.iterdir()} == {"cells", "table.csv", "result.json", "stress.html"}
    page = (folder / "stress.html").read_text()
    assert "<h1>Without protection 25 questions recover" in page and page.count('class="chart"') == 3
    assert page.index('id="chart-0"') < page.index("<table") < page.index("<details")


def test_protections_with_equal_figures_have_one_line_of_the_picture(result: CampaignResult) -> None:
    summary = Summary.of([{**row, "found": None} if row["attribute"] == "features" and row["asks"] == 25 else row
                          for row in result.rows])  # fmt: skip
    for attribute, asks in (("adjacency", [1, 5, 25]), ("features", [1, 5])):
        drawn = chart(summary, attribute)
        lines = {name: [(value["asks"], value["share"]) for value in drawn["data"]["values"] if value["line"] == name]
                 for name in ("none, context-state", "refuse, replay")}  # fmt: skip
        assert len(drawn["data"]["values"]) == 2 * len(asks)
        for name, points in lines.items():
            cells = summary.shares[name.split(",")[0]]
            assert points == [(number, 100 * (cells[number][attribute] or 0.0)) for number in asks]


def test_json_has_what_the_contract_names(tmp_path: Path) -> None:
    found = runner.invoke(app, [*SMALL, "--protection", "refuse", "--json", "--out", str(tmp_path)])
    document = json.loads(found.stdout)
    assert document["passed"] is True and len(document["rows"]) == 9
    assert {"adversary", "protection", "covered", "attribute", "asks", "found", "recovered", "one_query_bound",
            "theory", "distinct_releases"} <= set(document["rows"][0])  # fmt: skip


def test_a_row_that_is_wrong_fails_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(campaign, "agrees", lambda row, **_: row["attribute"] != "label")
    found = runner.invoke(app, [*SMALL, "--protection", "refuse", "--out", str(tmp_path)])
    assert found.exit_code == 1 and "NOT as theory says" in found.stdout
    assert "refuse under new-run" in found.stderr and "is not what theory says" in found.stderr


def test_a_comparison_that_fails_is_told_beside_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = campaign.measure_case
    monkeypatch.setattr(campaign, "measure_case", lambda case: 1 / 0 if case.protection == "refuse" else measure(case))
    found = runner.invoke(app, [*SMALL, "--protection", "none", "--protection", "refuse", "--out", str(tmp_path)])
    assert found.exit_code == 1, found.output
    assert "refuse new-run failed: ZeroDivisionError: division by zero" in " ".join(found.stdout.split())
    assert "cells failed; " in found.stderr and "none new-run failed" not in found.stdout
    (folder,) = tmp_path.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["cells", "stress.html", "table.csv"]
