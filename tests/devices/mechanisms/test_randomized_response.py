"""Randomised response by exhaustive enumeration; figures of Solitude and HoGS."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.noise import NoiseStream
from ldpsim.devices.sampling.binomial import digits_of


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


@pytest.mark.parametrize(("epsilon", "flip"), [(1, 0.268941421), (2, 0.119202922), (4, 0.017986210)])
def test_published_figures(epsilon: float, flip: float) -> None:
    mechanism = RandomizedResponse.from_epsilon(epsilon, n=10)
    assert mechanism.flip_probability == pytest.approx(flip, abs=5e-10)
    assert mechanism.loss().bit == epsilon


def test_expected_flips_of_solitude_on_cora() -> None:
    mechanism = RandomizedResponse.from_epsilon(7, n=2708)
    assert mechanism.flip_probability == pytest.approx(0.000911051, abs=5e-10)
    assert 2708**2 * mechanism.flip_probability == pytest.approx(6680.979, abs=5e-4)


@pytest.mark.parametrize(("n", "d", "user"), [(2708, 1433, 8280), (3327, 3703, 14058), (7083, 7842, 29848)])
def test_user_level_loss_of_hogs(n: int, d: int, user: float) -> None:
    """(n - 1) eps_a + d eps_f at 2 and 2, the table in which every figure was enumerated."""
    assert RandomizedResponse.from_epsilon(2, n=n).loss().vector + 2 * d == user


def test_a_device_of_a_one_ended_collection_has_a_loss_of_its_own() -> None:
    mechanism = RandomizedResponse.from_epsilon(2, n=5, reporting="one-end")
    assert [mechanism.loss(device=i).vector for i in range(5)] == [0, 2, 4, 6, 8]
    assert [mechanism.loss(device=i).bit for i in range(5)] == [0, 2, 2, 2, 2]
    assert mechanism.loss() == RandomizedResponse.from_epsilon(2, n=5).loss()


@pytest.mark.parametrize("reporting", ["both", "one-end"])
def test_places_in_a_row(reporting: str) -> None:
    mechanism = RandomizedResponse.from_epsilon(1, n=6, reporting=reporting)  # type: ignore[arg-type]
    for device in range(6):
        mine = np.array([j for j in range(6) if j != device and (reporting == "both" or j < device)], np.int32)
        assert mechanism.targets(device) == len(mine)
        assert mechanism.positions(device, mine).tolist() == list(range(len(mine)))
        assert mechanism.nodes(device, np.arange(len(mine))).tolist() == mine.tolist()
        strange = np.array([-1, device, 6, 10**6], np.int32)
        assert mechanism.positions(device, strange).tolist() == []
        for neighbours in ([], mine.tolist(), mine[::2].tolist()):
            row = mechanism.row(device, np.array(neighbours, np.int32))
            assert mechanism.nodes(device, np.flatnonzero(row)).tolist() == neighbours and len(row) == len(mine)
        # The device itself is left out; ids that no node has count as the nearest one and never raise.
        ones = np.flatnonzero(mechanism.row(device, strange))
        assert mechanism.nodes(device, ones).tolist() == [j for j in (0, 5) if j in mine]


def test_the_diagonal_is_never_reported() -> None:
    assert RandomizedResponse.from_epsilon(1, n=8).targets(3) == 7
    assert 3 not in RandomizedResponse.from_epsilon(1, n=8).nodes(3, np.arange(7)).tolist()


def test_reports_survive_the_wire() -> None:
    for n in (1, 2, 9, 3000):
        mechanism = RandomizedResponse.from_epsilon(4, n=n)
        report = mechanism.perturb(np.zeros(n - 1, np.bool_), NoiseStream(bytes(32)))
        data = mechanism.encode(report)
        assert mechanism.decode(data, device=0).tolist() == report.tolist()
        with pytest.raises(ValueError):
            mechanism.decode(data + b"\x80", device=0)


@pytest.mark.parametrize("flip", [0, -1, ONE // 2, ONE])
def test_a_threshold_out_of_range_is_refused(flip: int) -> None:
    with pytest.raises(ValueError, match="flip threshold"):
        RandomizedResponse(flip, 4)


def test_sizes_and_facts() -> None:
    with pytest.raises(ValueError):
        RandomizedResponse(1, 0)
    with pytest.raises(ValueError):
        RandomizedResponse(1, 3, "neither")  # type: ignore[arg-type]
    mechanism = RandomizedResponse.from_epsilon(1, n=4)
    assert mechanism.agrees_with(PublicFacts(4, 2, 2)) and not mechanism.agrees_with(PublicFacts(5, 2, 2))


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


def uniforms_of_counts(mechanism: RandomizedResponse) -> dict[int, tuple[int, int]]:
    """The smallest and the largest U of 192 bits for each count of the three flips that has one: c_(k-1) <= U < c_k."""
    below = [0, *digits_of(3, mechanism.flip, 64, 192), 1 << 192]
    return {count: (low, high - 1) for count, (low, high) in enumerate(itertools.pairwise(below)) if low < high}


def test_planted_bugs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = RandomizedResponse(ONE // 20, 4)
    value = np.array([True, False, False])
    assert has_the_law(mechanism, 0, value)
    with monkeypatch.context() as patch:  # repeats are not dropped
        patch.setattr(
            NoiseStream, "distinct_integers",
            lambda self, bound, size: np.unique(self._draw(1, size) * np.uint64(bound) >> np.uint64(32)),
        )  # fmt: skip
        assert not has_the_law(mechanism, 0, value)
    for off in (-1, 1):  # a threshold that is off by one unit
        assert not has_the_law(replace(mechanism, flip=mechanism.flip + off), 0, value, claimed=mechanism.flip)


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
