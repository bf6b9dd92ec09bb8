"""Exact draws: counts, subsets, integers by inversion, and the laws that they follow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import comb
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from ldpsim.devices.mechanisms import binomial as module
from ldpsim.devices.mechanisms import discrete_laplace, gaussian
from ldpsim.devices.mechanisms import discrete_laplace as dl
from ldpsim.devices.mechanisms import gaussian as g
from ldpsim.devices.mechanisms.binomial import Binomial, digits_of
from ldpsim.devices.mechanisms.exact_loss import round_up
from ldpsim.devices.mechanisms.subsets import NOTHING, distinct_integers, subset
from ldpsim.devices.noise import Noise, NoiseDraw

ONE = 1 << 64
EXOTIC = [1, 2, 3, (1 << 32) - 1, 1 << 32, (1 << 60) + 1, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, ONE - 1]


def exact(trials: int, p: Fraction) -> list[Fraction]:
    return [comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]


def enumerated(count: Callable[[Callable[[], int]], int], word: int) -> dict[int, Fraction]:
    """The law of a sampler over all words: where it asks for one more, all of these are tried."""
    law: dict[int, Fraction] = {}
    open_: list[tuple[int, ...]] = [()]
    while open_:
        words = open_.pop()
        try:
            found = count(iter(words).__next__)
        except StopIteration:
            open_ += [(*words, more) for more in range(1 << word)]
            continue
        law[found] = law.get(found, Fraction(0)) + Fraction(1, 1 << word * len(words))
    return law


def is_exact(count: Callable[[Callable[[], int]], int], trials: int, p: Fraction, word: int) -> bool:
    law = enumerated(count, word)
    return [law.get(k, Fraction(0)) for k in range(trials + 1)] == exact(trials, p)


@pytest.mark.parametrize("word", [1, 2, 3])
@pytest.mark.parametrize("trials", [0, 1, 2, 3, 5])
def test_the_law_over_all_words(trials: int, word: int) -> None:
    for width in (1, 3):
        for threshold in range(1, 1 << width):
            law = Binomial(trials, threshold, width=width, word=word)
            assert is_exact(law.count, trials, Fraction(threshold, 1 << width), word)


@pytest.mark.parametrize("threshold", EXOTIC)
@pytest.mark.parametrize("trials", [1, 2, 7, 40])
def test_the_digits_are_those_of_the_exact_fractions(trials: int, threshold: int) -> None:
    below = list(itertools.accumulate(exact(trials, Fraction(threshold, ONE))))[:-1]
    for bits in (64, 256):
        wanted = [int(c * (1 << bits)) for c in below]
        ones = (1 << bits) - 1
        wanted = wanted[: wanted.index(ones) + 1] if ones in wanted else wanted
        assert digits_of(trials, threshold, 64, bits) == wanted
    # One unit more or less changes a digit.
    other = threshold + 1 if threshold + 1 < ONE else threshold - 1
    assert digits_of(trials, other, 64, 256) != digits_of(trials, threshold, 64, 256)


@pytest.mark.parametrize("threshold", EXOTIC[:-1])
def test_intervals_settle_the_digits_of_the_whole_numbers(threshold: int) -> None:
    for trials, bits in ((30, 64), (200, 128), (200, 256)):
        found = module._by_intervals(trials, threshold, 64, bits, 64)
        assert found == module._by_integers(trials, threshold, 64, bits)


def test_intervals_that_are_too_wide_are_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no more than 2 guard bits some digits stay open; the guard grows until all are settled."""
    trials, threshold = 200, (1 << 62) - 1
    assert module._by_intervals(trials, threshold, 64, 64, 2) is None
    tried: list[int] = []

    def intervals(trials: int, threshold: int, width: int, bits: int, guard: int) -> list[int] | None:
        tried.append(guard)
        return None if len(tried) < 3 else original(trials, threshold, width, bits, guard)

    original = module._by_intervals
    monkeypatch.setattr(module, "_by_intervals", intervals)
    assert digits_of(trials, threshold, 64, 64) == module._by_integers(trials, threshold, 64, 64)
    assert tried == [64, 128, 256]


