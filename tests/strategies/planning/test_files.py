from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.methods.local.hogs import HoGS
from ldpsim.curator.reports.question import keys_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.flower_app.alone import default_config
from ldpsim.strategies.planning.files import undeployable, write_files
from ldpsim.strategies.planning.plan import Plan, Wishes
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of
from tests.strategies.planning.on_paper import plan_on_paper


@pytest.fixture(scope="module")
def made() -> Plan:
    wishes = Wishes(holds=4.0)
    return plan_on_paper(
        ["vote"], RunOptions(clients=60_000, settings={"homophily": "0.6"}), GraphFacts(60_000), wishes
    )


def test_a_deployment_file_is_a_configuration_of_the_flower_app(made: Plan, tmp_path: Path) -> None:
    files = {path.name: path for path in write_files(made, tmp_path)}
    text = files["deployment.toml"].read_text()
    values = tomllib.loads(text)
    assert set(values) <= set(default_config()) and values["method"] == "vote"
    assert values["epsilon"] == pytest.approx(4.0)
    assert "4 holds at the level of a person" in text and values["settings"] == "homophily=0.6"
    facts = json.loads(
        next(line for line in text.splitlines() if "facts.json" in line).split(": ", 1)[1].partition(", with")[0]
    )
    assert facts["facts"]["n"] == 60_000
    assert json.loads(files["plan.json"].read_text())["choice"]["method"] == "vote"


def test_a_deployment_asks_the_question_of_the_plan(tmp_path: Path) -> None:
    """Every given option is in the file; the app reads them, and asks what a run with the same options asks."""
    from ldpsim.strategies.flower_app.deployed import PublicFile, _method_of, _questions

    options = RunOptions(feature_share=0.3, reporting="one-end", eps_labels=2.0, private_labels=True, gnn="sage",
                         label_mechanism="subset_selection", settings={"tau": "0.7", "epochs": "5"})  # fmt: skip
    made = plan_on_paper(["hogs"], options, GraphFacts(300), Wishes())
    (path,) = (path for path in write_files(made, tmp_path) if path.name == "deployment.toml")
    config = {**default_config(), **tomllib.loads(path.read_text())}
    facts = GraphFacts(300).public()
    public = PublicFile(facts, np.full(300, -1))
    method, budget, training = _method_of(config, public)
    assert (method, training.gnn, training.epochs) == (HoGS(tau=0.7), "sage", 5)
    assert budget == budget_of(options, public_features=False)
    split = public.split(0)
    asked = _questions(method, public, split, budget, "c")
    assert keys_of(asked) == keys_of(method.questions(facts, split, budget, "c"))
    rehearsed = made.rows[0].command
    for words in ("--feature-share 0.3", "--reporting one-end", "--eps-labels 2", "--private-labels", "--gnn sage",
                  "--label-mechanism subset_selection", "--set tau=0.7"):  # fmt: skip
        assert words in rehearsed


def test_what_a_deployment_cannot_carry_leaves_no_file(tmp_path: Path) -> None:
    made = plan_on_paper(["hogs"], RunOptions(public_features=True), GraphFacts(300), Wishes())
    assert made.choice is not None
    assert undeployable(made.choice) == "its configuration has no key for --public-features"
    assert "deployment.toml" not in {path.name for path in write_files(made, tmp_path)}


def test_files_of_an_earlier_choice_are_removed(made: Plan, tmp_path: Path) -> None:
    first = write_files(made, tmp_path)
    folder = first[0].parent
    assert [path.name for path in first] == ["plan.json", "deployment.toml"]
    assert folder == tmp_path / f"plan-60000-user-{made.digest}"
    (folder / "plan.html").write_text("old")
    (folder / "mine.txt").write_text("kept")
    assert write_files(replace(made, rows=[replace(made.rows[0], why=("no",))]), tmp_path) == (folder / "plan.json",)
    assert sorted(path.name for path in folder.iterdir()) == ["mine.txt", "plan.json"]
    assert write_files(made, tmp_path) == first and not (folder / "plan.html").exists()
