"""``ldpsim import`` and what people try first: the summary, the document, the exit codes, and runs on what it wrote."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

import ldpsim as api
from ldpsim.cli.main import app
from ldpsim.cli.output import console
from ldpsim.cli.screen import Screen

EDGES = "source,target,since\n" + "".join(f"p{i},p{(i + step) % 60},2020\n" for i in range(60) for step in (1, 3, 0))
PEOPLE = "id,tall,old,label\n" + "".join(f"p{i},{i % 2},{i % 3 / 2},{'red' if i % 2 else 'blue'}\n" for i in range(60))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "people.csv").write_text(PEOPLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _import(*words: str) -> Result:
    return CliRunner().invoke(app, ["import", *words])


def test_summary_and_preview(folder: Path) -> None:
    shown = _import("edges.csv", "people.csv", "--out", "mine.npz")
    assert shown.exit_code == 0, shown.output
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())
    words = " ".join(shown.stdout.split())
    for part in (
        "people 60; 0 without an edge", "edges 120 of 180; 60 self-loops and 0 repeats dropped", "features 2",
        "classes 2; 0 people without a label; largest 50.0 %", "homophily 0.0 %",
        "column kind p0 p1 p2", "tall 0 or 1 0 1 0", "old 0 to 1 0 0.5 1", "class 2 classes blue red blue",
        "Left out or changed - edges.csv: not read: since (an edge has no attributes)",
        "range 0 to 1 (the default)",
        "2 (counted in the labels: state them with --class-names)", "class names blue, red", "split none in the file",
        "Not public - who is linked with whom", "Next: ldpsim run --dataset mine.npz",
    ):  # fmt: skip
        assert part in words, part
    assert shown.stderr == ""


@pytest.mark.parametrize("width", [40, 80])
def test_the_summary_fits_the_terminal(width: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure is cut: at 40 columns each row of the table is a list. Many columns are counted, not shown."""
    monkeypatch.setattr(Screen, "is_terminal", True)
    monkeypatch.setenv("COLUMNS", str(width))
    names = ",".join(f"answer_{k}_of_a_long_questionnaire" for k in range(30))
    rows = "".join(
        f"p{i},{','.join('01'[(i + k) % 2] for k in range(30))},{'red' if i % 2 else 'blue'}\n" for i in range(60)
    )
    (folder / "people.csv").write_text(f"id,{names},label\n{rows}")
    shown = _import("edges.csv", "people.csv")
    assert shown.exit_code == 0, shown.output
    lines = [click.unstyle(line) for line in shown.stdout.splitlines()]
    assert max(map(len, lines)) <= width and len(lines) <= {80: 36, 40: 64}[width], len(lines)
    words = " ".join(" ".join(lines).split())
    assert "answer_0_of_a_l… " in words and "and 22 more" in words and "class" in words
    assert {80: "0 or 1 0 1 0", 40: "kind 0 or 1, p0 0, p1 1, p2 0"}[width] in words


def test_as_json(folder: Path) -> None:
    words = ["--class-names", "blue, red,green", "--feature-range", "0,2", "--ignore", "old", "--label", "label"]
    shown = _import("edges.csv", "people.csv", "--out", "mine.npz", "--ids", "ids.csv", *words, "--json")
    found = json.loads(shown.stdout)
    assert found["public"] == {
        "people": 60, "features": 1, "feature_range": [0.0, 2.0], "feature_range_from": "stated", "classes": 3,
        "classes_from": "stated", "class_names": ["blue", "red", "green"], "split": None,
    }  # fmt: skip
    assert (found["out"], found["next"]) == ("mine.npz", "ldpsim run --dataset mine.npz")
    assert (folder / "ids.csv").read_text().startswith("node,id\n0,p0\n")


def test_names_of_files_columns_and_classes_do_nothing_to_the_terminal(folder: Path) -> None:
    evil = "\x1b[2J[red]\u202e"
    (folder / f"{evil}.csv").write_text(PEOPLE.replace("old", evil).replace("blue", f"{evil}blue"))
    files = ("edges.csv", f"{evil}.csv")
    for words in ((), ("--class-names", "red"), ("--label", f"no{evil}"), ("--feature-range", "2,3")):
        shown = CliRunner().invoke(app, ["import", *files, *words], color=True)
        assert "\x1b[2J" not in shown.output and "\u202e" not in shown.output
        assert r"\x1b[2J[red]\u202e" in shown.output, shown.output
        assert shown.exit_code == (2 if words else 0)


