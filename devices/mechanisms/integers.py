"""Signed integers on the wire, at the smallest width that holds them all.

The first byte is the number of bytes an integer takes (1..8); the integers follow in
order, little-endian two's complement.
"""

from __future__ import annotations

import numpy as np

from ldpsim.devices.array_types import IntArray


def pack_integers(numbers: IntArray) -> bytes:
    """Return 1 + width * len bytes.

    >>> pack_integers(np.array([1, -1])).hex()
    '0101ff'
    """
    numbers = np.ascontiguousarray(numbers, "<i8")
    # ~x of a negative number needs as many bits as the number itself, less its sign
    most = int(np.where(numbers < 0, ~numbers, numbers).max(initial=0))
    width = most.bit_length() // 8 + 1
    return bytes([width]) + numbers.view(np.uint8).reshape(-1, 8)[:, :width].tobytes()


def unpack_integers(data: bytes, size: int) -> IntArray:
    """Read :func:`pack_integers` back, int64 (size,); ValueError for any other form."""
    width = data[0] if data else 0
    if not 1 <= width <= 8 or len(data) != 1 + width * size:
        raise ValueError(f"{len(data)} bytes do not hold {size} integers")
    given = np.frombuffer(data, np.uint8, offset=1).reshape(size, width)
    whole = np.empty((size, 8), np.uint8)
    whole[:, :width] = given
    whole[:, width:] = np.where(given[:, -1:] & 0x80, 0xFF, 0)
    numbers: IntArray = whole.view("<i8").ravel().astype(np.int64)
    if pack_integers(numbers)[0] != width:
        raise ValueError("integers that are wider than they need be")
    return numbers
