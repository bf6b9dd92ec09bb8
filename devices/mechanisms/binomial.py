"""Exact binomial counts: uniform bits are compared with the digits of the distribution function.

Let c_k = P(M <= k), and let U be uniform on [0, 1). Then M, the number of all c_k that are at most U, has the
binomial distribution. U is drawn word by word. A word differs from the digits of c_k as a rule, and that decides the
comparison. Where they are equal (a tie), one more word and more digits of c_k decide. Nothing is rounded: the
digits are those of the exact fraction, so the distribution is exact for uniform words.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.noise import Noise

_KEPT_WORDS = 4  # digits that a table is computed with, in words; more are computed on demand


class Binomial:
    """Sampler of the number of successes in independent trials of one probability.

    Args:
        trials: Number of trials.
        threshold: The probability is threshold / 2**width.
        width: Bits of the threshold.
        word: Bits of a drawn word.

    Raises:
        ValueError: for a probability of 0 or 1, or a negative number of trials.

    >>> words = iter([0xFFFF_FFFF_FFFF_FFFF >> 2])
    >>> Binomial(2, 1 << 62).count(lambda: next(words))
    0
    """

    def __init__(self, trials: int, threshold: int, *, width: int = 64, word: int = 64) -> None:
        if not (trials >= 0 and 0 < threshold < 1 << width):
            raise ValueError(
                f"no binomial distribution of {trials} trials with the threshold {threshold} of {width} bits"
            )
        spare = (threshold & -threshold).bit_length() - 1  # zeros at the end say nothing
        self.trials, self.threshold, self.width, self.word = trials, threshold >> spare, width - spare, word
        # Beyond this many bits all digits of every c_k are 0.
        self.all_bits = self.width * trials
        self._floors: dict[int, list[int]] = {}
        self.floors(_KEPT_WORDS * word)

    @property
    def mean(self) -> float:
        """Expected count."""
        return self.trials * self.threshold / (1 << self.width)

    def counts(self, noise: Noise) -> IntArray:
        """int64 (devices,): a count of each device; words of 64 bits."""
        draw, floors = noise.next_draw(), self._first_floors
        words = draw.numbers(1, 8)[:, 0]
        counts = np.searchsorted(floors, words)
        tied = floors[np.minimum(counts, len(floors) - 1)] == words if len(floors) else ()
        for row in np.flatnonzero(tied).tolist():
            counts[row] = self.count(chain([int(words[row])], draw.words_of(row, 0, 8)).__next__)
        return counts

    @cached_property
    def _first_floors(self) -> NDArray[np.uint64]:
        return np.array(self.floors(64), np.uint64)

    def count(self, draw: Callable[[], int]) -> int:
        """Return a count; ``draw`` returns the next uniform word."""
        bits, value = self.word, draw()
        while True:
            floors = self.floors(bits)
            first = bisect_left(floors, value)
            if first == len(floors) or floors[first] != value:
                return first
            if bits >= self.all_bits:
                return first + 1  # c_first has no further digit, so it is at most U
            bits, value = bits + self.word, value << self.word | draw()

    def floors(self, bits: int) -> list[int]:
        """Return the first ``bits`` digits of c_0, c_1, ... as integers.

        The list ends with the first one whose digits are all 1, or with the last one below 1.
        """
        floors = self._floors.get(bits)
        if floors is None:
            limit = _KEPT_WORDS * self.word
            if bits < limit:
                floors = [digits >> limit - bits for digits in self._floors[limit]]
                ones = (1 << bits) - 1
                floors = floors[: bisect_left(floors, ones) + 1]
            else:
                floors = digits_of(self.trials, self.threshold, self.width, bits)
            self._floors[bits] = floors
        return floors


@lru_cache(maxsize=8)  # every device of a population has the same table
def binomial(trials: int, threshold: int) -> Binomial:
    """Return the sampler of ``trials`` trials with probability threshold / 2**64."""
    return Binomial(trials, threshold)


def digits_of(trials: int, threshold: int, width: int, bits: int) -> list[int]:
    """Return the integer part of c_k * 2**bits for k = 0, 1, ..., up to the first 2**bits - 1 or k = trials - 1."""
    guard = 64
    while bits + guard < width * trials:
        floors = _by_intervals(trials, threshold, width, bits, guard)
        if floors is not None:
            return floors
        guard *= 2
    return _by_integers(trials, threshold, width, bits)


def _by_integers(trials: int, threshold: int, width: int, bits: int) -> list[int]:
    """Compute every probability as a whole number of 2**-(width * trials)."""
    against, shift, ones = (1 << width) - threshold, bits - width * trials, (1 << bits) - 1
    floors: list[int] = []
    term, total = against**trials, 0
    for k in range(trials):
        total += term
        floors.append(total << shift if shift >= 0 else total >> -shift)
        if floors[-1] == ones:
            break
        term = term * (trials - k) * threshold // ((k + 1) * against)  # no remainder: C(n, k + 1) t^(k+1) u^(n-k-1)
    return floors


def _by_intervals(trials: int, threshold: int, width: int, bits: int, guard: int) -> list[int] | None:
    """Compute lower and upper bounds of ``bits + guard`` bits; None where they do not settle every digit."""
    precision, against, ones = bits + guard, (1 << width) - threshold, (1 << bits) - 1
    # low * 2**exponent <= P(M = k) <= high * 2**exponent, for k = 0 at first: the power of 1 - p, by squaring.
    low, high, exponent = 1, 1, 0
    for digit in f"{trials:b}":
        factor, down = (against, width) if digit == "1" else (1, 0)
        low, high, exponent = _fit(low * low * factor, high * high * factor, 2 * exponent - down, precision)
    floors: list[int] = []
    least = most = 0  # bounds of c_k * 2**precision
    for k in range(trials):
        shift = precision + exponent
        least += low << shift if shift >= 0 else low >> -shift
        most += high << shift if shift >= 0 else -(-high >> -shift)
        floor = least >> guard
        if floor != min(most, (1 << precision) - 1) >> guard:  # c_k < 1 for k < trials
            return None
        floors.append(floor)
        if floor == ones:
            break
        up, down = (trials - k) * threshold, (k + 1) * against
        low, high, exponent = _fit(low * up // down, -(-high * up // down), exponent, precision)
    return floors


def _fit(low: int, high: int, exponent: int, precision: int) -> tuple[int, int, int]:
    """Return the interval with an upper end of ``precision`` bits, its ends rounded outwards."""
    shift = high.bit_length() - precision
    if shift <= 0:
        return low << -shift, high << -shift, exponent + shift
    return low >> shift, -(-high >> shift), exponent + shift
