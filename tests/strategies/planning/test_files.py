from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cli.main import app
from curator.methods.local.hogs_ablation import HoGSAblation
from curator.reports.question import keys_of
from strategies.estimate.graph_facts import GraphFacts
from strategies.flower_app.alone import default_config
from strategies.planning.files import registry_record, rehearsal, undeployable, write_files
from strategies.planning.plan import Plan, make_plan
from strategies.planning.wishes import Wishes
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import budget_of


@pytest.fixture(scope="module")
def made() -> Plan:
    wishes = Wishes(holds=4.0)
    return make_plan(["vote"], RunOptions(settings={"homophily": "0.6"}), GraphFacts(60_000), wishes, worth=False)


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
    from strategies.flower_app.deployed import PublicFile, _method_of, _questions

    options = RunOptions(feature_share=0.3, reporting="one-end", eps_labels=2.0, private_labels=True, gnn="sage",
                         label_mechanism="subset_selection", settings={"tau": "0.7", "epochs": "5"})  # fmt: skip
    made = make_plan(["hogs"], options, GraphFacts(300), Wishes(), worth=False)
    (path,) = (path for path in write_files(made, tmp_path) if path.name == "deployment.toml")
    config = {**default_config(), **tomllib.loads(path.read_text())}
    facts = GraphFacts(300).public()
    public = PublicFile(facts, np.full(300, -1))
    method, budget, training = _method_of(config, public)
    assert (method, training.gnn, training.epochs) == (HoGSAblation(tau=0.7), "sage", 5)
    assert budget == budget_of(options, public_features=False)
    split = public.split(0)
    asked = _questions(method, public, split, budget, "c", config)
    assert keys_of(asked) == keys_of(method.questions(facts, split, budget, "c"))
    rehearsed = rehearsal(made, options)
    for words in ("--feature-share 0.3", "--reporting one-end", "--eps-labels 2", "--private-labels", "--gnn sage",
                  "--label-mechanism subset_selection", "--set tau=0.7"):  # fmt: skip
        assert words in rehearsed


def test_what_a_deployment_cannot_carry_leaves_no_file(tmp_path: Path) -> None:
    made = make_plan(["hogs"], RunOptions(public_features=True), GraphFacts(300), Wishes(), worth=False)
    assert made.choice is not None
    assert undeployable(made.choice) == "its configuration has no key for --public-features"
    assert "deployment.toml" not in {path.name for path in write_files(made, tmp_path)}


@pytest.mark.parametrize(
    "given",
    [{"dropout": 0.2}, {"defence": "all"}, {"caps": {"bit": 2.0}}, {"on_requery": "replay"}, {"task": "links"},
     {"tuned": True}, {"state": Path("people")}, {"save_reports": True}, {"collector_key": Path("key")}],
    ids=str,
)  # fmt: skip
def test_an_option_that_a_plan_does_not_read_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a plan does not read it"):
        make_plan(["hogs"], RunOptions(**given), GraphFacts(300), Wishes(), worth=False)


def test_a_plan_without_a_choice_leaves_no_deployment(made: Plan, tmp_path: Path) -> None:
    from dataclasses import replace

    write_files(made, tmp_path)
    files = write_files(replace(made, choice=None), tmp_path)
    assert [path.name for path in files] == ["plan.json"]
    assert [path.name for path in files[0].parent.iterdir()] == ["plan.json"]


def test_another_plan_does_not_touch_the_files_of_this_one(made: Plan, tmp_path: Path) -> None:
    first = write_files(made, tmp_path)
    options, wishes = RunOptions(settings={"homophily": "0.6"}), Wishes(holds=4.0)
    assert write_files(make_plan(["vote"], options, GraphFacts(60_000), wishes, worth=False), tmp_path) == first
    before = {path: path.read_bytes() for path in first}
    for methods, facts, holds in ((["hogs"], GraphFacts(60_000), 4.0), (["vote"], GraphFacts(60_000), 3.0),
                                  (["vote"], GraphFacts(60_000, homophily=0.5), 4.0)):  # fmt: skip
        other = make_plan(methods, RunOptions(), facts, Wishes(holds=holds), worth=False)
        assert write_files(other, tmp_path)[0].parent != first[0].parent
    assert {path: path.read_bytes() for path in first} == before


def test_the_registry_record_has_the_fields_of_the_registry(made: Plan, tmp_path: Path) -> None:
    assert made.choice is not None
    record = registry_record(made, made.choice)["deployment"]
    assert {"name", "data_curator", "dp_flavor", "privacy_loss", "model", "accounting", "implementation"} <= set(record)
    assert record["privacy_loss"]["privacy_parameters"] == {"epsilon": pytest.approx(4.0)}
    assert record["model"]["model_name"] == "Local" and record["dp_flavor"]["name"] == "Pure DP"
    yaml = pytest.importorskip("yaml")
    path = next(path for path in write_files(made, tmp_path) if path.name == "registry.yaml")
    assert yaml.safe_load(path.read_text())["deployment"] == json.loads(json.dumps(record))


def test_the_rehearsal_is_a_command_that_a_run_takes(made: Plan) -> None:
    assert made.choice is not None
    words = shlex.split(rehearsal(made, made.choice.options))
    assert words[:2] == ["ldpsim", "run"] and "--set" in words
    shown = CliRunner().invoke(app, [*words[1:], "--help"])
    assert shown.exit_code == 0