def test_a_run_on_what_was_imported(folder: Path) -> None:
    assert _import("edges.csv", "people.csv", "--out", "mine.npz").exit_code == 0
    quick = ["--no-nulls", "--no-reference", "--engine", "local", "--set", "epochs=2", "--out", "runs", "--json"]
    shown = CliRunner().invoke(app, ["run", "--dataset", "mine.npz", "--clients", "40", *quick])
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["dataset"]["nodes"] == 40


def test_vaults_are_what_a_device_enrols_with(folder: Path) -> None:
    shown = _import("edges.csv", "people.csv", "--vaults", "vaults")
    assert shown.exit_code == 0, shown.output
    runner = CliRunner()
    command = shown.stdout.splitlines()[-1].strip().removesuffix(" > policy.json")
    policy = runner.invoke(app, shlex.split(command)[1:])
    assert policy.exit_code == 0, policy.output
    (folder / "policy.json").write_text(policy.stdout)
    state = folder / "state"
    words = ["device", "enrol", "--data", "vaults/record-7.json", "--policy", "policy.json", "--state", str(state)]
    enrolled = runner.invoke(app, words)
    assert enrolled.exit_code == 0 and "enrolled 1 devices" in enrolled.stderr, enrolled.output
    again = _import("edges.csv", "people.csv", "--vaults", "vaults", "--force")
    assert again.exit_code == 2 and again.stderr.startswith("error: --vaults vaults: it is there already")


SHORT = ["--clients", "60", "--no-nulls", "--no-reference", "--set", "epochs=2"]


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ldpsim(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("level", ["person", "a person", "user"])
def test_a_level_may_be_named_by_its_words(level: str) -> None:
    assert api.plan(["hogs"], clients=500, holds=4, level=level).target.level == "user"


def test_a_finished_command_shows_its_result_until_it_is_asked_again(desk: Path) -> None:
    first, second = ldpsim("run", *SHORT, "--json"), ldpsim("run", *SHORT, "--json")
    assert first.exit_code == second.exit_code == 0 and first.stdout == second.stdout
    assert "--again runs it once more" in second.stderr and "--again" not in first.stderr
    for more in (["--again"], ["--save-reports"], ["--state", "devices"]):  # these run
        assert "--again" not in ldpsim("run", *SHORT, *more, "--quiet").stderr
    assert len(list((desk / "runs").iterdir())) == 4


def test_messy_files_are_told_in_one_message_and_then_learned_from(desk: Path) -> None:
    """Semicolons, decimal commas, gaps, commas in categories, dates, strangers: three commands, the first refused."""
    rng, n = np.random.default_rng(0), 240
    group = rng.integers(0, 3, n)
    rows = [
        f'C{k};{["new", "old", "lost"][c] if k % 10 else ""};"{["Rome, Lazio", "Oslo", "Paris"][c if k % 3 else 0]}";'
        f"{'' if k % 40 == 0 else f'{10 + 5 * c + rng.random():.1f}'.replace('.', ',')};2021-0{1 + k % 9}-11"
        for k, c in enumerate(group)
    ]
    (desk / "people.csv").write_text("\n".join(["customer;segment;city;spent;since", *rows]))
    pairs = [pair for pair in rng.integers(0, n, (4000, 2)) if group[pair[0]] == group[pair[1]]][:900]
    edges = [f"C{a};C{b}" for a, b in pairs] + ["C1;stranger"]
    (desk / "edges.csv").write_text("\n".join(["giver;taker", *edges]))
    refused = ldpsim("import", "edges.csv", "people.csv")
    told = refused.stderr
    assert refused.exit_code == 2 and "Traceback" not in told
    for option in (
        "--source giver --target taker", "--id customer", "--label segment", "--one-hot city",
        "--decimal , --missing unknown", "--ignore since", "--without-row drop", "--scale clip, binary or minmax",
    ):  # fmt: skip
        assert option in told, option
    cities = 'city="Rome, Lazio",Oslo,Paris'
    mended = "import edges.csv people.csv --source giver --target taker --id customer --label segment --decimal , "
    mended += "--missing zero --ignore since --without-row drop --scale minmax --out mine.npz"
    made = ldpsim(*mended.split(), "--one-hot", cities)
    assert made.exit_code == 0, made.output
    run = ldpsim("run", "--dataset", "mine.npz", "--method", "sbp", "--json")
    assert json.loads(run.stdout)["verdict"]["above_chance"]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_screen_is_as_wide_as_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "is_terminal", True)
    monkeypatch.setenv("COLUMNS", str(width))
    assert console().width == width
