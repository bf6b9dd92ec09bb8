from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.strategies.runs.run import RepeatContext

SMALL = ["--clients", "60", "--set", "epochs=3", "--device", "cpu"]


def ldpsim(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [str(argument) for argument in arguments])


def tune(*arguments: object) -> Result:
    return ldpsim("tune", "hogs", *SMALL, *arguments)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often people were asked, one entry a collection."""
    from ldpsim.strategies.experiments import tune as tuning

    asked: list[int] = []
    ask = tuning.gather_reports

    def counting(scene: RepeatContext) -> object:
        asked.append(len(asked))
        return ask(scene)

    monkeypatch.setattr(tuning, "gather_reports", counting)
    return asked


def test_curator_parameters_are_compared_on_one_set_of_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch)
    shown = tune("--grid", "tau=.5,.9", "--grid", "lr=.01,.1", "--json")
    assert shown.exit_code == 0, shown.output
    document = json.loads(shown.stdout)
    assert (len(asked), document["collections"], len(document["rows"])) == (1, 1, 4)
    assert {(row["values"]["tau"], row["values"]["lr"]) for row in document["rows"]} == {
        (0.5, 0.01), (0.5, 0.1), (0.9, 0.01), (0.9, 0.1),
    }  # fmt: skip
    scores = [row["val_accuracy"] for row in document["rows"]]
    assert scores == sorted(scores, reverse=True)
    best = document["best"]
    assert best["values"] == {"epochs": 3, **document["rows"][0]["values"]}
    assert (best["provenance"], best["collections"], best["epsilon"], best["dataset"]) == ("ours", 1, 8.0, "generated")


def test_the_score_is_what_a_run_reaches(tmp_path: Path) -> None:
    document = json.loads(tune("--grid", "lr=.1", "--json").stdout)
    shown = ldpsim("run", *SMALL, "--set", "lr=.1", "--no-reference", "--no-nulls", "--json", "--out", tmp_path)
    record = json.loads(shown.stdout)
    assert document["rows"][0]["val_accuracy"] == record["accuracy"]["val"]


def test_a_run_with_the_tuned_setting_counts_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = tune("--grid", "tau=.5,.9", "--repeats", "2", "--quiet")
    assert shown.exit_code == 0, shown.output
    (setting,) = tomllib.loads(shown.stdout)["setting"]
    assert setting["collections"] == 2
    from ldpsim.curator import tuned

    monkeypatch.setattr(tuned, "settings_of", lambda method: (setting,) if method == "hogs" else ())
    run = ldpsim(
        "run", "--clients", 60, "--tuned", "--no-reference", "--no-nulls", "--json", "--out", tmp_path / "runs"
    )
    record = json.loads(run.stdout)
    assert (record["privacy"]["collections"], record["privacy"]["searched"]) == (1, 2)
    assert record["config"]["parameters"]["tau"] == setting["values"]["tau"]
    assert record["config"]["parameters"]["epochs"] == 3
    assert record["config"]["provenance"]["tau"].startswith("ours: validation accuracy over 2 collections")


def test_a_reference_asks_nobody() -> None:
    shown = ldpsim("tune", "raw", *SMALL, "--grid", "lr=.01,.1")
    assert shown.exit_code == 0, shown.output
    assert "0 collections: nobody was asked." in shown.stdout


def test_a_grid_cannot_change_what_people_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method whose parameter stands in its query: comparing it on one set of reports would be wrong."""
    from ldpsim.curator.methods import HoGS

    plain = HoGS.questions

    def with_tau(self: HoGS, facts: object, split: object, budget: object, collection: str) -> object:
        return plain(self, facts, split, budget, f"{collection}-{self.tau}")  # type: ignore[arg-type]

    monkeypatch.setattr(HoGS, "questions", with_tau)
    shown = tune("--grid", "tau=.5,.9")
    assert shown.exit_code == 2
    assert "--grid tau=.5: changes what people are asked; `ldpsim sweep -g` runs such values" in shown.stderr


def test_collections_that_were_made_are_summed_by_level() -> None:
    arguments = ("--grid", "lr=.1", "--repeats", "2", "--noise-seed", "os")
    asked = json.loads(tune(*arguments, "--json").stdout)["in_all"]
    one = json.loads(ldpsim("run", *SMALL, "--no-reference", "--no-nulls", "--json").stdout)["privacy"]["holds"]["user"]
    assert (asked["collections"], asked["holds"]["user"]["value"]) == (2, pytest.approx(2 * one["value"]))
    said = " ".join(tune(*arguments).stdout.split())
    assert "2 collections asked the same people (generated), and losses add: a bit" in said
    assert "If 2 collections asked the same people" in " ".join(tune(*arguments[:4]).stdout.split())
