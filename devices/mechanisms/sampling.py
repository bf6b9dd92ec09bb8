"""Uniform subsets of m of d coordinates, drawn exactly.

Integers of a symmetric law, drawn exactly by inversion with as many bits as necessary.

A sign and a uniform U on (0, 1/2) give the integer z or -z. z >= 0 is the smallest integer
with tail(z + 1) <= U, where tail(k) = Pr[Z >= k]. This has the law of Z exactly, if U is a
real number. 64 bits of U nearly always determine z. If they do not, or if floating point
might be wrong about it, further bits are drawn and compared with tail(z + 1) to 80 decimal
digits. So z depends on the bits alone, not on a machine's arithmetic. The time taken hardly
depends on the result, and not at all on the value that the noise is added to.

Exact binomial counts: uniform bits are compared with the digits of the distribution function.

Let c_k = P(M <= k), and let U be uniform on [0, 1). Then M, the number of all c_k that are at most U, has the
binomial law. U is drawn word by word. A word differs from the digits of c_k as a rule, and that decides the
comparison. Where they are equal (a tie), one more word and more digits of c_k decide. Nothing is rounded: the
digits are those of the exact fraction, so the law is exact for uniform words.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray, IntArray, Words
from ldpsim.devices.mechanisms.sparse_rows import ROW
from ldpsim.devices.noise import Noise

NOTHING = (1 << 32) - 1  # stands where a row has no number; it comes after all numbers
_NOTHING = np.uint32(NOTHING)
_SPARE = 4  # words of a subset beyond those that it needs as a rule


def subset(noise: Noise, d: int, m: int) -> IntArray:
    """int64 (devices, m), sorted rows: uniform m-subsets of 0 .. d - 1, by the first m steps of Fisher and Yates.

    No draw is made where m = d.
    """
    shuffled, rows = np.tile(np.arange(d), (len(noise), 1)), np.arange(len(noise))
    if m < d:
        for step, place in enumerate(noise.uniform_integers(d - np.arange(m), m).T):
            chosen = shuffled[rows, step + place]
            shuffled[rows, step + place] = shuffled[:, step]
            shuffled[:, step] = chosen
    return np.sort(shuffled[:, :m], axis=1)


def distinct_integers(noise: Noise, bound: int, counts: IntArray) -> IntArray:
    """Return a uniform subset of 0 .. bound - 1 of each device, with so many numbers, as sorted row << 32 | number.

    A word w gives the number w * bound // 2**32; the few words that would make some numbers more likely are dropped
    (Lemire 2019). The subset is the first different numbers.

    Args:
        noise: Noise of the devices.
        bound: At most 2**32 - 1.
        counts: int64 (devices,): the size of each subset.
    """
    draw, most = noise.next_draw(), int(counts.max(initial=0))
    found, left, size = [np.zeros(0, np.int64)], np.flatnonzero(counts), most + most * most // max(bound, 1) + _SPARE
    while len(left):
        numbers, short = _first_different(draw.numbers(size, 4, left), bound, counts[left])
        rows = np.broadcast_to((left << ROW)[:, None], numbers.shape)
        complete = (numbers != _NOTHING) & ~short[:, None]
        found.append(rows[complete] | numbers[complete])
        left, size = left[short], 2 * size
    return np.sort(np.concatenate(found)) if len(found) > 2 else found[-1]


def _first_different(words: Words, bound: int, counts: IntArray) -> tuple[Words, BoolArray]:
    """Return the first different numbers of each row, sorted, then :data:`NOTHING`; and the rows with too few words."""
    products = words * np.uint64(bound)
    drawn = (products >> np.uint64(32)).astype(np.uint32)
    np.putmask(drawn, products.astype(np.uint32) < np.uint32((1 << 32) % bound), _NOTHING)
    most = int(counts.max())
    numbers = drawn[:, :most].copy()
    np.putmask(numbers, np.arange(most) >= counts[:, None], _NOTHING)
    numbers.sort(axis=1)
    # Equal neighbours are repeated numbers, or the rest of the row; a row that ends too early has dropped words.
    equal = np.count_nonzero(numbers[:, 1:] == numbers[:, :-1], axis=1)
    ends = numbers[np.arange(len(counts)), counts - 1] == _NOTHING
    odd = np.flatnonzero((equal != np.maximum(most - counts - 1, 0)) | ends)
    short = np.zeros(len(counts), np.bool_)
    numbers[odd], short[odd] = _completed(numbers[odd], counts[odd], drawn[odd])
    return numbers, short


def _completed(numbers: Words, counts: IntArray, drawn: Words) -> tuple[Words, BoolArray]:
    """Return the rows with so many different numbers each, from the next ones drawn; and those with too few drawn."""
    taken, short = counts.copy(), np.zeros(len(counts), np.bool_)
    while True:
        np.putmask(numbers[:, 1:], numbers[:, 1:] == numbers[:, :-1], _NOTHING)
        numbers.sort(axis=1)
        missing = counts - np.count_nonzero(numbers != _NOTHING, axis=1)
        short |= taken + missing > drawn.shape[1]
        missing[short] = 0
        if not missing.any():
            return numbers, short
        rows = np.repeat(np.arange(len(counts)), missing)
        further = np.arange(len(rows)) - np.repeat(np.cumsum(missing) - missing, missing)
        numbers[rows, (counts - missing)[rows] + further] = drawn[rows, taken[rows] + further]
        numbers.sort(axis=1)
        taken += missing


DIGITS = 80
_SLACK = 1e-12  # a thousand times what numpy's log and scipy's ndtri err, relative to max(1, |y|)
_LAST = 1 << 63


def by_inversion(
    noise: Noise,
    size: int,
    *,
    quantile: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    scale: float,
    offset: float,
    tail: Callable[[int], Decimal],
) -> IntArray:
    """int64 (devices, size): independent draws.

    Args:
        noise: Source of 64 bits for each integer, very rarely of more.
        size: Number of integers.
        quantile: y(u) for u in (0, 1/2], such that z = floor(scale * y + offset); it may
            be infinite at 0.
        scale, offset: As above.
        tail: Pr[Z >= k] for k >= 1, to 80 digits.
    """
    draw = noise.next_draw()
    words = draw.numbers(size, 8)
    fraction = (words & np.uint64(_LAST - 1)).astype(np.float64)  # U lies in (fraction, fraction + 1) / 2**64
    with np.errstate(divide="ignore"):
        inner, outer = (np.minimum(quantile((fraction + side) / 2.0**64), 64.0) for side in (1, 0))
    slack = _SLACK * np.maximum(1.0, outer)
    least = np.floor(scale * np.maximum(inner - slack, 0) + offset).astype(np.int64)
    most = np.floor(scale * (outer + slack) + offset).astype(np.int64)
    for row, trial in np.argwhere((least != most) | (fraction == 0)).tolist():
        number = int(words[row, trial]) & (_LAST - 1)
        least[row, trial] = _settle(draw.words_of(row, trial, 8), number, int(least[row, trial]), tail)
    return np.where(words >> np.uint64(63), -least, least)


def _settle(further: Iterator[int], number: int, least: int, tail: Callable[[int], Decimal]) -> int:
    """Return the smallest z >= least with tail(z + 1) <= U, for a U that begins with the 64 bits of ``number``."""
    bits = 64

    def reached(z: int) -> bool:
        nonlocal number, bits
        while True:
            with localcontext() as context:
                context.prec = DIGITS
                beyond = tail(z + 1) * (1 << bits)
            if beyond <= number:
                return True
            if beyond >= number + 1:
                return False
            number, bits = number << 64 | next(further), bits + 64

    step = 1
    while not reached(least + step - 1):
        least, step = least + step, 2 * step
    below = least - 1  # not reached, or never tried; least + step - 1 is reached
    above = least + step - 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if reached(middle) else (middle, above)
    return above


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
            raise ValueError(f"no binomial law of {trials} trials with the threshold {threshold} of {width} bits")
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
