from __future__ import annotations

import json
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.methods.local.hogs_ablation import HoGSAblation
from ldpsim.curator.reports.question import keys_of
from ldpsim.devices import datasets
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.flower_app.alone import default_config
from ldpsim.strategies.planning.files import deployment, rehearsal, undeployable, write_files
from ldpsim.strategies.planning.plan import Plan
from ldpsim.strategies.planning.rehearsal import Like, Rehearsal, made_up_people
from ldpsim.strategies.planning.rows import PlanRow
from ldpsim.strategies.planning.wishes import Wishes
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of
from tests.strategies.planning.on_paper import plan_on_paper


@pytest.fixture(scope="module")
def made() -> Plan:
    wishes = Wishes(holds=4.0)
    return plan_on_paper(["vote"], RunOptions(settings={"homophily": "0.6"}), GraphFacts(60_000), wishes)


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
    assert (method, training.gnn, training.epochs) == (HoGSAblation(tau=0.7), "sage", 5)
    assert budget == budget_of(options, public_features=False)
    split = public.split(0)
    asked = _questions(method, public, split, budget, "c")
    assert keys_of(asked) == keys_of(method.questions(facts, split, budget, "c"))
    rehearsed = rehearsal(made, made.rows[0], tmp_path)
    assert rehearsed is not None
    for words in ("--feature-share 0.3", "--reporting one-end", "--eps-labels 2", "--private-labels", "--gnn sage",
                  "--label-mechanism subset_selection", "--set tau=0.7"):  # fmt: skip
        assert words in rehearsed


def test_what_a_deployment_cannot_carry_leaves_no_file(tmp_path: Path) -> None:
    made = plan_on_paper(["hogs"], RunOptions(public_features=True), GraphFacts(300), Wishes())
    assert made.choice is not None
    assert undeployable(made.choice) == "its configuration has no key for --public-features"
    assert "deployment.toml" not in {path.name for path in write_files(made, tmp_path)}


def test_a_plan_without_a_choice_leaves_no_deployment(made: Plan, tmp_path: Path) -> None:
    write_files(made, tmp_path)
    files = write_files(replace(made, choice=None), tmp_path)
    assert [path.name for path in files] == ["plan.json"]
    assert [path.name for path in files[0].parent.iterdir()] == ["plan.json"]


def test_another_plan_does_not_touch_the_files_of_this_one(made: Plan, tmp_path: Path) -> None:
    first = write_files(made, tmp_path)
    options, wishes = RunOptions(settings={"homophily": "0.6"}), Wishes(holds=4.0)
    assert write_files(plan_on_paper(["vote"], options, GraphFacts(60_000), wishes), tmp_path) == first
    before = {path: path.read_bytes() for path in first}
    for methods, facts, holds in ((["hogs"], GraphFacts(60_000), 4.0), (["vote"], GraphFacts(60_000), 3.0),
                                  (["vote"], GraphFacts(60_000, homophily=0.5), 4.0)):  # fmt: skip
        other = plan_on_paper(methods, RunOptions(), facts, Wishes(holds=holds))
        assert write_files(other, tmp_path)[0].parent != first[0].parent
    assert {path: path.read_bytes() for path in first} == before


def test_the_rehearsal_is_a_command_that_a_run_takes(made: Plan) -> None:
    assert made.choice is not None
    words = shlex.split(rehearsal(made, made.choice, Path()) or "")
    assert words[:2] == ["ldpsim", "run"] and "--set" in words
    shown = CliRunner().invoke(app, [*words[1:], "--help"])
    assert shown.exit_code == 0


