"""Subset selection by exhaustive enumeration, and the figures of its paper."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.curator.attacks.mechanism_audit import Effort, audit_mechanism
from ldpsim.devices.mechanisms import SubsetSelection
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.noise import NoiseStream


def sets(mechanism: SubsetSelection) -> list[np.ndarray]:
    """Return every report."""
    chosen = itertools.combinations(range(mechanism.categories), mechanism.size)
    return [np.isin(np.arange(mechanism.categories), some) for some in chosen]


@pytest.mark.parametrize(("k", "epsilon", "size"), [(5, 0.5, 2), (7, 0.5, 3), (7, 1.0, 2), (4, 2.0, 1), (2, 1.0, 1)])
def test_law_loss_estimate_variance(k: int, epsilon: float, size: int, law) -> None:
    """Every way of drawing, and every set; the enumeration fails on a set of another law or size."""
    mechanism = SubsetSelection.from_epsilon(epsilon, categories=k)
    assert mechanism.size == size
    reports = sets(mechanism)
    table = np.array([[mechanism.log_probability(report, value) for report in reports] for value in range(k)])
    assert np.exp(table).sum(axis=1) == pytest.approx(np.ones(k), abs=1e-12)
    for value in range(k):
        drawn, lost = law(lambda noise, value=value: mechanism.perturb(value, noise))
        assert lost == 0 and sum(drawn.values()) == pytest.approx(1, abs=1e-12)
        stated = {report.tobytes(): math.exp(table[value, at]) for at, report in enumerate(reports)}
        assert drawn == pytest.approx(stated, abs=1e-12)
    for at, report in enumerate(reports):  # what a report says for one value against another
        evidence = mechanism.evidence(report)
        assert evidence - evidence[0] == pytest.approx(table[:, at] - table[0, at], abs=1e-9)
    loss = mechanism.loss()
    assert loss.bit == loss.vector == epsilon  # rounded up to the ninth digit, and never above what was asked for
    assert loss.bit == pytest.approx(float(np.max(table[:, None] - table[None])), abs=2e-9)  # attained
    estimates = np.array([mechanism.estimate(report) for report in reports])
    named = np.array(reports)
    for value in range(k):
        chance, onehot = np.exp(table[value]), (np.arange(k) == value).astype(float)
        held = chance @ named
        assert held[value] == pytest.approx(mechanism.truth_probability)
        assert np.delete(held, value) == pytest.approx(np.full(k - 1, mechanism.other_probability))
        assert chance @ estimates == pytest.approx(onehot, abs=1e-9)


@pytest.mark.parametrize(("k", "epsilon"), [(7, 0.5), (7, 1.0), (70, 1.0), (1000, 3.0), (3, 20.0)])
def test_the_threshold_is_the_papers_probability_and_the_loss_never_exceeds_epsilon(k: int, epsilon: float) -> None:
    mechanism = SubsetSelection.from_epsilon(epsilon, categories=k)
    w, e = mechanism.size, math.exp(epsilon)
    assert w == max(1, round(k / (e + 1)))
    assert mechanism.truth_probability == pytest.approx(w * e / (w * e + k - w), rel=1e-12)
    exact = Fraction((ONE - mechanism.miss) * (k - w), mechanism.miss * w)
    assert math.log(exact) <= epsilon + 1e-15 * epsilon
    assert epsilon - 1e-9 <= mechanism.loss().vector <= epsilon


def test_as_much_is_drawn_whatever_the_label_and_the_outcome() -> None:
    class Counting(NoiseStream):
        drawn = 0

        def _draw(self, lane: int, size: int) -> np.ndarray:
            self.drawn += size
            return super()._draw(lane, size)

    mechanism, counts = SubsetSelection.from_epsilon(0.5, categories=7), set()
    for value, seed in itertools.product(range(7), range(20)):
        stream = Counting(bytes([seed]) * 32)
        mechanism.perturb(value, stream)
        counts.add(stream.drawn)
    assert counts == {1 + mechanism.size}


def test_it_is_audited_with_sets_of_several() -> None:
    rows = audit_mechanism(SubsetSelection, Effort(trials=400), stream=NoiseStream)
    assert {row.level for row in rows} == {"bit", "vector", "law"} and all(row.passed for row in rows)
    assert {example.size for example, _ in SubsetSelection.audit_examples()} == {1, 2, 3}
