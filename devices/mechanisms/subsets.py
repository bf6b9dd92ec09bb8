"""Uniform subsets of m of d coordinates, drawn exactly."""

from __future__ import annotations

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray, Words
from ldpsim.devices.mechanisms.sparse_batch import ROW
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