def test_ties_at_full_precision() -> None:
    """A word equal to the digits of c_k: the next word decides, and the one after that."""
    law = Binomial(2999, ONE // 1340)
    for k in (0, 2, 5):
        digits = law.floors(192)[k]
        first, second, third = digits >> 128, digits >> 64 & ONE - 1, digits & ONE - 1
        for last, wanted in ((third - 1, k), (third + 1, k + 1)):
            words = iter([first, second, last])
            assert law.count(words.__next__) == wanted
            assert not list(words)
        assert law.count(iter([first - 1]).__next__) <= k < law.count(iter([first + 1]).__next__)


LAST = 1 << 63


class Law:
    """A sampler, and the integer that a real U in (0, 1/2) stands for."""

    def __init__(self, name: str, scale: Fraction) -> None:
        self.name, self.scale = name, scale

    def __repr__(self) -> str:
        return f"{self.name} {self.scale}"

    def sample(self, noise: Noise, size: int) -> np.ndarray:
        if self.name == "gaussian":
            return gaussian.sample(noise, self.scale, size)[0]
        return discrete_laplace.sample(noise, self.scale.numerator, self.scale.denominator, size)[0]

    def integer(self, u: mpmath.mpf) -> int:
        scale = mpmath.mpf(self.scale.numerator) / self.scale.denominator
        if self.name == "gaussian":
            return int(mpmath.floor(scale * mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * u) + mpmath.mpf(1) / 2))
        return max(0, int(mpmath.floor(-scale * mpmath.log(u * (1 + mpmath.exp(-1 / scale))))))

    def edge(self, z: int) -> mpmath.mpf:
        """The U at which z + 1 becomes z."""
        scale = mpmath.mpf(self.scale.numerator) / self.scale.denominator
        if self.name == "gaussian":
            return mpmath.erfc((z + mpmath.mpf(1) / 2) / scale / mpmath.sqrt(2)) / 2
        return mpmath.exp(-(z + 1) / scale) / (1 + mpmath.exp(-1 / scale))


LAWS = [
    Law("gaussian", Fraction(1, 4)), Law("gaussian", Fraction(13, 7)), Law("gaussian", Fraction(123_457, 16)),
    Law("laplace", Fraction(5, 36)), Law("laplace", Fraction(1)), Law("laplace", Fraction(366_848)),
]  # fmt: skip
every = pytest.mark.parametrize("law_", LAWS, ids=repr)


@pytest.fixture(autouse=True)
def sixty_digits() -> None:
    mpmath.mp.dps = 60


def ends(law: Law, number: int, bits: int) -> tuple[int, int]:
    """The integers of the largest and the smallest U that begin with these bits."""
    high, low = ((number + side) / mpmath.mpf(2) ** bits for side in (1, 0))
    return law.integer(high), law.integer(low)


class Given(Noise):
    """The noise of one device, whose 64-bit words are given; further ones are drawn."""

    def __init__(self, words: list[int]) -> None:
        super().__init__([bytes([5]) * 32])
        self.given = words
        self.more: list[int] = []

    def next_draw(self) -> Any:
        return self

    def numbers(self, size: int, octets: int) -> np.ndarray:
        assert (len(self.given), 8) == (size, octets)
        return np.array([self.given], np.uint64)

    def words_of(self, row: int, trial: int, octets: int) -> Iterator[int]:
        for word in NoiseDraw(self, 0).words_of(row, trial, octets):
            self.more.append(word)
            yield word


@every
def test_ordinary_words(law_: Law) -> None:
    words = Noise([bytes([3]) * 32]).next_draw().numbers(300, 8)[0].tolist()
    drawn = law_.sample(Given(list(words)), 300)
    for word, z in zip(words, drawn, strict=True):
        assert ends(law_, word & (LAST - 1), 64) == (abs(int(z)),) * 2
        assert z <= 0 or not word & LAST
        assert z >= 0 or word & LAST


@every
@pytest.mark.parametrize("sign", [0, LAST])
def test_words_next_to_an_edge_are_settled_by_further_bits(law_: Law, sign: int) -> None:
    """U begins with the very bits at which z + 1 becomes z: 64 of them cannot tell the two apart."""
    settled = 0
    for z in (0, 1, 2, 5):
        cut = int(mpmath.floor(law_.edge(z) * 2**64))
        for number in (cut - 1, cut, cut + 1):
            if not 0 < number < LAST - 1:
                continue
            noise = Given([number | sign])
            (found,) = law_.sample(noise, 1)
            assert (found <= 0) if sign else (found >= 0)
            low, high = ends(law_, number, 64)
            if low == high:
                assert abs(found) == low and noise.more == []
                continue
            settled += 1
            assert len(noise.more) == 1
            assert ends(law_, number << 64 | noise.more[0], 128) == (abs(found),) * 2
            assert abs(found) in (z, z + 1)
    assert settled >= 1


