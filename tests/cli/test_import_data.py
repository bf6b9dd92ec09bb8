"""``ldpsim import``: the summary, the document, the exit codes, and a run on what it wrote."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app

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
        "classes 2; 0 people without a label; largest 50.0 %", "homophily 0.0 %", "range 0 to 1 (the default)",
        "2 (counted in the labels: state them with --class-names)", "class names blue, red", "split none in the file",
        "Not public - who is linked with whom", "Next: ldpsim run --dataset mine.npz",
    ):  # fmt: skip
        assert part in words, part
    assert shown.stderr == "warning: edges.csv: not read: since (an edge has no attributes)\n"


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
