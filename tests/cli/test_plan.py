from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.main import app
from curator.privacy.level import Level
from devices.datasets.generated import generate
from strategies import RunOptions, simulate
from strategies.planning.miniature import save


def ldpsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def planned(*arguments: object, out: Path) -> dict:  # type: ignore[type-arg]
    shown = ldpsim(*arguments, "--json", "--no-worth", "--out", out)
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout)  # type: ignore[no-any-return]


def test_a_plan_depends_on_facts_alone_and_nobody_is_enrolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("devices.enrolment.state.enrol", "strategies.runs.set_up.enrol"):
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


def test_the_data_of_a_file_are_measured_and_rehearsed_on(tmp_path: Path) -> None:
    """What asking nobody gives is what a run on raw data of the same people says of it."""
    path = tmp_path / "mine.npz"
    save(generate(240, 60, 3, seed=5, class_words=0.35, topic_words=0.0), path)
    shown = ldpsim("vote", "--dataset", path, "--json", "--out", tmp_path)
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    options = RunOptions(method="raw", dataset=str(path), settings={"epochs": "5"}, reference=False, out=None)
    nulls = simulate(options).record["nulls"]
    for name in ("features_alone", "graph_alone", "chance"):
        assert found["nothing"][name.replace("_", " ")]["test"] == pytest.approx(nulls[name]["test"]), name
    assert found["simulation"]["rehearsed"] is True and found["simulation"]["sizes"] == [240]
    page = next(tmp_path.rglob("plan.html")).read_text()
    assert "was measured on mine" in page and "rehearsed on mine" in page and "made-up" not in page
    said = " ".join(ldpsim("vote", "--dataset", path, "--out", tmp_path).stdout.split())
    assert "240 people of mine: mean degree" in said and "Nobody asked, measured on mine: chance" in said
    assert "Worth: rehearsed on mine; 2 runs of 240 people, all that are there" in said


def test_wishes_that_nobody_meets_leave_no_choice(tmp_path: Path) -> None:
    found = planned("rr", "vote", "--clients", "3000", "--max-bytes", "10", out=tmp_path)
    assert found["choice"] is None and found["why"].startswith("none, because")
    attack = planned("vote", "--clients", "3000", "--max-attack", "0.9", out=tmp_path)
    assert attack["choice"]["at_level"]["best_guess"] <= 0.9
    assert attack["choice"]["settings"]["epsilon"] == pytest.approx(2.197, abs=0.01)


@pytest.mark.parametrize("arguments", [
    ("--target", "0.8"), ("--target", "accuracy=2"), ("--level", "planet"), ("--holds", "0"), ("--max-attack", "0.4"),
    ("--clients", "12.5"), ("--clients", "many"), ("--homophily", "3"), ("--feature-rate", "7"), ("hog",),
    ("--target", "accuracy=0.8", "--no-worth"), ("rr", "rr"), ("rr", "--set", "nothing=1"),
])  # fmt: skip
def test_a_mistake_is_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    shown = ldpsim(*arguments, "--quiet", "--out", tmp_path)
    assert shown.exit_code == 2
    (line,) = shown.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_table_fits_the_terminal(width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = ldpsim("hogs", "vote", "pate-m", "--clients", "50000", "--no-worth", "--out", tmp_path)
    assert shown.exit_code == 0 and "hogs" in shown.stdout and "Choice" in shown.stdout
    said = " ".join(shown.stdout.split())
    assert 0 < said.find("Not protected by the choice:") < said.find("Choice: vote")  # first what it does not protect
