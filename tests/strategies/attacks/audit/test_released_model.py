"""The attack on a published model: an overfitted one leaks, and one that never saw a value does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpsim.devices import datasets
from ldpsim.strategies.attacks.audit.released_model import (
    LEVELS,
    altered,
    audit_released,
    draw_targets,
    published_probabilities,
    run_once,
)
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions

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
    setup = set_up(RAW, population=people)
    split = setup.repeats[0].split
    labels = people.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % people.facts.classes
    others = set_up(RAW, population=replace(people, labels=labels))
    seen = [published_probabilities(run_once(each, split), each, people) for each in (setup, others)]
    assert np.array_equal(*seen)
    labels[split.train] = (labels[split.train] + 1) % people.facts.classes
    assert not np.array_equal(
        seen[0], published_probabilities(run_once(others, split), others, people)
    )  # it does see these


def test_a_coin_changes_its_own_target_alone() -> None:
    people = datasets.load("generated", clients=120)
    targets = draw_targets(people, set_up(RAW, population=people).repeats[0].split, 3)
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
