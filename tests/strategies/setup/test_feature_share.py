from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ldpsim.curator.methods.feature_share import feature_share
from ldpsim.devices.data.population import Population
from ldpsim.strategies.experiments.compare import guarantee_before, match
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import RunSetup, load_population
from ldpsim.strategies.setup.settings import CHOSEN

OPTIONS = RunOptions(method="sbp", clients=400, reference=False, nulls=False, device="cpu", out=None)


@pytest.fixture(scope="module")
def population() -> Population:
    return load_population(OPTIONS)


def made(population: Population, **given: Any) -> RunSetup:
    return set_up(replace(OPTIONS, **given), population=population)


def test_a_share_is_chosen_from_public_facts_and_hashed_as_if_it_were_given(population: Population) -> None:
    facts, split = population.facts, made(population).repeats[0].split
    for epsilon in (0.5, 40.0):
        setup = made(population, epsilon=epsilon)
        share = feature_share(facts, len(split.train), epsilon)
        assert setup.budget.feature_share == share and (share > 0) == (epsilon > 10)
        assert setup.settings.provenance["feature_share"] == CHOSEN
        given = made(population, epsilon=epsilon, feature_share=share)
        assert given.digest == setup.digest == made(population, epsilon=epsilon, feature_share="auto").digest
        assert "feature_share" not in given.settings.provenance
    asked = [setup.method.questions(facts, split, made(population, epsilon=epsilon).budget, "c")[0].query.attributes
             for epsilon in (0.5, 40.0)]  # fmt: skip
    assert asked == [("adjacency",), ("adjacency", "features")]


def test_nothing_private_decides(population: Population) -> None:
    changed = load_population(replace(OPTIONS, seed=5))
    assert changed.facts == population.facts and changed.digest != population.digest
    for epsilon in (0.5, 8.0, 15.0, 40.0):
        ours, theirs = made(population, epsilon=epsilon), made(changed, epsilon=epsilon)
        assert ours.budget == theirs.budget


@pytest.mark.parametrize(
    ("given", "share", "chosen"),
    [
        ({"epsilon": 15.0, "feature_share": 0.25}, 0.25, False),
        ({"feature_share": 0}, 0, False),
        ({"public_features": True}, 0.1, False),  # nothing to divide, and older hashes stay
        ({"eps_adjacency": 12.0}, 0.0, True),
        ({"eps_adjacency": 3.0, "eps_features": 1.0}, 0.0, True),
        ({"settings": {"asks": "solitude"}}, 0.1, False),
        ({"method": "hogs"}, 0.1, False),
        ({"method": "hogs", "feature_share": 0.0, "eps_features": 1.0}, 0.0, False),
    ],
)
def test_the_share_in_force(given: dict[str, Any], share: float, chosen: bool, population: Population) -> None:
    setup = made(population, **given)
    assert setup.budget.feature_share == share
    assert (setup.settings.provenance.get("feature_share") == CHOSEN) == chosen


def test_a_match_solves_with_the_share_of_the_budget_that_it_finds(population: Population) -> None:
    for level, target in (("relationship", 4.0), ("relationship", 16.0)):
        found = match(replace(OPTIONS, epsilon=None), population, level, target)
        assert found.holds == pytest.approx(target, rel=0.01) and not found.reason
        assert isinstance(found.options.feature_share, float)
        held = guarantee_before(set_up(found.options, population=population)).to_dict()["holds"][level]["value"]
        assert held == found.holds
    assert match(OPTIONS, population, "relationship", 4.0).options.feature_share == 0.0