def test_the_text_of_a_deployment(made: Plan) -> None:
    assert made.choice is not None
    lines = deployment(made, made.choice, Path()).splitlines()
    assert lines[:5] == [
        "# vote, planned for 60,000 people: 4 holds at the level of a person.",
        "# ldpsim collector sign deployment.toml --collector-key KEY > run.toml   (docs/deployment.md has all steps)",
        "# flwr run APP SUPERLINK --run-config run.toml",
        '# facts.json: {"facts": {"n": 60000, "d": 600, "classes": 6}}, with the public labels'.replace(
            '"d": 600, "classes": 6', f'"d": {made.facts.features}, "classes": {made.facts.classes}'
        ),
        "# rehearsal: ldpsim run --method vote --dataset generated --clients 60000 --epsilon 4 --set homophily=0.6",
    ]
    assert not any(line.startswith("#") for line in lines[5:]) and 'facts = "facts.json"' in lines
    few = plan_on_paper(["vote"], RunOptions(label_rate=0.25), GraphFacts(300), Wishes())
    assert few.choice is not None
    text = deployment(few, few.choice, Path())
    assert "with the public labels of 0.25 of the people\n" in text and "--clients 300 --label-rate 0.25" in text
    assert "label-rate" not in tomllib.loads(text) and tomllib.loads(text)["epsilon"] == 8.0
    assert "# 8 holds at the level of a person." not in text and "planned for 300 people: 8 holds" in text
    some = plan_on_paper(["vote"], RunOptions(volunteers=0.25), GraphFacts(300), Wishes())
    assert some.choice is not None and not undeployable(some.choice)
    text = deployment(some, some.choice, Path())
    assert 'with the numbers of the "volunteers", 0.25 of the people\n' in text and "--volunteers 0.25" in text
    assert "volunteers" not in tomllib.loads(text) and "labelled" not in text
    told = plan_on_paper(["vote"], RunOptions(volunteers=0.25, private_labels=True), GraphFacts(300), Wishes())
    assert told.choice is not None and not undeployable(told.choice)
    text = deployment(told, told.choice, Path())
    assert 'and of the "labelled", who are other people' in text and "private_labels" not in tomllib.loads(text)
    open_ = plan_on_paper(["fedavg-mlp"], RunOptions(), GraphFacts(300), Wishes())
    (row,) = open_.rows
    text = deployment(open_, row, Path())
    assert "# fedavg-mlp, planned for 300 people: nothing is bounded at the level of a person in owned data.\n" in text
    assert "# ldpsim simulates this method; its Flower app deploys methods with one private report." in text


def test_a_rehearsal_names_the_people_of_the_plan(made: Plan, tmp_path: Path) -> None:
    given = RunOptions(dataset="my file.npz", seed=3, seeds={"noise": 5}, split="split42", repeats=2)
    options = replace(given, method="vote", epsilon=1 / 3, public_features=True, settings={"homophily": "0.6"})
    row = PlanRow(options, {}, {})
    before, after = "ldpsim run --method vote --dataset 'my file.npz' --clients", "--split split42 --epsilon"
    rest = "--public-features --set homophily=0.6 --seed 3 --noise-seed 5 --repeats 2"
    for there, clients in ((60_001, 60_000), (60_000, 60_000), (59_999, 59_999)):  # these are all that there are
        about = replace(made, like=Like(given, there))
        assert rehearsal(about, row, tmp_path) == f"{before} {clients} {after} {1 / 3!r} {rest}"
    ran = replace(row, run=replace(options, clients=700, epsilon=2.0))
    assert rehearsal(about, ran, tmp_path) == f"{before} 700 {after} 2 {rest}"


def test_people_who_were_made_up_with_given_facts_are_kept_for_the_command(made: Plan, tmp_path: Path) -> None:
    like, facts = Like(RunOptions(), by_facts=True), GraphFacts(300, homophily=0.3)
    assert rehearsal(replace(made, like=like), made.rows[0], tmp_path) is None
    row = replace(made.rows[0], run=RunOptions(method="vote", dataset="/tmp/gone/people.npz"))
    drawn = replace(made, like=like, facts=facts, rows=[row], choice=row, rehearsal=Rehearsal(300, 300, None))
    folder = write_files(drawn, tmp_path)[0].parent
    command = shlex.split(rehearsal(drawn, row, folder) or "")
    kept = datasets.load(command[command.index("--dataset") + 1])
    assert kept.digest == datasets.load(str(folder / "people.npz")).digest and len(kept) == 300
    assert np.array_equal(kept.labels, made_up_people(facts, like, 300).labels)
    assert f"# rehearsal: {shlex.join(command)}" in (folder / "deployment.toml").read_text()


def test_files_of_an_earlier_choice_are_removed(made: Plan, tmp_path: Path) -> None:
    first = write_files(made, tmp_path)
    folder = first[0].parent
    assert [path.name for path in first] == ["plan.json", "deployment.toml"]
    assert folder == tmp_path / f"plan-60000-user-{made.digest}"
    (folder / "plan.html").write_text("old")
    (folder / "mine.txt").write_text("kept")
    assert write_files(replace(made, choice=None), tmp_path) == (folder / "plan.json",)
    assert sorted(path.name for path in folder.iterdir()) == ["mine.txt", "plan.json"]
    assert write_files(made, tmp_path) == first and not (folder / "plan.html").exists()
