"""Plans from the command line.

It covers ``strategies/planning/planned_people.py`` too.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.privacy.level import Level
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.planning.miniature import save
from ldpsim.strategies.planning.rehearsal import Rehearsal
from ldpsim.strategies.planning.rows import PlanRow
from ldpsim.strategies.planning.worth import Worth
from ldpsim.strategies.results.shown_nulls import asking_nobody, shown_nulls_of


def ldpsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def planned(*arguments: object, out: Path) -> dict:  # type: ignore[type-arg]
    shown = ldpsim(*arguments, "--json", "--no-worth", "--out", out)
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout)  # type: ignore[no-any-return]


def test_a_plan_depends_on_facts_alone_and_nobody_is_enrolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("ldpsim.devices.enrolment.state.enrol", "ldpsim.strategies.runs.set_up.enrol"):
        monkeypatch.setattr(place, lambda *_, **__: pytest.fail("somebody was enrolled"))
    asked = ("hogs", "lpgnn", "vote", "--clients", "1e8", "--level", "user", "--holds", "4")
    first, second = (planned(*asked, "--population-seed", seed, out=tmp_path) for seed in (1, 2))
    for each in (first, second):
        for row in each["rows"]:
            del row["seconds"], row["seconds_by_phase"], row["seconds_per_device"]  # of this machine's speed
        each["choice"] = None
    assert first == second
    assert first["facts"]["n"] == 10**8
    rows = {row["method"]: row for row in first["rows"]}
    assert rows["hogs"]["fits"] is False and rows["hogs"]["machines"] > 1000
    assert rows["hogs"]["at_level"]["value"] == pytest.approx(4, rel=0.01)
    assert rows["vote"]["settings"]["epsilon"] == pytest.approx(4)
    assert any("a device reads" in why for why in rows["vote"]["why"])
    assert rows["lpgnn"]["at_level"]["public"] == "list"
    assert not list(tmp_path.rglob("ledger*"))


def test_the_document_has_what_scripts_rely_on(tmp_path: Path) -> None:
    found = planned("hogs", "--clients", "2000", "--mean-degree", "9", "--number-of-features", "50", out=tmp_path)
    assert {"facts", "rows", "choice", "why"} <= set(found)
    assert found["facts"]["mean_degree"] == 9 and found["facts"]["features"] == 50
    (row,) = found["rows"]
    wanted = {"method", "settings", "holds", "bytes_per_device", "seconds", "memory_bytes", "fits", "worth"}
    assert wanted <= set(row) and row["worth"] is None and row["fits"] is True
    assert row["holds"]["relationship"] == Level("bounded", 14.4, kind="exact").to_dict()
    assert found["choice"]["method"] == "hogs"


def test_a_file_is_rehearsed_on_as_a_run_takes_it(tmp_path: Path) -> None:
    """Proof: accuracy and what asking nobody gives are those of a run on the same people."""
    path = tmp_path / "mine.npz"
    save(generate(240, 60, 3, seed=5, class_words=0.35, topic_words=0.0), path)
    shown = ldpsim("vote", "--like", path, "--json", "--out", tmp_path)
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    record = simulate(RunOptions(method="vote", dataset=str(path), reference=False, out=None)).record
    worth = found["rows"][0]["worth"]
    assert worth["test"] == record["accuracy"]["test"]
    nobody = worth["asking_nobody"]
    assert nobody["name"] == asking_nobody(record) and nobody["test"] == shown_nulls_of(record)[nobody["name"]]["test"]
    assert found["rehearsal"]["miniature"] is False and found["rehearsal"]["people"] == 240
    page = next(tmp_path.rglob("plan.html")).read_text()
    assert "rehearsal, people of mine" in page and "made-up" not in page
    said = " ".join(ldpsim("vote", "--like", path, "--clients", "5000", "--out", tmp_path).stdout.split())
    assert "5,000 people like those of mine: mean degree" in said and "memory miniature nobody" in said
    assert "Miniature: 240 people of mine with the noise of 5,000. This is an estimate without an interval." in said


def test_wishes_that_nobody_meets_leave_no_choice(tmp_path: Path) -> None:
    found = planned("rr", "vote", "--clients", "3000", "--max-bytes", "10", out=tmp_path)
    assert found["choice"] is None and found["why"].startswith("none, because")
    attack = planned("vote", "--clients", "3000", "--max-attack", "0.9", out=tmp_path)
    assert attack["choice"]["at_level"]["best_guess"] <= 0.9
    assert attack["choice"]["settings"]["epsilon"] == pytest.approx(2.197, abs=0.01)


@pytest.mark.parametrize("arguments", [
    ("--level", "planet"), ("--holds", "0"), ("--max-attack", "0.4"), ("--like", "coraa"),
    ("--like", "cora", "--homophily", "0.5"),
    ("--clients", "12.5"), ("--clients", "many"), ("--homophily", "3"), ("--feature-rate", "7"), ("hog",),
    ("rr", "rr"), ("rr", "--set", "nothing=1"),
    ("hogs", "--epsilon", "1e-300"), ("hogs", "--repeats", "1000000"), ("--repeats", "1000000"),
    ("lpgnn", "--clients", "1e8", "--miniature", "100000000"),
    ("hogs", "--set", "epochs=1000000000000"),
])  # fmt: skip
def test_a_mistake_is_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    shown = ldpsim(*arguments, "--quiet", "--out", tmp_path)
    assert shown.exit_code == 2
    (line,) = shown.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--target", "--worth-seconds", "--dataset", "--dropout", "--defence", "--state"])
def test_an_option_that_a_plan_does_not_read_is_unknown(option: str) -> None:
    shown = ldpsim("hogs", option, "x")
    assert shown.exit_code == 2 and re.match(f"error: No such option:? '?{option}\\b", shown.stderr)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_table_fits_the_terminal(width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = ldpsim("hogs", "vote", "pate-m", "--clients", "50000", "--no-worth", "--out", tmp_path)
    assert shown.exit_code == 0 and "hogs" in shown.stdout and "Choice" in shown.stdout
    said = " ".join(shown.stdout.split())
    assert 0 < said.find("Not protected by the choice:") < said.find("Choice: vote")  # first what it does not protect


@pytest.mark.parametrize("width", [40, 80])
def test_a_rehearsal_fits_the_terminal_and_says_what_it_is(
    width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = {"value": 0.4, "low": 0.3, "high": 0.5}
    worth = Worth(0.743, None, "chance", 0.251, over)

    def rehearse(paper: object, rows: dict[str, PlanRow], *given: object, **named: object) -> object:
        return {name: replace(row, worth=worth) for name, row in rows.items()}, Rehearsal(600, 50_000, None, 12.0)

    monkeypatch.setattr("ldpsim.strategies.planning.plan.rehearse", rehearse)
    monkeypatch.setattr("ldpsim.cli.plan.console", lambda: Console(width=width, color_system=None))
    methods = ("fp-solitude", "ldp-fedavg", "pate-m", "--clients", "50000", "--level", "relationship")
    shown = ldpsim(*methods, "--out", tmp_path).stdout.partition("Written to")[0]
    lines = shown.splitlines()
    assert max(map(len, lines)) <= width and "…" not in shown and "fp-solitude" in shown
    said = " ".join(shown.split())
    assert "miniature" in lines[3 if width < 80 else 2] and "74.3" in said
    assert ("25.1" in said) is (width == 80)  # what asking nobody gives has no room on 40 columns
    assert "Miniature: 600 made-up people with the noise of 50,000. This is an estimate without an interval." in said
    assert "It is not measured on your people. It took 12 s." in said
    if "Choice: none" not in said and "Choice: " in said:
        assert "To be trusted it needs people like yours (--like FILE.npz" in said
        assert "all 50,000 people, not 600." in said
    assert "miniature: accuracy in per cent on made-up people" in said


def test_where_a_loss_is_wished_for_a_person_volunteers_are_the_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ldpsim.strategies.planning.plan.LISTED", {"vote": None, "rr": None})
    wished = ("--clients", 2000, "--level", "user", "--holds", 4, "--no-worth", "--out", tmp_path)
    said = " ".join(ldpsim(*wished).stdout.split())
    assert "Choice: vote with volunteers at 4 (asks one vote on list and features" in said
    assert "; in clear: label and features of 10 % of people, who volunteer): the least in clear" in said
    assert "or vote at 4 (asks one vote on the neighbours' classes; in clear: labels of 75 % of people)" in said
    assert "add --volunteers" not in said
    (deployment,) = tmp_path.rglob("deployment.toml")
    assert "--volunteers 0.1" in deployment.read_text()
    page = " ".join(next(tmp_path.rglob("plan.html")).read_text().split())
    assert page.count('<span class="badge">choice</span>') == 1 and "everybody's features" in page.replace("&#39;", "'")
    alone = " ".join(ldpsim("vote", *wished).stdout.split())
    assert "Choice: vote at 4" in alone and "add --volunteers 0.1" in alone
