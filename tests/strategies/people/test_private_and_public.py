"""Divisions of people for an owner's method.

Covers owned_graph and owner_graphs (with runs/test_owner.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import load
from ldpsim.devices.facts import Split
from ldpsim.strategies.people import owner_graphs as private_and_public
from ldpsim.strategies.people.owner_graphs import divide


def test_parts_share_nobody_and_repeat(population: Population) -> None:
    first, again, other = divide(population, 1), divide(population, 1), divide(population, 2)
    for name in ("private", "asked", "scored"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.private, other.private)
    everybody = np.concatenate([first.private, first.asked, first.scored])
    assert len(np.unique(everybody)) == len(everybody) == len(population)
    assert (len(first.private), len(first.asked), len(first.scored)) == (16, 12, 12)


def test_people_without_a_label_are_in_no_part(population: Population) -> None:
    labels = population.labels.copy()
    labels[:20] = -1
    division = divide(replace(population, labels=labels), 0)
    assert min(division.private.min(), division.public.min()) >= 20
    labels[:] = -1
    with pytest.raises(ValueError, match="too few"):
        divide(replace(population, labels=labels), 0)


def test_a_graph_too_small_for_its_own_rule_takes_the_general_one(population: Population) -> None:
    assert divide(replace(population, name="computers"), 0).rule.startswith("40%")


def test_arxiv_takes_the_years(population: Population) -> None:
    split = Split(np.arange(20), np.arange(20, 30), np.arange(30, 40))
    division = divide(replace(population, name="ogbn-arxiv", own_split=split), 0)
    np.testing.assert_array_equal(division.private, split.train)
    np.testing.assert_array_equal(division.asked, split.val)
    np.testing.assert_array_equal(division.scored, split.test)


@pytest.mark.parametrize("name, private, half, each", [("computers", 2500, 3000, 250), ("cora", 700, 1000, 100),
                                                       ("pubmed", 3000, 3000, 1000)])  # fmt: skip
def test_the_stated_rules_on_real_data(data_dir: object, name: str, private: int, half: int, each: int) -> None:
    population = load(name, data_dir=data_dir)  # type: ignore[arg-type]
    division = divide(population, 0)
    assert (len(division.private), len(division.asked), len(division.scored)) == (private, half, half)
    assert set(np.bincount(population.labels[division.private])) == {each}


def test_people_of_each_class_are_drawn(population: Population, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule by class: neither the private people of a class nor the public ones are the first."""
    monkeypatch.setitem(private_and_public._BY_CLASS, "generated", (3, 5))
    people = replace(population, name="generated")
    divisions = [divide(people, seed) for seed in range(8)]
    assert divisions[0].rule.startswith("3 a class")
    for part in ("private", "asked", "scored"):
        assert len({tuple(getattr(division, part).tolist()) for division in divisions}) == 8
    for division in divisions:
        assert set(np.bincount(people.labels[division.private])) == {3}
        assert not set(division.private) & set(division.public) and len(division.public) == 10
    rest = np.setdiff1d(np.arange(len(people)), divisions[0].private)
    assert not np.array_equal(divisions[0].asked, rest[:5])


def test_only_arxiv_with_its_own_parts_takes_the_years(population: Population) -> None:
    split = Split(np.arange(20), np.arange(20, 30), np.arange(30, 40))
    general = divide(population, 0)
    for other in (replace(population, own_split=split), replace(population, name="ogbn-arxiv")):
        division = divide(other, 0)
        assert division.rule.startswith("40%") and np.array_equal(division.private, general.private)
