"""Shares of a sum: how far two records move it, what the party that adds shows, and whose noise is in it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from ldpsim.devices.data.records import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import SumShare, gaussian
from ldpsim.devices.mechanisms.mechanism import one_report, one_value
from ldpsim.devices.mechanisms.noisy_steps import UNIT
from ldpsim.devices.mechanisms.stacked_reports import Adder, report_stack
from ldpsim.devices.mechanisms.sum_share import CONSTANT, STEPS
from ldpsim.devices.noise import Noise

SHARES = {"equal": [1, 1, 1], "one large": [8, 1, 1], "two": [1, 3], "rare": [50, 49, 1]}


def share(shares: list[int], *, d: int = 3, words: bool = True, epsilon: float = 1.0, honest: int = 100) -> SumShare:
    return SumShare.from_epsilon(epsilon, delta=1e-5, honest=honest, d=d, low=0.0, high=1.0, words=words, radius=1.0,
                          shares=np.array(shares, float))  # fmt: skip


def records(mechanism: SumShare) -> list[tuple[tuple[int, ...], int]]:
    """Every record of words, with each label or an unknown one."""
    return list(itertools.product(itertools.product((0, 1), repeat=mechanism.d), range(-1, len(mechanism.shares))))


def changed(one: tuple[tuple[int, ...], int], other: tuple[tuple[int, ...], int]) -> set[str]:
    """What is changed between two records, by the names of the mechanism's distances."""
    bits = sum(a != b for a, b in zip(one[0], other[0], strict=True))
    parts = {"record"}
    parts |= {"features"} if one[1] == other[1] else set()
    parts |= {"feature"} if one[1] == other[1] and bits <= 1 else set()
    return parts | ({"label"} if not bits else set())


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
def test_no_two_records_are_further_apart_and_some_are_as_far(shares: list[int]) -> None:
    """Search over all pairs: features may be apart, equal or missing; a label may be unknown."""
    mechanism = share(shares)
    apart = dict.fromkeys(mechanism.distances, 0.0)
    made = {one: mechanism.steps(np.array([*one[0], one[1]], float)) for one in records(mechanism)}
    for one, other in itertools.combinations(made, 2):
        length = float(np.linalg.norm(made[one] - made[other]))
        for part in changed(one, other):
            assert length <= mechanism.shift(part)
            apart[part] = max(apart[part], length)
    for part, length in apart.items():
        assert length == pytest.approx(mechanism.distances[part] * STEPS, rel=1e-4)


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
def test_numbers_are_no_further_apart_than_words(shares: list[int]) -> None:
    mechanism, random = share(shares, words=False), np.random.default_rng(1)
    rows = [scale * random.random(3) ** power for scale in (0.1, 1, 50) for power in (0.1, 1, 9) for _ in range(20)]
    every = np.array(
        [mechanism.steps(np.append(row, label)).ravel() for row in rows for label in range(-1, len(shares))]
    )
    assert max(np.linalg.norm(every - one, axis=1).max() for one in every) <= mechanism.shift()


def test_the_distance_by_hand() -> None:
    """Equal shares of two classes: v = (.5, -.5) or its negative; features apart: .5 + .5 - 2 * .25 * .5 = .75 < 2."""
    assert share([1, 1]).distances["record"] == pytest.approx(math.sqrt(2))
    # Shares .9, .1 : v_2 = (-.9, .9), |v_2|^2 = 1.62, twice that less .5 * 1.62 is 2.43.
    assert share([9, 1]).distances["record"] == pytest.approx(math.sqrt(2.43), rel=1e-4)


