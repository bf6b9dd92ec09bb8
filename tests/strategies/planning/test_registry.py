from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from curator.methods import find
from strategies import RunOptions, simulate
from strategies.estimate.graph_facts import GraphFacts
from strategies.outputs.registry import TO_FILL, Deployment, registry_records
from strategies.planning.plan import Plan
from strategies.planning.registry import finished, planned
from strategies.planning.rehearsal import Rehearsal
from strategies.planning.wishes import Wishes
from strategies.results.folder import text_of
from tests.strategies.planning.on_paper import plan_on_paper
from tests.strategies.registry_schemas import mistakes, named_schema

# Units and mechanisms of a method, in a plan and in a run.
METHODS = {
    "hogs": (["relationship", "user", "node"], ["randomized_response on adjacency", "one_bit on features"]),
    "lpgnn": (["vector", "label"], ["multi_bit on features", "grr on label"]),
    "vote": (["relationship", "user", "node"], ["neighbourhood_vote on adjacency"]),
    "ldp-fedavg": (["user"], ["gaussian_update"]),
    "dp-fedavg": (["central_node"], ["gaussian"]),
    "privgnn": (["central_node"], ["laplace"]),
}
QUICK = {
    "hogs": {"epochs": "3"}, "lpgnn": {"epochs": "3", "k_x": "2", "k_y": "2"}, "ldp-fedavg": {"rounds": "2"},
    "dp-fedavg": {"rounds": "2"}, "privgnn": {"K": "8", "queries": "3", "epochs": "3"},
}  # fmt: skip


@cache
def _planned(name: str) -> Plan:
    options = RunOptions(feature_share=0.1) if name == "hogs" else RunOptions()
    return plan_on_paper([name], options, GraphFacts(60_000), Wishes())


@cache
def _run(name: str, **more: Any) -> str:
    options = RunOptions(method=name, settings=QUICK.get(name, {}), reference=False, nulls=False, out=None, clients=300,
                         feature_share=0.3 if name == "hogs" else None, **more)  # fmt: skip
    return text_of(simulate(options).record)


def of_plan(name: str) -> Deployment:
    made = _planned(name)
    return planned(made, made.rows[0])


def of_run(name: str, **more: Any) -> Deployment:
    return finished(json.loads(_run(name, **more)))


@pytest.mark.parametrize("described", [of_plan, of_run])
@pytest.mark.parametrize("name", METHODS)
def test_plans_and_runs_have_valid_records_with_their_own_mechanisms(name: str, described: Any) -> None:
    checked, of = named_schema(), described(name)
    units, mechanisms = METHODS[name]
    records = registry_records(of)
    assert list(records) == units and list(of.mechanisms) == mechanisms
    for unit, record in records.items():
        assert mistakes(record, checked) == []
        parts = record["deployment"]
        entry = of.holds[unit]
        assert entry["status"] == "bounded"
        assert parts["privacy_loss"]["privacy_parameters"]["epsilon"] == entry["value"]
        lines = parts["implementation"]["mechanisms"].splitlines()
        assert [line.removeprefix("- Mechanism: ") for line in lines if line.startswith("- Mechanism: ")] == mechanisms


@pytest.mark.parametrize("name", ["raw", "mlp", "fedavg-mlp", "b1", "isolate"])
def test_a_run_that_protects_nothing_has_no_record(name: str) -> None:
    options = RunOptions(method=name, reference=False, nulls=False, out=None, clients=100,
                         settings={"rounds": "2"} if name == "fedavg-mlp" else {})  # fmt: skip
    assert registry_records(finished(json.loads(text_of(simulate(options).record)))) == {}


def test_a_label_that_is_asked_brings_its_mechanism() -> None:
    of = of_run("hogs", private_labels=True, eps_labels=2.0)
    assert of.mechanisms == (*METHODS["hogs"][1], "grr on label")
    options = RunOptions(private_labels=True, eps_labels=2.0, label_mechanism="subset_selection", feature_share=0.1)
    made = plan_on_paper(["hogs"], options, GraphFacts(600), Wishes())
    assert planned(made, made.rows[0]).mechanisms == (*METHODS["hogs"][1], "subset_selection on label")


def test_a_plan_of_a_vote_at_4_says_what_the_person_s_figure_hides() -> None:
    made = plan_on_paper(["vote"], RunOptions(), GraphFacts(60_000), Wishes(holds=4.0))
    records = registry_records(planned(made, made.rows[0]))
    losses = {unit: record["deployment"]["privacy_loss"] for unit, record in records.items()}
    assert {unit: loss["privacy_parameters"]["epsilon"] for unit, loss in losses.items()} == {
        "relationship": pytest.approx(8.0), "user": pytest.approx(4.0), "node": pytest.approx(240_000.0),
    }  # fmt: skip
    assert all("at most 4 + 8 D where nobody" in loss["privacy_parameters_details"] for loss in losses.values())


def test_a_plan_says_that_nobody_was_asked_and_on_whom_it_was_rehearsed() -> None:
    made = _planned("vote")
    of = planned(made, made.rows[0])
    assert "nobody was asked" in of.notes and of.tuning.endswith("Nothing was rehearsed.")
    assert of.why.startswith("8: the least loss") and "one vote on the neighbours' classes" in of.product
    for like, said in ((None, "on made-up people."), ("cora", "on cora; what that reveals of these people is not")):
        assert said in planned(replace(made, rehearsal=Rehearsal(600, 60_000, like)), made.rows[0]).tuning


def test_a_seeded_run_says_that_its_own_reports_are_not_private() -> None:
    record = json.loads(_run("vote"))
    of = finished(record)
    assert of.notes.startswith("A simulation by ldpsim ") and "with the people of generated" in of.notes
    assert "so these reports are not private" in of.notes and record["config_hash"] in of.notes
    assert of.facts.n == 300 and of.why.startswith(TO_FILL) and not of.many
    real = finished({**record, "simulation_seeded": False})
    assert "not private" not in real.notes
    privacy = {**record["privacy"], "collections": 3, "repeats": "again", "searched": 20}
    again = finished({**record, "privacy": privacy})
    assert again.many and "count 3 collections" in again.notes and again.tuning.startswith("20 collections were made")
    assert not finished({**record, "privacy": {**privacy, "repeats": "instead"}}).many


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("config", "budget"), None, "lacks a part of a run"),
        (("config", "parameters"), None, "lacks a part of a run"),
        (("config", "budget"), {"other": 1}, "lacks a part of a run"),
        (("privacy", "searched"), None, "lacks a part of a run"),
        (("method",), "nothing", "nothing"),
    ],
)
def test_a_record_that_lacks_a_part_is_one_line(path: tuple[str, ...], value: Any, said: str) -> None:
    record = json.loads(_run("vote"))
    *above, last = path
    part = record
    for name in above:
        part = part[name]
    if value is None:
        del part[last]
    else:
        part[last] = value
    with pytest.raises(ValueError, match=said) as raised:
        finished(record)
    assert "\n" not in str(raised.value)


def test_an_owner_s_record_names_the_owner() -> None:
    (record,) = registry_records(of_run("privgnn")).values()
    parts = record["deployment"]
    assert parts["deployment_model"]["model_name"] == "Central" and find("privgnn").trust == "trusted curator"
    assert "handed to the trusted owner in clear" in parts["dp_variant"]["unprotected_quantities"]
    assert parts["privacy_loss"]["privacy_unit"] == "a person in owned data"
