"""Exact figures of the mechanisms' reports: their bits, columns, rows and sizes.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.mechanisms import (
    RandomizedResponse,
)
from ldpsim.devices.mechanisms.bits import (
    pack_bits,
    pack_integers,
    pack_rows,
    unpack_integers,
    unpack_many,
    unpack_positions,
)
from ldpsim.devices.mechanisms.exact_loss import ONE


def test_few_flips_are_few_of_many_too() -> None:
    """The sampler counts flips up to 1 in 16, and up to 2^17 flips a row."""
    of = lambda flip, n: RandomizedResponse(flip, n).few_flips  # noqa: E731
    assert of(ONE // 16, 99) and not of(ONE // 16 + 1, 99)
    assert of(ONE >> 10, 1 << 27) and not of(ONE >> 10, (1 << 27) + 1)


@pytest.mark.parametrize(("ones", "size", "data"), [
    ([0], 8, "0080"), ([0], 9, "0100"), ([], 1, "01"), ([], 0, "00"), ([0, 1], 16, "00c000"), ([0, 1], 17, "010000"),
    ([127], 2000, "017f"), ([128], 2000, "018001"), ([3, 132], 2000, "01038001"), ([5, 16_390], 99_999, "0105808001"),
    ([16_383], 99_999, "01ff7f"), ([2_097_152], 9_999_999, "0180808001"),
])  # fmt: skip
def test_bits_on_the_wire(ones: list[int], size: int, data: str) -> None:
    bits = np.zeros(size, np.bool_)
    bits[ones] = True
    assert pack_bits(bits).hex() == data and unpack_positions(bytes.fromhex(data), size).tolist() == ones
    places = np.array(ones * 2, np.int64)
    rows = pack_rows(places, np.array([len(ones)] * 2), np.array([size] * 2))
    assert [row.hex() for row in rows] == [data] * 2
    found, counts = unpack_many(rows, np.array([size] * 2))
    assert found.tolist() == ones * 2 and counts.tolist() == [len(ones)] * 2


@pytest.mark.parametrize(("numbers", "data"), [
    ([], "01"), ([0, 127, -128], "01007f80"), ([128], "028000"), ([-129], "027fff"),
    ([1, -(1 << 63)], "08" + "01" + "00" * 14 + "80"),
    ([32767], "02ff7f"), ([32768], "03008000"),
])  # fmt: skip
def test_integers_on_the_wire(numbers: list[int], data: str) -> None:
    assert pack_integers(np.array(numbers, np.int64)).hex() == data
    assert unpack_integers(bytes.fromhex(data), len(numbers)).tolist() == numbers
