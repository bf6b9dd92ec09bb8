"""Subset selection by exhaustive enumeration, and the figures of its paper."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.curator.attacks.audit_row import Effort
from ldpsim.curator.attacks.mechanism_audit import audit_mechanism
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, SubsetSelection
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.stacked_reports import stacked
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


def test_one_of_a_set_is_the_law_of_grr() -> None:
    one, grr = (kind.from_epsilon(2.0, categories=7) for kind in (SubsetSelection, GRR))
    assert one.size == 1
    assert (one.truth_probability, one.other_probability) == pytest.approx(
        (grr.truth_probability, grr.other_probability), abs=1e-15
    )


def test_a_label_outside_the_domain_is_category_0_silently() -> None:
    mechanism = SubsetSelection.from_epsilon(0.5, categories=7)
    for strange in (-1, 7, 10**9):
        for seed in range(40):
            key = bytes([seed]) * 32
            told = (mechanism.perturb(value, NoiseStream(key)).tobytes() for value in (strange, 0))
            assert len(set(told)) == 1
        report = sets(mechanism)[5]
        assert mechanism.log_probability(report, strange) == mechanism.log_probability(report, 0)


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


def test_reports_survive_the_wire_in_one_form() -> None:
    mechanism = SubsetSelection.from_epsilon(0.5, categories=11)
    assert mechanism.size == 4
    for report in sets(mechanism):
        data = mechanism.encode(report)
        assert len(data) == 2 and np.array_equal(mechanism.decode(data, device=0), report)
    read = {}
    for data in (bytes(pair) for pair in itertools.product(range(256), repeat=2)):
        try:
            read[data] = mechanism.decode(data, device=0)
        except ValueError:
            continue
    assert len(read) == math.comb(11, 4) and all(mechanism.encode(report) == data for data, report in read.items())
    for wrong in (b"", b"\xf0", b"\xf0\0\0", b"\xf0\x10", b"\xe0\0", b"\xf8\0"):
        with pytest.raises(ValueError):
            mechanism.decode(wrong, device=0)


def test_many_reports_are_stacked_and_a_malformed_one_is_left_out() -> None:
    mechanism = SubsetSelection.from_epsilon(0.5, categories=7)
    one, other = sets(mechanism)[3], sets(mechanism)[20]
    rows = {1: mechanism.encode(one), 4: mechanism.encode(other)}
    whole = stacked(mechanism.stacker(6), rows)
    stack = mechanism.stacker(6)
    stack.add(rows | {5: b"\xff"})
    assert set(stack.wrong) == {5}
    for found in (whole, stack.done()):
        assert found.dtype == np.bool_ and found.shape == (6, 7)
        assert np.flatnonzero(found.any(axis=1)).tolist() == [1, 4]
        assert np.array_equal(found[1], one) and np.array_equal(found[4], other)


def test_ties_and_rejected_words_are_decided_as_alone() -> None:
    nothing = np.zeros(0, np.int32)
    records = [Record(nothing, nothing.astype(np.float32), nothing, label) for label in range(7)]
    keys = [bytes([9, i]) * 16 for i in range(7)]
    words = [int(np.frombuffer(NoiseStream(key, 1).first_words(1), "<u4")[0]) for key in keys]
    small = [word for word in words if word < 1 << 31]  # a larger one does not favour the truth
    assert small
    for word in small:
        mechanism = SubsetSelection((word << 32) + 7, 3, 7)
        alone = [
            mechanism.respond([r], [NoiseStream(k, 1)], devices=[0])[0] for r, k in zip(records, keys, strict=True)
        ]
        streams = [NoiseStream(k, 1) for k in keys]
        assert mechanism.respond(records, streams, devices=range(7)) == alone


@pytest.mark.parametrize(
    ("miss", "size", "k"),
    [(0, 1, 3), (-1, 1, 3), (ONE, 1, 3), (ONE // 2, 1, 2), (1, 0, 3), (1, 3, 3), (1, 1, 1), (1, 1, (1 << 16) + 1),
     (ONE // 3 + 1, 2, 3)],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(miss: int, size: int, k: int) -> None:
    with pytest.raises(ValueError):
        SubsetSelection(miss, size, k)


def test_budgets_and_domains_that_cannot_be() -> None:
    for k in (1, 0, -3):
        with pytest.raises(ValueError, match="at least 2"):
            SubsetSelection.from_epsilon(1.0, categories=k)
    for epsilon in (0.0, -1.0, math.inf, math.nan, 60.0, 1e-25):
        with pytest.raises(ValueError, match="epsilon"):
            SubsetSelection.from_epsilon(epsilon, categories=7)
    mechanism = SubsetSelection.from_epsilon(1.0, categories=3)
    assert mechanism.agrees_with(PublicFacts(9, 4, 3)) and not mechanism.agrees_with(PublicFacts(9, 4, 4))


def test_it_is_audited_with_sets_of_several() -> None:
    rows = audit_mechanism(SubsetSelection, Effort(trials=400), stream=NoiseStream)
    assert {row.level for row in rows} == {"bit", "vector", "law"} and all(row.passed for row in rows)
    assert {example.size for example, _ in SubsetSelection.audit_examples()} == {1, 2, 3}


def test_a_loss_that_is_too_small_fails_the_audit() -> None:
    class Cheap(SubsetSelection):
        def loss(self, *, device: int | None = None):
            true = super().loss()
            return type(true)(true.bit * 0.9, true.vector * 0.9)

    rows = audit_mechanism(Cheap, Effort(trials=400), stream=NoiseStream)
    assert {row.level for row in rows if not row.passed} == {"bit", "vector"}
