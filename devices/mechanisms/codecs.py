"""Bits on the wire: packed, or as gaps between the ones, whichever is smaller.

The first byte names the form, and only the smaller form is read. Gaps are LEB128 varints:
seven bits a byte, the high bit set on all but the last byte of a number.

Signed integers on the wire, at the smallest width that holds them all.

The first byte is the number of bytes an integer takes (1..8); the integers follow in
order, little-endian two's complement.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray

PACKED, GAPS = 0, 1
_PACKED, _GAPS = bytes([PACKED]), bytes([GAPS])


def pack_plain(bits: BoolArray) -> bytes:
    """Return ceil(len / 8) bytes, first bit highest."""
    return np.packbits(bits).tobytes()


def unpack_plain(data: bytes, size: int) -> BoolArray:
    """Read :func:`pack_plain` back; ValueError for bytes that are not those of ``size`` bits."""
    check_plain(data, size)
    return np.unpackbits(np.frombuffer(data, np.uint8), count=size).view(np.bool_)


def check_plain(data: bytes, size: int) -> None:
    """Refuse bytes that :func:`pack_plain` does not write for ``size`` bits (ValueError)."""
    if len(data) != (size + 7) // 8:
        raise ValueError(f"{len(data)} bytes do not hold {size} bits")
    if size % 8 and data[-1] & (0xFF >> size % 8):
        raise ValueError(f"a bit is set beyond {size} bits")


def pack_positions(ones: np.ndarray, size: int) -> bytes:
    """Return ``size`` bits with ones at these sorted positions: the smaller form, the packed one on a tie."""
    gaps = _smaller_gaps(ones, size)
    if gaps is not None:
        return _GAPS + gaps
    bits = np.zeros(size, np.bool_)
    bits[ones] = True
    return _PACKED + pack_plain(bits)


def pack_rows(ones: np.ndarray, counts: np.ndarray, sizes: np.ndarray) -> list[bytes]:
    """Return what :func:`pack_positions` writes for each of many rows.

    Args:
        ones: Sorted positions of the ones, row after row; int64, or uint32 of rows of fewer than 2**32 bits.
        counts: Ones of each row.
        sizes: Bits of each row.
    """
    if len(counts) == 1:
        return [pack_positions(ones, int(sizes[0]))]
    ends = np.cumsum(counts)
    starts = ends - counts
    some = starts[counts > 0]
    gaps = np.empty_like(ones)
    np.subtract(ones[1:], ones[:-1], out=gaps[1:])
    gaps -= 1
    gaps[some] = ones[some]
    coded, lengths = _septets(gaps)
    octets = np.zeros(len(counts), np.int64)
    if len(some):
        octets[counts > 0] = np.add.reduceat(lengths, some, dtype=np.int64)
    data = coded.tobytes()
    packed = (octets >= (sizes + 7) // 8).tolist()
    places = np.concatenate(([0], np.cumsum(octets))).tolist()
    return [
        pack_positions(ones[starts[row] : ends[row]], int(sizes[row])) if packed[row] else _GAPS + data[start:end]
        for row, (start, end) in enumerate(itertools.pairwise(places))
    ]


def unpack_positions(data: bytes, size: int) -> np.ndarray:
    """Read :func:`pack_positions` back: the sorted positions of the ones, int64; ValueError for a wrong form."""
    if data[:1] == _PACKED:
        ones = np.flatnonzero(unpack_plain(data[1:], size))
        if _smaller_gaps(ones, size) is not None:
            raise ValueError("packed bits that are larger than gaps")
        return ones
    if data[:1] != _GAPS:
        raise ValueError("neither packed bits nor gaps")
    return unpack_many([data], np.array([size]))[0].astype(np.int64)


def unpack_many(rows: Sequence[bytes], sizes: IntArray) -> tuple[IntArray, IntArray]:
    """Return :func:`unpack_positions` of several rows, joined, and the number of ones of each; ValueError likewise.

    The positions have 32 bits where all rows together have fewer than 2**31.
    """
    rooms = (sizes + 7) // 8
    lengths = np.array([len(row) for row in rows], np.int64) - 1
    gaps = np.array([row[:1] == _GAPS for row in rows], np.bool_)
    if not gaps.all():  # few rows are packed where reports are sparse, and all of them where they are not
        parts = [unpack_positions(row, int(size)) for row, size in zip(rows, sizes, strict=True)]
        return np.concatenate(parts), np.array([len(ones) for ones in parts], np.int64)
    if np.any(lengths >= rooms):
        raise ValueError("gaps that are no smaller than packed bits")
    data = np.frombuffer(b"".join([row[1:] for row in rows]), np.uint8)
    ends = np.cumsum(lengths)
    if np.any(data[ends[lengths > 0] - 1] >= 0x80):
        raise ValueError("a gap is cut off")
    values, last = _numbers(data)
    behind = np.searchsorted(last, ends)  # numbers up to the end of each row
    counts = np.diff(behind, prepend=0)
    small = values.sum(dtype=np.int64) + len(values) < 1 << 31
    positions = np.cumsum(values + 1, dtype=np.int32 if small else np.int64)
    # Each row begins anew: what the rows before it added up to is taken away.
    totals = np.concatenate([np.zeros(1, positions.dtype), positions])
    before = totals[behind - counts]
    if np.any(totals[behind] - before > sizes):
        raise ValueError("gaps run past their row")
    return positions - np.repeat(before + 1, counts), counts


def _smaller_gaps(ones: np.ndarray, size: int) -> bytes | None:
    """Return the gaps between the ones where they take fewer bytes than ``size`` packed bits, else None."""
    packed_size = (size + 7) // 8
    if len(ones) >= packed_size:  # a gap takes at least one byte
        return None
    gaps = _septets(np.diff(ones, prepend=-1) - 1)[0].tobytes()
    return gaps if len(gaps) < packed_size else None


def _septets(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of these numbers, uint8, and the number of bytes of each."""
    largest = int(gaps.max(initial=0))
    places = max(-(-largest.bit_length() // 7), 1)
    gaps = gaps.astype("<u4" if places <= 4 else "<u8")
    words = gaps & 0x7F  # a number's bytes, the first one lowest
    mask = np.ones_like(gaps)  # 1 in each byte that is used
    lengths = np.ones(len(gaps), np.uint8)
    for place in range(1, places):
        longer = gaps >= 1 << 7 * place
        lengths += longer
        more = longer.astype(gaps.dtype)
        words |= more << (8 * place - 1) | (gaps & 0x7F << 7 * place) << place
        mask |= more << 8 * place
    return np.compress(mask.view(np.bool_), words.view(np.uint8)), lengths


def _numbers(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that :func:`_septets` coded, and the place of the last byte of each."""
    ends = np.flatnonzero(data < 0x80)
    if len(data) and (not len(ends) or ends[-1] != len(data) - 1):
        raise ValueError("a gap is cut off")
    lengths = np.diff(ends, prepend=-1)
    longest = int(lengths.max(initial=1))
    last = data[ends]
    if longest > 5 or np.any((last == 0) & (lengths > 1)):
        raise ValueError("a gap is longer than its number")
    values: np.ndarray = last.astype(np.int32 if longest <= 4 else np.int64)
    for place in range(1, longest):
        before = data.take(ends - place, mode="clip") & 0x7F
        values = np.where(lengths > place, values << 7 | before, values)
    return values, ends


def pack_numbers(numbers: np.ndarray, kind: str) -> list[bytes]:
    """Return the bytes of each number as this numpy type.

    >>> pack_numbers(np.array([1, 258]), "<u2")
    [b'\\x01\\x00', b'\\x02\\x01']
    """
    data, size = numbers.astype(kind).tobytes(), np.dtype(kind).itemsize
    return [data[at : at + size] for at in range(0, len(data), size)]


def unpack_numbers(data: Sequence[bytes], kind: str, below: int) -> IntArray:
    """Read :func:`pack_numbers` back, int64; ValueError for other bytes, or for a number that is not below a limit."""
    size = np.dtype(kind).itemsize
    if any(len(each) != size for each in data):
        raise ValueError(f"a number has {size} bytes")
    numbers = np.frombuffer(b"".join(data), kind).astype(np.int64)
    if np.any(numbers >= below):
        raise ValueError(f"a number is not below {below}")
    return numbers


def pack_bit_rows(bits: BoolArray) -> list[bytes]:
    """Return :func:`pack_plain` of each row."""
    return [row.tobytes() for row in np.packbits(bits, axis=1)]


def unpack_bit_rows(data: Sequence[bytes], size: int) -> BoolArray:
    """Read :func:`pack_bit_rows` back, bool (rows, size); ValueError for other bytes."""
    for each in data:
        check_plain(each, size)
    packed = np.frombuffer(b"".join(data), np.uint8).reshape(len(data), (size + 7) // 8)
    return np.unpackbits(packed, axis=1, count=size).view(np.bool_)


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
    octets = np.frombuffer(data, np.uint8, offset=1).reshape(size, width)
    whole = np.empty((size, 8), np.uint8)
    whole[:, :width] = octets
    whole[:, width:] = np.where(octets[:, -1:] & 0x80, 0xFF, 0)
    numbers: IntArray = whole.view("<i8").ravel().astype(np.int64)
    if pack_integers(numbers)[0] != width:
        raise ValueError("integers that are wider than they need be")
    return numbers
