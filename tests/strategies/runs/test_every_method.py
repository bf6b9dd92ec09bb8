"""Every method says what it is; the curator knows what is public, and a reference reads what its method reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import LPGNN, HoGS, OwnerMethod, Reference, find, table
from ldpsim.curator.methods.base import Method
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.facts import IntArray
from ldpsim.devices.query import ATTRIBUTES
from ldpsim.devices.wire import REASONS
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.people.division import Division
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.results.outcome import Predictions
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.asking import no_report
from ldpsim.strategies.runs.errors import Refused, RunFailed
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import Repeat, public_knowledge
from ldpsim.strategies.setup.read_options import read_alone
from ldpsim.strategies.setup.run_setup import Setup

EVERY = sorted(table())
SETTINGS: dict[str, dict[str, str]] = {"rgnn": {"C": "4"}, "lpgnn": {"k_x": "2", "k_y": "2"}}


@pytest.mark.parametrize("name", EVERY)
def test_it_says_what_it_is(name: str) -> None:
    """The list of ``ldpsim methods`` names the mechanisms by which people are asked."""
    kind = find(name)
    spec = kind.spec
    assert spec.name == name and spec.paper and spec.trust in ("untrusted curator", "trusted curator", "none")
    assert set(kind.spec.private) <= {"adjacency", "features", "label"}
    if issubclass(kind, OwnerMethod | Reference) or spec.in_rounds or spec.trained_by == "friends":
        return
    assert kind.spec.trust == "untrusted curator"
    # So few people are asked for no features by default.
    given = {"feature_share": 0.3} if kind().features_optional else {}
    volunteers = 0.3 if find(name).needs_volunteers else None
    setup = prepare(RunOptions(method=name, settings=SETTINGS.get(name, {}), clients=60, out=None,
                               volunteers=volunteers, **given))  # fmt: skip
    facts = setup.population.facts
    split = make_split("random", setup.population, 0, volunteers=volunteers)
    questions = setup.settings.method.questions(facts, split, setup.budget, "c")
    stages = [stage for question in questions for stage in question.query.plan]
    asked = {
        ask.attribute: {m.name for m in ask.mechanisms if not volunteers or not m.in_clear}
        for stage in stages
        for ask in stage
    }
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
    error = no_report(Collected(asked=1200, **counts))
    line = str(error)
    assert type(error) is kind
    assert line.startswith(said)
    again = "a run without --state, or with a new folder there, enrols other devices"
    assert line.endswith(again) == bool(counts)
    if counts:
        reasons = line.removeprefix(said).removesuffix(f"; {again}").split("; ")
        assert sorted(reasons) == sorted([REASONS[Refusal.REPORT_COLLECTED], REASONS[Refusal.POLICY_REFUSED]])


PEOPLE = generate(160, 30, 3, seed=2)
GIVEN: dict[str, dict[str, Any]] = {
    "as it is": {},
    "private labels": {"private_labels": True, "eps_labels": 2.0},
    "volunteers": {"volunteers": 0.3},
    "volunteers and labels": {"volunteers": 0.3, "private_labels": True},
}


def runs() -> list[tuple[str, str]]:
    """Return each method that asks people: without options, and with the last row of options that it reads all of."""
    found = []
    for name, kind in table().items():
        if kind.spec.reads:
            continue
        unread = {words: read_alone(RunOptions(method=name, **more))[1] for words, more in GIVEN.items()}
        rows = [words for words, more in GIVEN.items() if not set(more) & set(unread[words])
                and (more.get("volunteers") or not kind.needs_volunteers)]  # fmt: skip
        found += [(name, words) for words in dict.fromkeys((*rows[:1], *rows[-1:]))]
    return found


@cache
def setup_of(name: str, words: str) -> Setup:
    queries = {"queries": "20"} if "queries" in vars(find(name)()) else {}
    return prepare(RunOptions(method=name, settings=queries, **GIVEN[words]), population=PEOPLE)


def read_by(setup: Setup) -> dict[str, list[IntArray]]:
    """Return whose attributes the method reads, in groups: those who are asked, or the people who train."""
    split, n = setup.plans[0].split, len(setup.population)
    if setup.method.spec.trained_by != "curator":
        people = split.private if isinstance(split, Division) else split.train
        lists = [] if getattr(setup.method.spec, "sees", "") == "own" else [people]
        return {"adjacency": lists, "features": [people], "label": [people]}
    found = {attribute: np.zeros(0, np.int64) for attribute in ATTRIBUTES}
    for question in setup.plans[0].questions:
        people = np.arange(n) if question.devices is None else question.devices
        for name in {name for stage in question.query.plan for ask in stage for name in ask.attributes}:
            found[name] = np.union1d(found[name], people)
    label = [np.intersect1d(found["label"], part) for part in (split.ordinary, split.labelled)]
    return {**{name: [people] for name, people in found.items()}, "label": label}


def reference(setup: Setup, people: Population, home: Path) -> Predictions | None:
    setup = replace(setup, people=people)
    made = kind_of(setup.method).reference(Repeat(setup, setup.plans[0], 0, home, home, None, "c", False))
    return made and made.train(replace(made.settings, epochs=15, lr=0.1))


@pytest.mark.parametrize(("name", "words"), runs())
def test_a_reference_reads_everything_that_its_method_reads(name: str, words: str, tmp_path: Path) -> None:
    """With an attribute of other people in those whose attribute the method reads, it says something else."""
    setup = setup_of(name, words)
    own = reference(setup, setup.population, tmp_path)
    if own is None:
        pytest.skip("it has no reference")
    for attribute, groups in read_by(setup).items():
        for among in groups:
            if len(among) > 1:
                other = reference(setup, shuffled(setup.population, [attribute], 3, among=among), tmp_path)
                assert not np.array_equal(own, other), (attribute, len(among))


def test_a_labelled_neighbour_is_one_whose_label_was_asked_or_given(tmp_path: Path) -> None:
    """Witnesses, whose answer says whether the vote is the label, tell nobody their label."""
    options = RunOptions(method="vote", clients=400, out=None, reference=False, **GIVEN["volunteers and labels"])
    record = simulate(options).record
    setup = prepare(options)
    split, people = setup.plans[0].split, setup.population
    told = np.zeros(len(people), bool)
    for question in setup.plans[0].questions:
        if any(ask.attribute == "label" for ask in question.query.plan[0]):
            told[question.devices] = True
    lists = np.split(people.neighbour_indices, people.neighbour_indptr[1:-1])
    expected = sum(bool(told[lists[person]].any()) for person in split.test)
    assert split.labelled.size < told.sum() < split.labelled.size + split.ordinary.size
    rows = {row["group"]: row["people"] for row in record["groups"]["rows"] if row["by"] == "labelled_neighbour"}
    assert rows == {"yes": expected, "no": len(split.test) - expected}
