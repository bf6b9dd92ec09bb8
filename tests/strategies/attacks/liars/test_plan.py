"""Plans of liars: nested draws, chosen people, and what each kind of knowledge leaves out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from devices.data.population import Population
from strategies.attacks.liars.attacks import ATTACKS
from strategies.attacks.liars.plan import LyingPlan, choose_targets, draw_liars, seed_of


def plan(population: Population, **given: object) -> LyingPlan:
    targets = np.array([4, 9])
    made = LyingPlan(ATTACKS["fakes"], "response", "untargeted", "all", population, np.array([0, 1]), targets, seed=3)
    return replace(made, **given)


def test_liars_are_nested() -> None:
    few, many = draw_liars(200, 0.05, 7), draw_liars(200, 0.2, 7)
    assert len(few) == 10 and len(many) == 40
    assert set(few) < set(many)
    assert set(draw_liars(200, 0.2, 8)) != set(many)
    assert len(draw_liars(200, 0.0, 7)) == 0


def test_chosen_people_are_honest_test_people() -> None:
    test, liars = np.arange(50, 90), np.arange(40, 60)
    chosen = choose_targets(test, liars, 8, 3)
    assert len(chosen) == 8 and set(chosen) <= set(range(60, 90))
    assert chosen.tolist() == choose_targets(test, liars, 8, 3).tolist()


def test_knowledge_decides_whom_a_liar_claims(population: Population) -> None:
    device = int(np.argmax(population.degrees))
    friends = set(population.record(device).neighbours.tolist())
    anybody = set(plan(population, knowledge="none").wanted(device).tolist())
    assert anybody == set(range(len(population))) - {device}
    assert not set(plan(population, knowledge="own").wanted(device).tolist()) & friends
    known = plan(population).wanted(device)
    assert (population.labels[known] != population.labels[device]).all()
    assert not set(known.tolist()) & friends


def test_the_goal_decides_who_comes_first(population: Population) -> None:
    for goal in ("misclassify", "connect", "influence"):
        assert plan(population, goal=goal).wanted(20)[:2].tolist() == [4, 9]
    assert not len(plan(population, goal="hide").wanted(20))


def test_liars_agree_on_features(population: Population) -> None:
    shared = plan(population).columns(5)
    assert len(set(shared.tolist())) == 5 and shared.max() < population.facts.d
    assert plan(population, seed=4).columns(5).tolist() != shared.tolist()


def test_other_class(population: Population) -> None:
    classes = population.facts.classes
    assert plan(population).other_class(5) == (population.labels[5] + 1) % classes
    assert 0 <= plan(population, knowledge="none").other_class(5) < classes


def test_seeds_have_names() -> None:
    assert seed_of("liars", 1) != seed_of("targets", 1) != seed_of("targets", 2)
