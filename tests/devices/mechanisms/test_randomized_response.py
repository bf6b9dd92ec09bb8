"""Randomised response by exhaustive enumeration; figures of Solitude and HoGS."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.sampling import digits_of
from ldpsim.devices.noise import NoiseStream


def rows(bits: int) -> list[np.ndarray]:
    return [np.array(row, np.bool_) for row in itertools.product((False, True), repeat=bits)]


CASES = [
    (RandomizedResponse.from_epsilon(eps, n=5, reporting=reporting), device)
    for eps in (0.3, 1.0, 2.7)  # a trial for each bit
    for reporting in ("both", "one-end")
    for device in (0, 1, 3, 4)
]


@pytest.mark.parametrize(("mechanism", "device"), CASES)
def test_the_sampler_has_the_stated_law(mechanism: RandomizedResponse, device: int, all_noise) -> None:
    for value in rows(bits := mechanism.targets(device)):
        law: dict[bytes, Fraction] = {}
        for noise in all_noise(bits):
            report = mechanism.perturb(value, noise)
            law[report.tobytes()] = law.get(report.tobytes(), Fraction(0)) + noise.probability
        assert sum(law.values()) == 1 and len(law) == 2**bits
        for report in rows(bits):
            assert mechanism.log_probability(report, value) == pytest.approx(math.log(law[report.tobytes()]), abs=1e-12)


@pytest.mark.parametrize(("mechanism", "device"), CASES)
def test_probabilities_losses_estimates_variances(mechanism: RandomizedResponse, device: int) -> None:
    bits = mechanism.targets(device)
    table = {
        (v, r): mechanism.log_probability(np.array(r, np.bool_), np.array(v, np.bool_))
        for v in itertools.product((0, 1), repeat=bits)
        for r in itertools.product((0, 1), repeat=bits)
    }
    worst_bit = worst_vector = 0.0
    for v in itertools.product((0, 1), repeat=bits):
        assert sum(math.exp(table[v, r]) for r in itertools.product((0, 1), repeat=bits)) == pytest.approx(1, abs=1e-12)
        for w in itertools.product((0, 1), repeat=bits):
            ratio = max(table[v, r] - table[w, r] for r in itertools.product((0, 1), repeat=bits))
            worst_vector = max(worst_vector, ratio)
            if sum(a != b for a, b in zip(v, w, strict=True)) == 1:
                worst_bit = max(worst_bit, ratio)
    loss = mechanism.loss(device=device)
    assert (loss.bit, loss.vector, loss.delta) == (
        pytest.approx(worst_bit, abs=2e-9), pytest.approx(worst_vector, abs=2e-9), 0,
    )  # fmt: skip
    for value in rows(bits):
        weights = [math.exp(mechanism.log_probability(r, value)) for r in rows(bits)]
        estimates = np.array([mechanism.estimate(r) for r in rows(bits)])
        mean = np.average(estimates, axis=0, weights=weights)
        assert mean == pytest.approx(value.astype(float), abs=1e-9)


def test_a_device_of_a_one_ended_collection_has_a_loss_of_its_own() -> None:
    mechanism = RandomizedResponse.from_epsilon(2, n=5, reporting="one-end")
    assert [mechanism.loss(device=i).vector for i in range(5)] == [0, 2, 4, 6, 8]
    assert [mechanism.loss(device=i).bit for i in range(5)] == [0, 2, 2, 2, 2]
    assert mechanism.loss() == RandomizedResponse.from_epsilon(2, n=5).loss()


def test_the_diagonal_is_never_reported() -> None:
    assert RandomizedResponse.from_epsilon(1, n=8).targets(3) == 7
    assert 3 not in RandomizedResponse.from_epsilon(1, n=8).nodes(3, np.arange(7)).tolist()


class Chosen(NoiseStream):
    """Noise on one branch of the tree of all draws; numbers of a subset are drawn at their exact probability."""

    def __init__(self, mechanism: RandomizedResponse, count: int, numbers: list[int]) -> None:
        super().__init__(bytes(32))
        size = self.size = mechanism.n - 1
        bits = 64 * size
        below = [0, *digits_of(size, mechanism.flip, 64, bits), 1 << bits]  # 0, c_0, c_1, ..., 1
        self.probability = Fraction(below[count + 1] - below[count], 1 << bits)
        # The smallest U that gives this count: word by word, then zeros.
        self.uniform = iter([below[count] >> bits - 64 - 64 * place & ONE - 1 for place in range(size)] + [0] * size)
        self.numbers = numbers

    def word(self) -> int:
        return next(self.uniform)

    def _draw(self, lane: int, size: int) -> np.ndarray:
        taken, self.numbers = self.numbers[:size], self.numbers[size:]
        self.probability *= Fraction(1, self.size) ** len(taken)
        if len(taken) < size:
            raise StopIteration
        return np.array([(2 * number + 1) * (1 << 31) // self.size for number in taken], np.uint32)


def law_of_few_flips(mechanism: RandomizedResponse, value: np.ndarray, most: int) -> tuple[dict, Fraction]:
    """The exact law over all counts and all draws of at most ``most`` numbers; the probability of longer draws."""
    law: dict[bytes, Fraction] = {}
    lost, size = Fraction(0), mechanism.n - 1
    open_: list[tuple[int, list[int]]] = [(count, []) for count in range(size + 1)]
    while open_:
        count, numbers = open_.pop()
        noise = Chosen(mechanism, count, numbers)
        try:
            report = mechanism.perturb(value, noise)
        except StopIteration:
            if len(numbers) == most:
                lost += noise.probability
            else:
                open_ += [(count, [*numbers, number]) for number in range(size)]
            continue
        law[report.tobytes()] = law.get(report.tobytes(), Fraction(0)) + noise.probability
    return law, lost


EXOTIC = [1, 2, (1 << 40) - 1, 1 << 50, (1 << 59) + 1, ONE // 16 - 1, ONE // 16]


def has_the_law(mechanism: RandomizedResponse, device: int, value: np.ndarray, *, claimed: int | None = None) -> bool:
    law, lost = law_of_few_flips(mechanism, value, most=4)
    p = Fraction(claimed or mechanism.flip, ONE)
    exact = {
        row.tobytes(): p ** (flips := int(np.count_nonzero(row ^ value))) * (1 - p) ** (len(value) - flips)
        for row in rows(mechanism.targets(device))
    }
    assert sum(law.values()) + lost == 1
    short = {key: probability - law.get(key, Fraction(0)) for key, probability in exact.items()}
    # Draws that were not followed are those with many repeats.
    return law.keys() <= exact.keys() and all(miss >= 0 for miss in short.values()) and sum(short.values()) == lost


@pytest.mark.parametrize("reporting", ["both", "one-end"])
@pytest.mark.parametrize("flip", EXOTIC)
def test_few_flips_have_the_stated_law(flip: int, reporting: str) -> None:
    mechanism = RandomizedResponse(flip, 4, reporting)  # type: ignore[arg-type]
    for device in range(4):
        for value in rows(mechanism.targets(device))[:3]:
            assert has_the_law(mechanism, device, value)
    for count, (first, last) in uniforms_of_counts(mechanism).items():
        for uniform in (first, last):  # the law above follows the first alone
            words = [uniform >> 64 * place & ONE - 1 for place in (2, 1, 0)] + [0] * 3
            assert mechanism._law.count(iter(words).__next__) == count


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.7])
def test_many_flips_draw_a_trial_for_each_bit(epsilon: float) -> None:
    mechanism = RandomizedResponse.from_epsilon(epsilon, n=300)
    assert not mechanism.few_flips
    value = np.arange(299) % 3 == 0
    trials = NoiseStream(bytes(32)).bernoulli_by_bytes(mechanism.flip, 299)
    assert mechanism.perturb(value, NoiseStream(bytes(32))).tolist() == (trials ^ value).tolist()


def test_only_public_parameters_choose_the_way() -> None:
    assert [RandomizedResponse.from_epsilon(e, n=9).few_flips for e in (2.7, 2.71)] == [False, True]
    huge = RandomizedResponse(ONE // 16, (1 << 21) + 1)
    assert not huge.few_flips and replace(huge, n=1 << 21).few_flips  # 131,072 flips are expected, or fewer


def uniforms_of_counts(mechanism: RandomizedResponse) -> dict[int, tuple[int, int]]:
    """The smallest and the largest U of 192 bits for each count of the three flips that has one: c_(k-1) <= U < c_k."""
    below = [0, *digits_of(3, mechanism.flip, 64, 192), 1 << 192]
    return {count: (low, high - 1) for count, (low, high) in enumerate(itertools.pairwise(below)) if low < high}
