"""Figures of noisy sums and private steps, to the digits of the public code's accountants. Covers graph_account too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import find
from ldpsim.curator.owner.privacy.aggregation import (
    NoisyTraining,
    edge_loss,
    multiplier_for,
    person_loss,
    replaced_loss,
)
from ldpsim.curator.owner.privacy.graph_account import GraphRelease

CORA = {"training": 2031, "batch": 256, "epochs": 10}
STEPS = CORA["epochs"] * CORA["training"] // CORA["batch"]


def hops(number: int) -> NoisyTraining:
    return NoisyTraining(number, 0, 1.0, 1e-5)


def steps(number: int, trainings: int) -> NoisyTraining:
    return NoisyTraining(number, trainings * STEPS, CORA["batch"] / CORA["training"], 1e-4)


def release(name: str = "gap", **given: Any) -> GraphRelease:
    method = find(name)(**{"delta": 1e-5, **given})
    return method.release(
        people=2708, training=2031, epochs=method.effective_spec().training_defaults["epochs"], epsilon=4.0
    )  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize(("epsilon", "of_hops"), [
    (1, (3.730632, 5.275910, 6.461644)), (4, (1.081162, 1.528994, 1.872627)), (8, (0.600229, 0.848852, 1.039627)),
])  # fmt: skip
def test_the_noise_of_an_arc_by_the_exact_curve(epsilon: float, of_hops: tuple[float, ...]) -> None:
    for number, sigma in enumerate(of_hops, 1):
        found = multiplier_for(hops(number), epsilon)
        assert found == pytest.approx(sigma, abs=5e-7)
        assert epsilon - 1e-6 < person_loss(hops(number), found) <= epsilon


@pytest.mark.parametrize(("epsilon", "sigma", "exact"), [
    (1, 5.720707, 0.915008), (4, 1.637048, 3.698102), (8, 0.901775, 7.437783),
])  # fmt: skip
def test_the_noise_of_the_rdp_accountant_and_what_it_really_loses(epsilon: float, sigma: float, exact: float) -> None:
    """The public search stops within 1e-3 of epsilon, so its sigma has fewer digits than the loss at that sigma."""
    assert person_loss(hops(2), sigma, "rdp") == pytest.approx(epsilon, abs=1e-3)
    assert multiplier_for(hops(2), epsilon, "rdp") == pytest.approx(sigma, rel=1e-5)
    assert person_loss(hops(2), sigma) == pytest.approx(exact, abs=5e-7)


@pytest.mark.parametrize(("epsilon", "sigma"), [(1, 7.461263), (4, 2.162324), (8, 1.200458)])
def test_the_repaired_noise_holds_for_an_undirected_edge(epsilon: float, sigma: float) -> None:
    made = replace(release(), epsilon=epsilon)
    assert made.deviation == pytest.approx(sigma, abs=5e-7)
    assert epsilon - 1e-6 < made.relationship <= epsilon + 2e-9
    printed = replace(made, undirected=False)
    assert printed.relationship > 1.4 * epsilon and printed.claimed <= epsilon + 2e-9  # the public code says epsilon


@pytest.mark.parametrize(("epsilon", "number", "trainings", "sigma"), [
    (4, 3, 2, 2.517076), (8, 2, 3, 1.549473), (16, 2, 2, 0.910736), (4, 0, 1, 1.481359),
])  # fmt: skip
def test_the_noise_of_private_steps_by_rdp(epsilon: float, number: int, trainings: int, sigma: float) -> None:
    assert person_loss(steps(number, trainings), sigma, "rdp") == pytest.approx(epsilon, abs=1e-3)
    assert multiplier_for(steps(number, trainings), epsilon, "rdp") == pytest.approx(sigma, rel=1e-5)


def test_tight_steps_hold_their_epsilon() -> None:
    asked = steps(2, 2)
    found = multiplier_for(asked, 8.0)
    assert person_loss(asked, found) <= 8.0 < person_loss(asked, found * (1 - 1e-5))
    assert found < multiplier_for(asked, 8.0, "rdp")


def test_one_step_by_the_curve_of_the_mixture() -> None:
    """delta of (1 - q) N(0) + q N(1) against N(0), both ways, integrated; the distribution rounds losses up."""
    rate, sigma, delta = 0.3, 1.1, 1e-3
    at = np.linspace(-15, 16, 400_001)

    def normal(mean: float) -> Any:
        return np.exp(-((at - mean) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))

    drawn, without = (1 - rate) * normal(0) + rate * normal(1), normal(0)

    def needed(epsilon: float) -> float:
        gaps = (drawn - math.exp(epsilon) * without, without - math.exp(epsilon) * drawn)
        return max(float(np.trapezoid(np.maximum(gap, 0), at)) for gap in gaps)

    found = person_loss(NoisyTraining(0, 1, rate, delta), sigma)
    assert needed(found) <= delta < needed(found - 2e-3)


def test_a_replaced_record_loses_at_least_what_one_step_shows() -> None:
    rate, sigma, delta = 0.3, 1.1, 1e-3
    at = np.linspace(-17, 17, 400_001)

    def drawn(mean: float) -> Any:
        both = [(1 - rate, 0.0), (rate, mean)]
        return sum(w * np.exp(-((at - m) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi)) for w, m in both)

    found = replaced_loss(NoisyTraining(0, 1, rate, delta), sigma)
    gap = np.maximum(drawn(1.0) - math.exp(found) * drawn(-1.0), 0)
    assert float(np.trapezoid(gap, at)) <= delta
    assert found < replaced_loss(NoisyTraining(0, 50, rate, delta), sigma)


def test_levels_of_both_versions() -> None:
    edge, node = release(), release(level="node", delta=1e-4)
    assert edge.guarantee("trusted curator").holds["central_node"].status == "unprotected"
    held = node.guarantee("trusted curator").holds["central_node"]
    assert held.status == "bounded" and held.value is not None and held.value <= 4.0 < held.figures["replaced"]
    assert replace(node, chosen=True).central_node().status == "unprotected"
    assert node.relationship > replace(node, refuses=True).relationship
    assert edge.guarantee("x").holds["relationship"].figures["published"] == pytest.approx(4.0, abs=1e-4)
    two = replace(node, releases=2)
    assert two.joins is not None and node.joins is not None and node.joins < two.joins < 2 * node.joins
    assert two.guarantee("x").collections == 2


def test_without_hops_and_steps_nothing_is_lost() -> None:
    nothing = NoisyTraining(0, 0, 1.0, 1e-5)
    assert (
        multiplier_for(nothing, 1.0) == person_loss(nothing, 0.0) == edge_loss(1.0, hops=0, noise=0.0, delta=0.1) == 0
    )
    assert person_loss(hops(1), 0.0) == replaced_loss(hops(1), 0.0) == math.inf


@pytest.mark.parametrize(("training", "epsilon", "accountant", "before"), [
    (NoisyTraining(3, 40, 0.1, 1e-4), 0.5, "tight", 11.006095886230469),
    (NoisyTraining(3, 40, 0.1, 1e-4), 8.0, "rdp", 1.1282215118408203),
    (NoisyTraining(2, 0, 1.0, 1e-5), 8.0, "tight", 0.8488520952832767),
])  # fmt: skip
def test_multipliers_are_those_of_the_root_finder_before(
    training: NoisyTraining, epsilon: float, accountant: str, before: float
) -> None:
    found = multiplier_for(training, epsilon, accountant)
    assert found == pytest.approx(before, rel=1e-12) and person_loss(training, found, accountant) <= epsilon
