from __future__ import annotations

import math

import pytest

from ldpsim.curator.owner.privacy.account import LabelRelease, account
from ldpsim.devices.data.population import Population
from ldpsim.strategies.experiments.compare import _solve, guarantee_before, match
from ldpsim.strategies.results.in_words import held
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import load_population


@pytest.fixture(scope="module")
def population() -> Population:
    return load_population(RunOptions(clients=120, out=None))


def options(method: str, **more: object) -> RunOptions:
    return RunOptions(method=method, clients=120, out=None, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "level", "target", "epsilon"),
    [
        # an edge stands in two lists: 2 (1 - .1) epsilon = 2
        ("hogs", "relationship", 2.0, 1 / 0.9),
        ("hogs", "bit", 1.8, 2.0),
        ("solitude", "relationship", 2.0, 1 / 0.9),
        # 600 features at .1 epsilon each
        ("hogs", "vector", 4.0, 4 / 60.0),
        # 119 bits at .9 epsilon, 600 features at .1
        ("hogs", "user", 8.0, 8 / (119 * 0.9 + 60.0)),
        ("lpgnn", "vector", 0.5, 5.0),
        ("blink", "relationship", 3.0, 1.5),
        ("lp-and", "relationship", 3.0, 1.5),
        ("rgnn", "vector", 3.0, None),
        ("fp-blink", "vector", 3.0, None),
    ],
)
def test_the_budget_is_the_one_worked_out_by_hand(
    method: str, level: str, target: float, epsilon: float | None, population: Population
) -> None:
    found = match(options(method), population, level, target)
    assert found.reason == ""
    assert epsilon is None or found.options.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert found.holds is not None and target * (1 - 1e-6) <= found.holds <= target
    run = guarantee_before(set_up(found.options, population=population))
    assert held(run.to_dict()["holds"], level)["value"] == found.holds  # a run with this budget holds it


def test_an_owners_knob_is_its_noise(population: Population) -> None:
    found = match(options("privgnn", settings={"queries": "20"}), population, "central_node", 2.0)
    scale = float(found.options.settings["lambda_"])
    people = 48  # 40% of 120
    classes = population.facts.classes
    cost = account("privgnn", LabelRelease(queries=20, lambda_=scale, delta=1e-2, classes=classes, nodes=people))
    assert cost.label == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(
    ("method", "level", "said"),
    [
        ("raw", "user", "in clear at the level of a person: raw data, no noise"),
        ("mlp", "relationship", "nothing is asked at the level of a relationship"),
        ("lpgnn", "relationship", "in clear at the level of a relationship: edges are public"),
        ("blink", "vector", "in clear at the level of all features: features are public"),
        ("hogs", "central_node", "nothing is asked at the level of a person in owned data"),
        ("privgnn", "user", "in clear at the level of a person"),
    ],
)
def test_a_method_that_cannot_says_why(method: str, level: str, said: str, population: Population) -> None:
    given = options(method, settings={"queries": "20"} if method == "privgnn" else {})
    found = match(given, population, level, 2.0)
    assert found.reason.startswith(said)
    assert found.options == given and found.holds is None


@pytest.mark.parametrize("method", ["vote", "hogs", "blink"])
def test_public_features_leave_the_loss_of_the_reports_to_be_made_equal(method: str, population: Population) -> None:
    given = options(method, public_features=method != "blink")  # its features are always public
    found = match(given, population, "user", 4.0)
    assert found.holds == pytest.approx(4.0, rel=1e-6)
    assert "its features are public" in found.reason and found.reason.endswith("all that is reported is 4")
    level = guarantee_before(set_up(found.options, population=population)).holds["user"]
    assert (level.value, level.public) == (None, ("features",))
    assert level.private_value == found.holds and found.of_reports
    assert match(given, population, "vector", 4.0).holds is None


def test_a_budget_given_by_its_parts_leaves_nothing_to_solve_for(population: Population) -> None:
    found = match(options("hogs", eps_adjacency=3.0), population, "relationship", 2.0)
    assert found.reason == "no budget gives it: its loss does not depend on the budget"
    found = match(options("hogs", eps_adjacency=3.0), population, "relationship", 9.0)
    assert found.reason.startswith("no budget gives it: the most that it loses below 9 is 6")


def test_steps_and_walls() -> None:
    assert _solve(lambda e: 2 * e, 1.0, 3.0) == pytest.approx((1.5, 3.0))
    stairs = _solve(lambda e: float(math.floor(e)), 1.0, 3.5)
    assert stairs == "no budget gives it: the most that it loses below 3.5 is 3"

    def walled(budget: float) -> float:
        if not 0.5 <= budget <= 4:
            raise ValueError("not with this threshold")
        return budget

    assert _solve(walled, 1.0, 3.0) == pytest.approx((3.0, 3.0))
    assert _solve(walled, 1.0, 0.1) == "no budget gives it (not with this threshold)"
    assert str(_solve(walled, 1.0, 9.0)).endswith("below 9 is 4 (not with this threshold)")
    calls = []
    exact = _solve(lambda e: calls.append(e) or math.expm1(e), 1.0, 20.0)  # type: ignore[func-returns-value]
    assert exact == pytest.approx((math.log(21), 20.0), rel=1e-8) and len(calls) < 20
