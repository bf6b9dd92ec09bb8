"""Answers of the vote's family: their laws are those that are said, and expectations are those of draws."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from benchmarks.papers import vote_family as family
from devices.datasets.generated import generate
from devices.mechanisms import GRR


@pytest.mark.parametrize(("width", "size"), [(2, 1), (5, 1), (5, 2), (7, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_set_loses_epsilon_exactly(width: int, size: int, epsilon: float) -> None:
    law = family.subsets(width, size, epsilon)
    assert law.shape == (width, math.comb(width, size)) and law.sum(axis=1) == pytest.approx(np.ones(width))
    ratios = [np.log(law[a] / law[b]).max() for a, b in itertools.permutations(range(width), 2)]
    assert ratios == pytest.approx([epsilon] * len(ratios))
    if size == 1:
        grr = GRR.from_epsilon(epsilon, categories=width)
        assert law[0].tolist() == pytest.approx([math.exp(grr.log_probability(r, 0)) for r in range(width)])


@pytest.fixture(scope="module")
def people() -> family.Voters:
    return family.voters(generate(120, 24, 3, seed=2), 1000)


def test_people_are_ranked_by_their_own_evidence(people: family.Voters) -> None:
    assert (np.diff(people.own, axis=1) <= 0).all() and np.exp(people.own).sum(axis=1) == pytest.approx(np.ones(120))
    assert (people.known[people.split.train].max(axis=1) == 1).all()


def test_an_expectation_is_the_mean_of_draws(people: family.Voters) -> None:
    law = family.subsets(3, 1, 1.0)[people.scores.argmax(axis=1)]
    test, train = people.split.test, people.split.train
    found = family.expected(people, law, test)
    base = law[train].mean(axis=0)
    m = np.array([law[train][people.truth[train] == t].sum(axis=0) + family.PRIOR * base for t in range(3)])
    m /= m.sum(axis=1, keepdims=True)
    rng, hits = np.random.default_rng(0), []
    for _ in range(2000):
        seen = (rng.random(len(test))[:, None] > law[test].cumsum(axis=1)).sum(axis=1).clip(max=2)
        hits.append(np.mean((people.own[test] + np.log(m[:, seen]).T).argmax(axis=1) == people.truth[test]))
    assert found == pytest.approx(np.mean(hits), abs=5 * np.std(hits) / math.sqrt(len(hits)))
    assert family.expected(people, np.full((120, 2), 0.5), test) == np.mean(people.truth[test] == 0)


def test_a_graded_law_stays_within_its_budgets(people: family.Voters) -> None:
    law = family.graded(people, 2.0, 0.5)
    odds = np.log(law[:, 1] / law[:, 0])
    assert law.sum(axis=1) == pytest.approx(np.ones(120)) and np.abs(odds).max() <= 2.0 + 1e-12
    steep = family.graded(people, 2.0, 50.0)
    assert np.abs(np.log(steep[:, 1] / steep[:, 0])).max() == pytest.approx(2.0)


def test_rows_and_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    small = generate(120, 24, 3, seed=2)
    monkeypatch.setattr(family, "BUDGETS", (2.0,))
    monkeypatch.setattr(family.datasets, "load", lambda *_, **__: small)
    found: list[Any] = list(family.rows("small", 1000, None))
    assert [row[3] for row in found] == ["grr", "counts", "identity", "graded", "graded"]  # three classes: no sets
    assert all(0 <= row[5] <= 1 for row in found)
    shown = family.table([
        dict(zip(family.COLUMNS, map(str, (*row[:5], row[5], row[5] - row[6])), strict=True)) for row in found
    ])  # fmt: skip
    assert shown.splitlines()[0].startswith("| data set | epsilon | grr |") and len(shown.splitlines()) == 3
