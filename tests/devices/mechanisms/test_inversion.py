"""The two samplers against 60-digit inversion of the same bits, by another route (mpmath)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.special

from ldpsim.devices.mechanisms import discrete_laplace, gaussian
from ldpsim.devices.noise import NoiseStream

LAST = 1 << 63


class Law:
    """A sampler, and the integer that a real U in (0, 1/2) stands for."""

    def __init__(self, name: str, scale: Fraction) -> None:
        self.name, self.scale = name, scale

    def __repr__(self) -> str:
        return f"{self.name} {self.scale}"

    def sample(self, noise: NoiseStream, size: int) -> np.ndarray:
        if self.name == "gaussian":
            return gaussian.sample(noise, self.scale, size)
        return discrete_laplace.sample(noise, self.scale.numerator, self.scale.denominator, size)

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


class Given(NoiseStream):
    """A stream whose 64-bit words are given first and then drawn."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(bytes([5]) * 32)
        self.given = words
        self.further: list[int] = []

    def words(self, size: int) -> np.ndarray:
        if self.given:
            taken, self.given = self.given[:size], self.given[size:]
            assert len(taken) == size
            return np.array(taken, np.uint64)
        drawn = super().words(size)
        self.further += drawn.tolist()
        return drawn


@every
def test_ordinary_words(law_: Law) -> None:
    words = NoiseStream(bytes([3]) * 32).words(300).tolist()
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
                assert abs(found) == low and noise.further == []
                continue
            settled += 1
            assert len(noise.further) == 1
            assert ends(law_, number << 64 | noise.further[0], 128) == (abs(found),) * 2
            assert abs(found) in (z, z + 1)
    assert settled >= 1


@every
def test_further_bits_decide_both_ways(law_: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    edge = law_.edge(0)
    cut = int(mpmath.floor(edge * 2**64))
    rest = int(mpmath.floor((edge * 2**64 - cut) * 2**64))
    found = []
    for second in (rest - 1, rest + 1, rest):
        noise = Given([cut])
        further = [second]
        monkeypatch.setattr(noise, "words", lambda size, noise=noise, further=further: np.array(
            [cut] if noise.given and noise.given.pop() else [further.pop() if further else 12345], np.uint64
        ))  # fmt: skip
        found.append(int(law_.sample(noise, 1)[0]))
    assert found[:2] == [1, 0]
    third = ends(law_, (cut << 64 | rest) << 64 | 12345, 192)
    assert third == (found[2],) * 2


def test_the_integers_do_not_depend_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quantile that errs in its thirteenth digit gives the same integers: the unsure ones are settled exactly."""
    sigma = Fraction(10**12)
    expected = gaussian.sample(NoiseStream(bytes(32)), sigma, 60)
    exact: Callable[[np.ndarray], np.ndarray] = scipy.special.ndtri
    monkeypatch.setattr(scipy.special, "ndtri", lambda u: exact(u) * (1 + 5e-13))
    assert gaussian.sample(NoiseStream(bytes(32)), sigma, 60).tolist() == expected.tolist()
    # power: with no exact step, the wrong quantile gives other integers
    words = NoiseStream(bytes(32)).words(60) & np.uint64(LAST - 1)
    plain = np.floor(-scipy.special.ndtri(words / 2.0**64) * 1e12 + 0.5)
    assert np.any(plain != np.abs(expected))