def test_the_integers_do_not_depend_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quantile that errs in its thirteenth digit gives the same integers: the unsure ones are settled exactly."""
    sigma = Fraction(10**12)
    expected = gaussian.sample(Noise([bytes(32)]), sigma, 60)
    exact: Callable[[np.ndarray], np.ndarray] = scipy.special.ndtri
    monkeypatch.setattr(scipy.special, "ndtri", lambda u: exact(u) * (1 + 5e-13))
    assert gaussian.sample(Noise([bytes(32)]), sigma, 60).tolist() == expected.tolist()
    # power: with no exact step, the wrong quantile gives other integers
    words = Noise([bytes(32)]).next_draw().numbers(60, 8) & np.uint64(LAST - 1)
    plain = np.floor(-scipy.special.ndtri(words / 2.0**64) * 1e12 + 0.5)
    assert np.any(plain != np.abs(expected))


@pytest.mark.parametrize(("d", "m"), [(1, 1), (4, 1), (4, 2), (5, 3), (5, 4), (5, 5)])
def test_the_subset_is_uniform(law, d: int, m: int) -> None:
    found, lost = law(lambda noise: tuple(subset(noise, d, m)[0].tolist()))
    assert lost == 0 and len(found) == math.comb(d, m)
    assert all(list(chosen) == sorted(set(chosen)) and len(chosen) == m for chosen in found)
    assert list(found.values()) == pytest.approx([1 / math.comb(d, m)] * len(found), abs=1e-14)


def test_all_features_need_no_draw() -> None:
    class Silent(Noise):
        def squeeze(self, *block: Any) -> Any:
            raise AssertionError("drew")

    assert subset(Silent([bytes(32)]), 7, 7).tolist() == [list(range(7))]


class Forced(Noise):
    """Noise whose words are given, by device."""

    def __init__(self, *words: list[int]) -> None:
        super().__init__([bytes(32)] * len(words))
        self.given = words
        self.squeezed: list[int] = []

    def squeeze(self, draw: int, number: int, size: int, rows: Iterable[int] | None = None) -> bytes:
        self.squeezed.append(size // 4)
        whose = range(len(self)) if rows is None else rows
        return b"".join(np.array([*self.given[row], *[1] * size], "<u4").tobytes()[:size] for row in whose)


def numbers_of(noise: Noise, bound: int, *counts: int) -> list[list[int]]:
    found = distinct_integers(noise, bound, np.array(counts))
    assert found.tolist() == sorted(found.tolist())
    return [[number & NOTHING for number in found.tolist() if number >> 32 == row] for row in range(len(noise))]


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 2999, (1 << 31) + 1, (1 << 32) - 1])
def test_every_number_below_the_bound_has_equally_many_words(bound: int) -> None:
    """The words of number j run from the first w with w * bound // 2**32 = j; so many of them are dropped that all
    numbers keep floor(2**32 / bound)."""
    unfair = (1 << 32) % bound
    for j in {0, min(1, bound - 1), bound // 2, bound - 1}:
        first, end = (-(-number * (1 << 32) // bound) for number in (j, j + 1))
        dropped = first * bound & 0xFFFFFFFF < unfair  # any later word of j has a larger lower half
        assert end - first - dropped == (1 << 32) // bound
        for word, kept in ((first, not dropped), (end - 1, True)):
            assert numbers_of(Forced([word, (1 << 32) - 1]), bound, 1) == [[j if kept else bound - 1]]


def test_a_subset_is_the_first_different_numbers() -> None:
    def words(*numbers: int) -> list[int]:
        return [(2 * number + 1) * (1 << 31) // 10 for number in numbers]

    noise = Forced(words(7, 2, 7, 7, 2, 5, 9, 1), words(4), words(*[3] * 40, 8, 6), words(1, 0))
    assert numbers_of(noise, 10, 3, 1, 2, 0) == [[2, 5, 7], [4], [3, 8], []]
    assert noise.squeezed == sorted(noise.squeezed) and len(noise.squeezed) > 2  # the third one needs many more words
    assert numbers_of(Noise([bytes([5]) * 32] * 2), 40, 40, 0) == [list(range(40)), []]
    assert numbers_of(Noise([bytes(32)]), 0, 0) == [[]]


SCALES = [(1, 1), (3, 2), (2, 7), (5, 36), (40, 3), (1, 1_000)]


@pytest.mark.parametrize(("t", "s"), SCALES)
def test_the_law_adds_to_1_and_has_its_variance(t: int, s: int) -> None:
    z = np.arange(-2000, 2001)
    p = np.exp([dl.log_probability(np.array(k), t, s) for k in z])
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p * z * z).sum() == pytest.approx(dl.variance(t, s), rel=1e-9, abs=1e-300)
    ratios = np.log(p[2000:2005] / p[2001:2006]) if s / t < 100 else np.array([s / t])
    assert ratios == pytest.approx(s / t, rel=1e-9)


@pytest.mark.parametrize(("t", "s"), SCALES)
def test_the_tail_has_80_digits(t: int, s: int) -> None:
    with mpmath.workdps(120):
        rate = mpmath.mpf(s) / t
        for k in (1, 2, 7):
            exact = mpmath.exp(-k * rate) / (1 + mpmath.exp(-rate))
            assert abs(mpmath.mpf(str(dl.tail(k, t, s))) / exact - 1) < mpmath.mpf(10) ** -80


@given(st.floats(1e-4, 40), st.integers(1, 400_000))
def test_a_scale_never_loses_more_than_epsilon(epsilon: float, sensitivity: int) -> None:
    try:
        t, s = dl.scale_for(epsilon, sensitivity=sensitivity)
    except ValueError:
        assert sensitivity / epsilon > 2**31
        return
    dl.check_scale(t, s)
    loss = Fraction(sensitivity * s, t)
    assert loss <= Fraction(repr(epsilon))
    assert loss >= Fraction(repr(epsilon)) * (1 - Fraction(1, 10**5))


def test_readable_budgets_have_exact_scales() -> None:
    assert dl.scale_for(0.1, sensitivity=1) == (10, 1)
    assert dl.scale_for(7.2, sensitivity=1) == (5, 36)
    assert dl.scale_for(1.0, sensitivity=1433 * 256) == (366848, 1)


def test_a_scale_beyond_32_bits_is_one_clear_line() -> None:
    with pytest.raises(ValueError, match="needs a scale beyond"):
        dl.scale_for(1e-6, sensitivity=10**6)


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 50.0, 500.0])
def test_delta_keeps_its_digits_far_out(epsilon: float) -> None:
    mpmath.mp.dps = 60
    for sigma in (0.05, 0.2, 1.0):
        s, e = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        a, b = (side / (2 * s) - e * s for side in (1, -1))
        exact = mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(b)
        found = g.delta_of(epsilon, shift=1.0, sigma=sigma)
        assert found == pytest.approx(float(exact), rel=1e-10, abs=1e-290)


@pytest.mark.parametrize("sigma", [0.25, 0.5, 1.0, 3.7])
def test_the_rounded_law(sigma: float) -> None:
    z = np.arange(-60, 61)
    p = np.exp([g.log_probability(np.array(k), sigma) for k in z])
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p[60] == pytest.approx(2 * norm.cdf(0.5 / sigma) - 1, rel=1e-12)


def test_upper_tail_digits() -> None:
    mpmath.mp.dps = 70
    for x in (Fraction(0), Fraction(1, 3), Fraction(5), Fraction(38, 4)):
        exact = mpmath.erfc(mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)) / 2
        assert abs(mpmath.mpf(str(g.upper_tail(x))) - exact) < mpmath.mpf(10) ** -60


@pytest.mark.parametrize(
    ("shift", "sigma", "epsilon"), [(1.0, 1.0, 0.0), (3.0, 2.0, 0.7), (1.0, 9.0, 0.4), (2.0, 0.3, 9.0)]
)
def test_the_curve_its_epsilon_and_its_deviation_are_inverse(shift: float, sigma: float, epsilon: float) -> None:
    with mpmath.workdps(40):
        a, b = shift / (2 * mpmath.mpf(sigma)), mpmath.mpf(epsilon) * sigma / shift
        exact = float(mpmath.ncdf(a - b) - mpmath.exp(epsilon) * mpmath.ncdf(-a - b))
    delta = gaussian.delta_of(epsilon, shift=shift, sigma=sigma)
    assert delta == pytest.approx(exact, rel=1e-9)
    found = gaussian.epsilon_of(delta, shift=shift, sigma=sigma)
    assert found == pytest.approx(epsilon, rel=1e-9) and gaussian.delta_of(found, shift=shift, sigma=sigma) <= delta
    assert gaussian.printed_epsilon(delta, shift=shift, sigma=sigma) == round_up(found)
    if epsilon:
        back = gaussian.calibrate(epsilon, delta, shift=shift)
        assert back == pytest.approx(sigma, rel=1e-9)
        assert gaussian.delta_of(epsilon, shift=shift, sigma=back) <= delta
