"""Audits of functions as a person writes them, and of a published model."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.special import log_softmax

from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.methods import find
from ldpsim.curator.methods.federated.silos import Silos
from ldpsim.devices import datasets
from ldpsim.devices.training_task import Task
from ldpsim.strategies.attacks.audit.audit import (
    MOST_VALUES,
    audit_callable,
    domain_of,
    sampled,
)
from ldpsim.strategies.attacks.audit.released_model import (
    LEVELS,
    altered,
    audit_released,
    draw_targets,
    published_probabilities,
    run_once,
)
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.runs.kinds.network import TwoLayers, scaled_features, scores_on_graph
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import Setup

CODE = """
import math, random
import numpy as np
P = math.exp(1) / (math.exp(1) + 3)
NOTHING = 1
def f(value, rng):
    return value if rng.random() < P else (value + int(rng.integers(1, 4))) % 4
f.law = lambda value: {v: P if v == value else (1 - P) / 3 for v in range(4)}
def old(value):
    return (value if random.random() < P else (value + np.random.randint(1, 4)) % 4), random.getrandbits(64)
def values():
    yield from 'ab'
def raising():
    return [1 / 0]
def raising_later():
    yield 1
    raise KeyError("no such value")
def nothing():
    pass
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("callee_of_tests.py").write_text(CODE)
    Path("broken_of_tests.py").write_text("1 / 0\n")
    return "callee_of_tests"


@pytest.mark.parametrize(("text", "values"), [
    ("-1:2", [-1, 0, 1, 2]), ("yes, no", ["yes", "no"]), ("1,2,5", [1, 2, 5]), ("0.5,1", [0.5, 1.0]),
    ('["a", [1, 2]]', ["a", [1, 2]]),
])  # fmt: skip
def test_forms_of_a_domain(text: str, values: list[object]) -> None:
    assert domain_of(text) == values


