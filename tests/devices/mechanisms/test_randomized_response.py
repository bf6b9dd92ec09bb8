"""Randomised response by exhaustive enumeration; figures of Solitude and HoGS."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.mechanisms.binomial import digits_of
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.noise import Noise
from tests.devices.mechanisms.one import drawn


def rows(bits: int) -> list[np.ndarray]:
    return [np.array(row, np.bool_) for row in itertools.product((False, True), repeat=bits)]


def test_a_device_of_a_one_ended_collection_has_a_loss_of_its_own() -> None:
    mechanism = RandomizedResponse.from_epsilon(2, n=5, reporting="one-end")
    assert [mechanism.loss(device=i).vector for i in range(5)] == [0, 2, 4, 6, 8]
    assert [mechanism.loss(device=i).bit for i in range(5)] == [0, 2, 2, 2, 2]
    assert mechanism.loss() == RandomizedResponse.from_epsilon(2, n=5).loss()


class Chosen(Noise):
    """Noise on one branch of the tree of all draws; numbers of a subset are drawn at their exact probability."""

    def __init__(self, mechanism: RandomizedResponse, count: int, numbers: list[int]) -> None:
        super().__init__([bytes(32)])
        size = mechanism.n - 1
        bits = 64 * size
        below = [0, *digits_of(size, mechanism.flip, 64, bits), 1 << bits]  # 0, c_0, c_1, ..., 1
        self.probability = Fraction(below[count + 1] - below[count], 1 << bits) * Fraction(1, size) ** len(numbers)
        # The smallest U that gives this count: word by word, then zeros.
        self.uniform = [below[count] >> bits - 64 - 64 * place & ONE - 1 for place in range(size)]
        # A word of 0 is dropped where the size is 3.
        self.words = [(2 * number + 1) * (1 << 31) // size for number in numbers]
        self.asked = False

    def squeeze(self, draw: int, number: int, size: int, rows: Iterable[int] | None = None) -> bytes:
        if draw == 0:
            words = self.uniform[1:] if number else self.uniform[:1]
            return np.array([*words, *[0] * 8], "<u8").tobytes()[:size]
        if self.asked:
            raise StopIteration
        self.asked = True
        return np.array([*self.words, *[0] * 8], "<u4").tobytes().ljust(size, b"\0")[:size]


def law_of_few_flips(mechanism: RandomizedResponse, value: np.ndarray, most: int) -> tuple[dict, Fraction]:
    """The exact law over all counts and all draws of at most ``most`` numbers; the probability of longer draws."""
    law: dict[bytes, Fraction] = {}
    lost, size = Fraction(0), mechanism.n - 1
    open_: list[tuple[int, list[int]]] = [(count, []) for count in range(size + 1)]
    while open_:
        count, numbers = open_.pop()
        noise = Chosen(mechanism, count, numbers)
        try:
            report = drawn(mechanism, value, noise)
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
            assert mechanism._number_of_flips.count(iter(words).__next__) == count


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.7])
def test_many_flips_draw_a_trial_for_each_bit(epsilon: float) -> None:
    mechanism = RandomizedResponse.from_epsilon(epsilon, n=300)
    assert not mechanism.few_flips
    value = np.arange(299) % 3 == 0
    trials = Noise([bytes(32)]).bernoulli(mechanism.flip, 299)[0]
    assert drawn(mechanism, value, Noise([bytes(32)])).tolist() == (trials ^ value).tolist()


def test_only_public_parameters_choose_the_way() -> None:
    assert [RandomizedResponse.from_epsilon(e, n=9).few_flips for e in (2.7, 2.71)] == [False, True]
    huge = RandomizedResponse(ONE // 16, (1 << 21) + 1)
    assert not huge.few_flips and replace(huge, n=1 << 21).few_flips  # 131,072 flips are expected, or fewer


def uniforms_of_counts(mechanism: RandomizedResponse) -> dict[int, tuple[int, int]]:
    """The smallest and the largest U of 192 bits for each count of the three flips that has one: c_(k-1) <= U < c_k."""
    below = [0, *digits_of(3, mechanism.flip, 64, 192), 1 << 192]
    return {count: (low, high - 1) for count, (low, high) in enumerate(itertools.pairwise(below)) if low < high}
