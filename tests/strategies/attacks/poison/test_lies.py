"""Lies: what each attack claims, who stays as they are, and who is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import Split
from ldpsim.strategies.attacks.poison.lies import (
    ATTACKS,
    CHOSEN_CLASS,
    SILENT,
    Liars,
    choose_targets,
    draw_liars,
    lying_people,
    with_labels_of,
)
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import load_population

N = 60


@pytest.fixture(scope="module")
def people() -> Population:
    return load_population(RunOptions(clients=N))


def liars_of(people: Population, *, join: bool, share: float = 0.2) -> Liars:
    numbers = draw_liars(N, share, 4, join=join)
    return Liars(people, numbers, choose_targets(np.setdiff1d(np.arange(20), numbers), 1), 4)


@pytest.mark.parametrize("join", [False, True])
@pytest.mark.parametrize("public_graph", [False, True])
@pytest.mark.parametrize("attack", [*ATTACKS, SILENT])
def test_honest_records_stay(attack: str, public_graph: bool, join: bool, people: Population) -> None:
    """But in a public graph, where who is named by an account gets it as a neighbour."""
    liars = liars_of(people, join=join)
    found = lying_people(liars, attack, public_graph=public_graph)
    assert len(found) == found.facts.n == N + (len(liars.numbers) if join else 0)
    for person in np.setdiff1d(np.arange(N), liars.numbers).tolist():
        true, now = people.record(person), found.record(person)
        assert now.label == true.label and np.array_equal(now.feature_indices, true.feature_indices)
        assert np.array_equal(now.feature_values, true.feature_values)
        near = now.neighbours[now.neighbours < N]
        assert np.array_equal(near, true.neighbours)
        assert len(near) == len(now.neighbours) or (public_graph and join)
    for liar in liars.numbers.tolist():
        near = found.record(liar).neighbours
        assert liar not in near and np.all(np.diff(near) > 0)
        if public_graph:
            assert all(liar in found.record(other).neighbours for other in near.tolist())


@pytest.mark.parametrize("join", [False, True])
def test_the_claims(join: bool, people: Population) -> None:
    liars = liars_of(people, join=join)
    everybody = len(people) + (len(liars.numbers) if join else 0)
    made = {name: lying_people(liars, name, public_graph=False) for name in ATTACKS}
    for liar in liars.numbers.tolist():
        claimed = {name: found.record(liar) for name, found in made.items()}
        assert len(claimed["largest-degree"].neighbours) == everybody - 1
        assert 0 < len(claimed["random"].neighbours) <= liars.links
        assert claimed["one-class"].label == claimed["pairs"].label == CHOSEN_CLASS
        others = claimed["one-class"].neighbours
        assert len(others) == liars.links and not np.any(people.labels[others] == CHOSEN_CLASS)
        mates = np.intersect1d(claimed["pairs"].neighbours, liars.numbers)
        assert np.isin(np.setdiff1d(claimed["pairs"].neighbours, mates), liars.targets).all()
        assert all(liar in made["pairs"].record(mate).neighbours for mate in mates.tolist())
    assert any(np.intersect1d(made["pairs"].record(liar).neighbours, liars.numbers).size for liar in liars.numbers)


def test_liars_are_nested_and_accounts_are_behind_the_people() -> None:
    few, many = (set(draw_liars(N, share, 4, join=False).tolist()) for share in (0.1, 0.4))
    assert len(few) == 6 and few < many
    assert draw_liars(N, 0.1, 4, join=True).tolist() == list(range(60, 66))


def test_accounts_give_labels_in_the_proportion_of_the_people() -> None:
    split = Split(np.arange(40), np.arange(40, 50), np.arange(50, 60))
    found = with_labels_of(split, np.arange(60, 70), 4)
    assert (len(found.train), len(found.val)) == (48, 12) and np.array_equal(found.test, split.test)
    assert set(found.train) | set(found.val) == {*range(50), *range(60, 70)}
