"""Every method of the registry says what it is; golden runs have each as a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.curator.methods import OwnerMethod, Reference, find, table
from ldpsim.devices.data.splits import make_split
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.runs.set_up import set_up

EVERY = sorted(table())
SETTINGS: dict[str, dict[str, str]] = {"rgnn": {"C": "4"}, "lpgnn": {"k_x": "2", "k_y": "2"}}


@pytest.mark.parametrize("name", EVERY)
def test_it_says_what_it_is(name: str) -> None:
    """The list of ``ldpsim methods`` names the mechanisms by which people are asked."""
    kind = find(name)
    spec = kind.spec
    assert spec.name == name and spec.paper and spec.trust in ("untrusted curator", "trusted curator", "none")
    assert set(kind.spec.private) <= {"adjacency", "features", "label"}
    if issubclass(kind, OwnerMethod | Reference) or spec.in_rounds:
        return
    assert kind.spec.trust == "untrusted curator"
    given = {"feature_share": 0.3} if spec.auto_share else {}  # so few people are asked for no features by default
    setup = set_up(RunOptions(method=name, settings=SETTINGS.get(name, {}), clients=60, out=None, **given))
    facts = setup.population.facts
    split = make_split("random", setup.population, 0)
    questions = setup.settings.method.questions(facts, split, setup.budget, "c")
    stages = [stage for question in questions for stage in question.query.plan]
    asked = {ask.attribute: {m.name for m in ask.mechanisms} for stage in stages for ask in stage}
    assert set(asked) == set(kind.spec.private)
    assert set().union(*asked.values()) <= set(kind.spec.mechanisms)


PUBLIC = ("blink", "rr", "symrr", "dprr", "ldpgcn", "ldpgen")


@pytest.mark.parametrize("asks", ["rgnn", "lpgnn", "solitude", "fp-solitude", "blink", "symrr", "dprr"])
def test_sbp_reads_the_answers_to_any_question(asks: str, tmp_path: Path) -> None:
    options = RunOptions(
        method="sbp", clients=60, settings={"asks": asks}, epsilon=12.0, public_features=asks in PUBLIC,
        reference=False, nulls=False, out=tmp_path / "runs",
    )  # fmt: skip
    record = simulate(options).record
    assert record["devices"]["reported"] == 60 and 0 <= record["accuracy"]["test"] <= 1
    assert (
        record["reconstruction"]["posterior"]["answer"] in record["reconstruction"]["posterior"]["validation_accuracy"]
    )
