"""Attacks on published models: an overfitted one leaks, and one that never saw a value does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from devices import datasets
from strategies.attacks.audit.published import published_probabilities, run_once
from strategies.attacks.audit.released_model import (
    LEVELS,
    ReleasedOptions,
    _options,
    altered,
    audit_released,
    draw_targets,
    parts_of_node,
)
from strategies.people.owned_graph import sparse_features
from strategies.runs.set_up import run_of, set_up

OVERFITTED = {"epochs": "60", "weight_decay": "0", "gnn_dropout": "0", "lr": "0.05"}
ASKED = ReleasedOptions(methods=("raw",), shadows=8, clients=60, settings=OVERFITTED)
RAW = replace(_options(ASKED), method="raw")


def test_a_network_that_is_overfitted_on_clear_data_leaks() -> None:
    rows = {row.level: row for row in audit_released(replace(ASKED, shadows=16))}
    assert set(rows) == set(LEVELS)
    assert rows["label"].auc > 0.6 and rows["node"].auc > 0.6
    assert all(row.passed is None and row.claimed is None for row in rows.values())  # nothing bounds it


def test_a_network_that_never_saw_a_value_publishes_the_same() -> None:
    people = datasets.load("generated", clients=60)
    setup = set_up(RAW, population=people)
    split = setup.repeats[0].split
    labels = people.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % people.facts.classes
    others = set_up(RAW, population=replace(people, labels=labels))
    seen = [published_probabilities(run_once(each, split).outcome, each, people) for each in (setup, others)]
    assert np.array_equal(*seen)
    labels[split.train] = (labels[split.train] + 1) % people.facts.classes
    assert not np.array_equal(
        seen[0], published_probabilities(run_once(others, split).outcome, others, people)
    )  # it does see these


def test_a_coin_changes_its_own_target_alone() -> None:
    people = datasets.load("generated", clients=120)
    split = set_up(RAW, population=people).repeats[0].split
    targets = draw_targets(people, split, 3)
    true = {level: np.ones(len(targets.people[level]), bool) for level in LEVELS}
    assert altered(people, targets, true).digest == people.digest
    ends = np.concatenate([targets.people[level] for level in LEVELS] + [targets.ends])
    assert len(set(ends.tolist())) == len(ends) and all(len(found) for found in true.values())
    for level in LEVELS:
        coins = {**true, level: true[level].copy()}
        coins[level][0] = False
        found, who = altered(people, targets, coins), int(targets.people[level][0])
        stranger = int(targets.strangers[who])
        moved = np.flatnonzero((sparse_features(found) != sparse_features(people)).sum(axis=1))
        assert moved.tolist() == ([who] if level in ("vector", "node") else [])
        relabelled = np.flatnonzero(found.labels != people.labels).tolist()
        assert relabelled == ([who] if level in ("label", "node") else [])
        if relabelled:
            assert found.labels[who] == people.labels[stranger]
        lost = {tuple(edge) for edge in people.edges.T.tolist()} - {tuple(edge) for edge in found.edges.T.tolist()}
        if level == "relationship":
            assert lost == {(who, int(targets.ends[0]))}
        elif level == "node":
            assert lost == {(min(who, other), max(who, other)) for other in people.record(who).neighbours.tolist()}
        else:
            assert not lost
        found._check_sizes(None)  # type: ignore[arg-type]  # raises for arrays that do not fit


def test_what_is_public_stays_if_the_rest_of_a_person_has_a_bound() -> None:
    people = datasets.load("generated", clients=60)
    found = {}
    for name in ("hogs", "raw", "rgnn"):
        settings = OVERFITTED if name == "raw" else {}
        setup = set_up(replace(RAW, method=name, settings=settings), population=people)
        found[name] = parts_of_node(run_of(setup.method).guarantee_before(setup, setup.repeats[0].split))
    assert found == {"hogs": ("vector",), "raw": ("label", "vector"), "rgnn": ("label", "vector")}
    split = setup.repeats[0].split
    targets = draw_targets(people, split, 0)
    coins = {level: np.zeros(len(targets.people[level]), bool) for level in LEVELS}
    kept = altered(people, targets, coins, found["hogs"])
    who = targets.people["node"]
    assert np.array_equal(kept.labels[who], people.labels[who]) and not kept.degrees[who].any()


def test_a_guarantee_is_compared() -> None:
    asked = ReleasedOptions(methods=("lpgnn",), shadows=8, clients=60, epsilon=1.0, settings={"epochs": "5"})
    rows = {row.level: row for row in audit_released(asked)}
    assert rows["label"].claimed is not None and rows["label"].passed is True
    assert rows["relationship"].passed is None  # the edges are public


def test_other_data_get_a_threshold_attack_on_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategies.attacks.audit.released_model.GENERATED", "none of them")
    (row,) = audit_released(ASKED)
    assert row.level == "label" and row.passed is None and 0 <= row.auc <= 1 and "threshold" in row.detail


@pytest.mark.parametrize(("given", "said"), [({"methods": ()}, "names of methods"), ({"shadows": 9}, "even number")])
def test_options_are_checked(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(ASKED, **given)  # type: ignore[arg-type]