def test_the_vector_by_hand() -> None:
    mechanism = share([1, 1, 2], d=4)
    features = np.array([1, 0, 1, 0], np.float32)
    u = np.array([math.sqrt(0.75 / 2), 0, math.sqrt(0.75 / 2), 0, 0.5])
    assert np.abs(mechanism.steps(np.append(features, 2)) / STEPS - np.outer(u, [-0.25, -0.25, 0.5])).max() < 1e-5
    assert not mechanism.steps(np.append(features, -1)).any() and not mechanism.steps(np.append(features, 3)).any()
    numbers = replace(mechanism, words=False, radius=2.0)
    assert numbers.rows_of(np.array([[1.0, 0, 1, math.nan], [9, 9, 9, 9]])) == pytest.approx(
        np.array([[0.5, 0, 0.5, 0], [0.5, 0.5, 0.5, 0.5]])
    )
    assert CONSTANT == 0.5


def test_the_noise_of_h_shares_is_that_of_the_claim() -> None:
    """With h shares the curve is at epsilon, with half of them above it; the draws have the stated deviation."""
    mechanism = share([1, 2, 3], epsilon=2.0, honest=64)

    def epsilon_of(people: int) -> float:
        return gaussian.epsilon_of(1e-5, shift=mechanism.shift(), sigma=mechanism.sum_deviation(people))

    assert epsilon_of(64) == pytest.approx(2.0, rel=1e-6) and epsilon_of(64) <= 2.0
    assert epsilon_of(32) == pytest.approx(gaussian.epsilon_of(1e-5, shift=math.sqrt(2), sigma=gaussian.calibrate(
        2.0, 1e-5, shift=1.0)), rel=1e-6)  # fmt: skip
    noise = Noise([number.to_bytes(32, "little") for number in range(500)])
    drawn = mechanism.draw(np.tile([0.0, 0, 0, -1], (500, 1)), noise)
    size, sigma = drawn.size, mechanism.sum_deviation(1)
    assert abs(drawn.mean()) < 5 * sigma / math.sqrt(size)
    assert abs(drawn.std() / sigma - 1) < 5 / math.sqrt(2 * size)


def test_the_adder_shows_the_sum_alone() -> None:
    mechanism = share([1, 1], d=2)
    reports = [np.arange(6).reshape(3, 2) * (place + 1) for place in range(4)]
    data = mechanism.encode(np.array(reports), np.arange(4))
    adder = report_stack(mechanism, 9)
    assert isinstance(adder, Adder)
    adder.add(dict(enumerate(data[:2])))
    adder.add({5: b"short", 7: data[2]})
    adder.add({8: data[3]})
    assert np.array_equal(adder.done(), sum(reports)) and list(adder.wrong) == [5]
    kept = [value for value in vars(adder).values() if isinstance(value, np.ndarray)]
    assert len(kept) == 1 and kept[0] is adder.done()


def test_a_device_sends_a_share_of_its_record() -> None:
    mechanism = share([1, 1, 2], d=3, honest=10**6, epsilon=50.0)
    record = Record(np.array([0, 2], np.int32), np.ones(2, np.float32), np.zeros(0, np.int32), 1)
    (data,) = mechanism.respond([record], Noise([b"k" * 32]), devices=[4])
    sent, value = one_report(mechanism, data, 4), one_value(mechanism, record, 4)
    assert value.tolist() == [1, 0, 1, 1] and np.abs(sent - mechanism.steps(value)).max() < 8 * mechanism.sum_deviation(
        1
    )
    assert mechanism.log_probability(sent, value) > mechanism.log_probability(sent + 3 * STEPS, value)
    assert mechanism.agrees_with(PublicFacts(9, 3, 3)) and not mechanism.agrees_with(PublicFacts(9, 3, 4))
    assert mechanism.loss().vector == mechanism.loss().bit == math.inf  # to the party that adds


@pytest.mark.parametrize("wrong", [
    {"d": 0}, {"radius": 0.0}, {"shares": (1 << 16,)}, {"shares": (1, 2)}, {"shares": (0, 1 << 16)},
    {"deviation": UNIT - 1}, {"honest": 0}, {"delta": 0.0}, {"low": 1.0},
])  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        replace(share([1, 1]), **wrong)  # type: ignore[arg-type]