@pytest.mark.parametrize(("text", "said"), [
    ("3:3", "1 value;"), ("5:3", "0 values;"), ("a", "1 value;"), ("a,a", "twice"), ("a:b:c", "the forms are"),
    ("[1", "delimiter"), ("nowhere_at_all:values", "no module"),
])  # fmt: skip
def test_domains_that_are_none(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        domain_of(text)


@pytest.mark.parametrize(("function", "said"), [
    ("raising", "the function raised ZeroDivisionError: division by zero"),
    ("raising_later", "the function raised KeyError: 'no such value'"),
    ("nothing", "the function yields no values"),
])  # fmt: skip
def test_a_function_of_a_domain_that_raises_is_told_in_one_line(module: str, function: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        domain_of(f"{module}:{function}")
    assert str(refused.value) == f"--domain {module}:{function}: {said}"


@pytest.mark.parametrize("function", ["f", "old"])
def test_one_seed_gives_one_row_and_the_global_states_are_put_back(module: str, function: str) -> None:
    state, place = random.getstate(), np.random.get_state()[2]
    once, again = (audit_callable(f"{module}:{function}", "0:3", Effort(400, seed=3), claimed=1.0) for _ in range(2))
    assert once == again and all(row.passed for row in once) and len(once) == 1 + (function == "f")  # with its law
    assert random.getstate() == state and np.random.get_state()[2] == place


def test_large_domains_are_sampled_and_say_so() -> None:
    values, note = sampled(list(range(1000)), 0)
    assert len(set(values)) == MOST_VALUES and values[0] == 0 and values[-1] == 999 and "16 of 1,000" in note
    assert sampled([1, 2], 0) == ([1, 2], "")


OVERFITTED = {"epochs": "60", "weight_decay": "0", "gnn_dropout": "0", "lr": "0.05"}
RAW = RunOptions(
    method="raw", settings=OVERFITTED, reference=False, nulls=False, device="cpu", engine="local", out=None
)


def test_a_network_that_is_overfitted_on_clear_data_leaks() -> None:
    rows = {row.level: row for row in audit_released("raw", shadows=16, clients=60, settings=OVERFITTED)}
    assert set(rows) == set(LEVELS)
    assert (rows["label"].right or 0) > 0.6
    assert all(row.passed is None and row.claimed is None for row in rows.values())  # nothing bounds it


def test_a_network_that_never_saw_a_value_publishes_the_same() -> None:
    people = datasets.load("generated", clients=60)
    setup = prepare(RAW, population=people)
    split = setup.plans[0].split
    labels = people.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % people.facts.classes
    others = prepare(RAW, population=replace(people, labels=labels), divide=lambda *_: split)
    seen = [published_probabilities(run_once(each), each, people) for each in (setup, others)]
    assert np.array_equal(*seen)
    labels[split.train] = (labels[split.train] + 1) % people.facts.classes
    assert not np.array_equal(seen[0], published_probabilities(run_once(others), others, people))  # it does see these


@pytest.mark.parametrize("network", ["gcn", "sage", "gat"])
def test_a_network_of_silos_is_attacked_on_the_graph_and_without_edges(network: str) -> None:
    people, method = datasets.load("generated", clients=40), Silos(network=network)
    shape = Task("one", "own", people.facts.d, 4, people.facts.classes, 0.5, 1, seed=1, network=network).shape
    outcome = cast(Outcome, SimpleNamespace(model=TwoLayers(shape.initial(2), shape)))
    found = published_probabilities(outcome, cast(Setup, SimpleNamespace(method=method)), people)
    w1, b1, w2, b2 = shape.parts(shape.initial(2))
    own1, own2 = (w1[shape.d :], w2[shape.hidden :]) if shape.joined else (w1, w2)
    alone = np.maximum(scaled_features(people, method.scaling) @ own1 + b1, 0) @ own2 + b2
    expected = [scores_on_graph(shape, method.scaling, people)(shape.initial(2)), alone]
    assert found.shape == (2, 40, people.facts.classes)
    assert np.abs(found - log_softmax(expected, axis=2)).max() < 1e-6 < np.abs(found[0] - found[1]).max()


def test_a_network_of_own_features_is_applied_in_one_way() -> None:
    people = datasets.load("generated", clients=40)
    shape = Task("one", "own", people.facts.d, 4, people.facts.classes, 0.5, 1, seed=1).shape
    outcome = cast(Outcome, SimpleNamespace(model=TwoLayers(shape.initial(2), shape)))
    for name, ways in (("fedavg-mlp", 1), ("fedavg-gnn", 2), ("fedgcn", 2)):
        setup = cast(Setup, SimpleNamespace(method=find(name)()))
        assert len(published_probabilities(outcome, setup, people)) == ways


def test_a_coin_changes_its_own_target_alone() -> None:
    people = datasets.load("generated", clients=120)
    targets = draw_targets(people, prepare(RAW, population=people).plans[0].split, 3)
    true = {level: np.ones(len(getattr(targets, level)), bool) for level in LEVELS}
    assert altered(people, targets, true).digest == people.digest
    everybody = np.concatenate([getattr(targets, level).ravel() for level in LEVELS])
    assert len(set(everybody.tolist())) == len(everybody) and all(len(found) for found in true.values())
    assert (people.labels[targets.strangers] != people.labels).all()
    for level in LEVELS:
        coins = {**true, level: np.arange(len(true[level])) > 0}
        found, who = altered(people, targets, coins), getattr(targets, level)[0]
        moved = np.flatnonzero((sparse_features(found) != sparse_features(people)).sum(axis=1))
        assert moved.tolist() == ([who] if level == "vector" else [])
        assert np.flatnonzero(found.labels != people.labels).tolist() == ([who] if level == "label" else [])
        lost = {tuple(edge) for edge in people.edges.T.tolist()} - {tuple(edge) for edge in found.edges.T.tolist()}
        assert lost == ({tuple(who.tolist())} if level == "relationship" else set())


def test_a_guarantee_is_compared() -> None:
    rows = {row.level: row for row in audit_released("lpgnn", shadows=8, clients=60, epsilon=1.0,
                                                      settings={"epochs": "5"})}  # fmt: skip
    assert rows["label"].claimed is not None and rows["label"].passed is True
    assert rows["relationship"].passed is None  # the edges are public


def test_the_largest_seed_has_shadow_runs_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^63 - 1 times a factor is no seed; small seeds give what they gave."""
    used: list[tuple[int | None, int]] = []

    def noted(setup: Setup) -> Outcome:
        seeds = setup.plans[0].seeds
        used.append((seeds.noise, seeds.training))
        return run_once(setup)

    monkeypatch.setattr("ldpsim.strategies.attacks.audit.released_model.run_once", noted)
    given: dict[str, Any] = {"shadows": 8, "clients": 60, "epsilon": 1.0, "settings": {"epochs": "1"}}
    for seed in (2, 2**63 - 1):
        list(audit_released("lpgnn", seed=seed, **given))
    assert used[:8] == [(2_000_006 + number,) * 2 for number in range(8)]
    assert used[8:] == [(2**63 - 1_000_003 + number,) * 2 for number in range(8)]
