"""Every method of the registry says what it is, and what the curator knows before anybody is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import LPGNN, HoGS, OwnerMethod, Reference, find, table
from ldpsim.curator.methods.base import Method
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.device import Refusal
from ldpsim.devices.wire import REASONS
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.run import Refused, RunFailed, public_knowledge
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


@pytest.mark.parametrize("method, given, labels, features, edges", [
    (HoGS(), {}, True, False, False),
    (HoGS(), {"private_labels": True}, False, False, False),
    (HoGS(), {"public_features": True}, True, True, False),
    (LPGNN(), {}, False, False, True),
    (LPGNN(version="text"), {}, True, False, True),
    (LPGNN(adjacency="private"), {}, False, False, False),
])  # fmt: skip
def test_the_curator_knows_what_is_public_and_no_test_label(
    population: Population, method: Method, given: dict[str, bool], labels: bool, features: bool, edges: bool
) -> None:
    split = make_split("random", population, 0)
    options = RunOptions(method=method.spec.name, **given)  # type: ignore[arg-type]
    public = public_knowledge(population, split, options, method)
    expected = np.full(len(population), -1)
    if labels:
        expected[split.labelled] = population.labels[split.labelled]
    assert np.array_equal(public.labels, expected)
    assert (public.labels[split.test] == -1).all() and len(split.test) == 10
    assert (public.features is not None) == features and (public.edges is not None) == edges
    if public.features is not None:
        assert (public.features != sparse_features(population)).nnz == 0
    if public.edges is not None:
        assert np.array_equal(public.edges, population.edges)


@pytest.mark.parametrize(("counts", "kind", "said"), [
    ({"refused": Counter(REPORT_COLLECTED=1000, POLICY_REFUSED=200)}, Refused,
     "refused: none of 1,200 devices reported (POLICY_REFUSED 200, REPORT_COLLECTED 1,000): "),
    ({}, RunFailed, "none of 1,200 devices answered"),
])  # fmt: skip
def test_a_collection_without_a_report_says_why(counts: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as raised:
        simulate(
            RunOptions(method="rr", clients=60, out=None), collect=lambda *_, **__: Collected(asked=1200, **counts)
        )
    line = str(raised.value)
    assert line.startswith(said)
    again = "a run without --state, or with a new folder there, enrols other devices"
    assert line.endswith(again) == bool(counts)
    if counts:
        reasons = line.removeprefix(said).removesuffix(f"; {again}").split("; ")
        assert sorted(reasons) == sorted([REASONS[Refusal.REPORT_COLLECTED], REASONS[Refusal.POLICY_REFUSED]])
