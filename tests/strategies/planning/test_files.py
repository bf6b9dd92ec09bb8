from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from strategies.estimate.graph_facts import GraphFacts
from strategies.flower_app.alone import default_config
from strategies.planning.files import registry_record, rehearsal, write_files
from strategies.planning.plan import Plan, make_plan
from strategies.planning.wishes import Wishes
from strategies.setup.options import RunOptions


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
    assert "4 holds at the level user" in text and "homophily = 0.6" in text
    facts = json.loads(
        next(line for line in text.splitlines() if "facts.json" in line).split(": ", 1)[1].partition(", with")[0]
    )
    assert facts["facts"]["n"] == 60_000
    assert json.loads(files["plan.json"].read_text())["choice"]["method"] == "vote"


def test_a_plan_without_a_choice_leaves_no_deployment(made: Plan, tmp_path: Path) -> None:
    from dataclasses import replace

    write_files(made, tmp_path)
    files = write_files(replace(made, choice=None), tmp_path)
    assert [path.name for path in files] == ["plan.json"]
    assert [path.name for path in files[0].parent.iterdir()] == ["plan.json"]


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
