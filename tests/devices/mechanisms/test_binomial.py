"""The law of the counts by enumerating every word, at so few bits that ties are frequent; digits of exact fractions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from math import comb

import pytest

from ldpsim.devices.mechanisms import sampling as module
from ldpsim.devices.mechanisms.sampling import Binomial, digits_of

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
