"""Bits on the wire: both forms round-trip, and nothing else is read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsim.devices.mechanisms.bits import (
    GAPS,
    PACKED,
    pack_bits,
    pack_plain,
    pack_positions,
    pack_rows,
    unpack_bits,
    unpack_many,
    unpack_plain,
    unpack_positions,
)


@st.composite
def rows(draw: st.DrawFn) -> np.ndarray:
    size = draw(st.one_of(st.integers(0, 70), st.sampled_from([127, 128, 129, 3000, 20_000])))
    bits = np.zeros(size, np.bool_)
    if size:
        density = draw(st.sampled_from([0.0, 0.001, 0.01, 0.1, 0.12, 0.13, 0.5, 1.0]))
        bits |= np.random.default_rng(draw(st.integers(0, 10**6))).random(size) < density
        bits[draw(st.lists(st.integers(0, size - 1), max_size=5))] = True
    return bits


@given(rows())
def test_round_trip_and_size(bits: np.ndarray) -> None:
    data = pack_bits(bits)
    packed = pack_plain(bits)
    assert unpack_bits(data, len(bits)).tolist() == bits.tolist()
    assert unpack_positions(data, len(bits)).tolist() == np.flatnonzero(bits).tolist()
    assert unpack_plain(packed, len(bits)).tolist() == bits.tolist()
    assert len(data) <= 1 + len(packed)
    assert (data[0] == PACKED) == (len(data) == 1 + len(packed))  # gaps only where they are smaller


@given(st.lists(rows(), max_size=4))
def test_positions_and_many_rows_are_written_as_bits_are(several: list[np.ndarray]) -> None:
    ones = [np.flatnonzero(bits) for bits in several]
    wanted = [pack_bits(bits) for bits in several]
    assert [pack_positions(places, len(bits)) for places, bits in zip(ones, several, strict=True)] == wanted
    counts = np.array([len(places) for places in ones], np.int64)
    together = np.concatenate([np.zeros(0, np.int64), *ones])
    sizes = np.array([len(bits) for bits in several], np.int64)
    assert pack_rows(together, counts, sizes) == pack_rows(together.astype(np.uint32), counts, sizes) == wanted


@given(st.lists(rows(), max_size=5), st.booleans(), st.data())
def test_many_rows_are_read_as_one_by_one(several: list[np.ndarray], sparse: bool, draw: st.DataObject) -> None:
    """Rows as they are written, and with one byte changed: the same positions, or a ValueError on both ways."""
    if sparse:  # gaps alone, which are read together
        several = [bits for bits in several if pack_bits(bits)[0] == GAPS]
    data, sizes = [pack_bits(bits) for bits in several], np.array([len(bits) for bits in several], np.int64)
    ones, counts = unpack_many(data, sizes)
    assert counts.tolist() == [np.count_nonzero(bits) for bits in several]
    assert ones.tolist() == [place for bits in several for place in np.flatnonzero(bits).tolist()]
    longer = [k for k, row in enumerate(data) if len(row) > 1]
    if longer:
        row = draw.draw(st.sampled_from(longer))
        changed = bytearray(data[row])
        changed[draw.draw(st.integers(1, len(changed) - 1))] ^= draw.draw(st.integers(1, 255))
        data[row] = bytes(changed)
        try:
            wanted = [unpack_positions(given, int(size)).tolist() for given, size in zip(data, sizes, strict=True)]
        except ValueError:
            with pytest.raises(ValueError):
                unpack_many(data, sizes)
        else:
            assert unpack_many(data, sizes)[0].tolist() == [place for places in wanted for place in places]


def test_both_encoders_of_gaps_agree() -> None:
    """Few ones are coded by a loop, many by arrays: the same bytes."""
    rng = np.random.default_rng(3)
    ones = np.sort(rng.choice(10**6, 63, replace=False))
    few, many = np.zeros(10**6, np.bool_), np.zeros(10**6, np.bool_)
    few[ones] = many[ones] = True
    many[ones[-1] + 1 :: 5000] = True
    assert np.count_nonzero(few) < 64 <= np.count_nonzero(many)
    assert pack_bits(many).startswith(pack_bits(few))


@given(st.binary(max_size=40), st.integers(0, 200))
def test_whatever_is_read_was_written_so(data: bytes, size: int) -> None:
    """Any bytes: a ValueError, or a row; never another exception, never a bit beyond the row."""
    for read in (unpack_bits, unpack_positions):
        try:
            got = read(data, size)
        except ValueError:
            continue
        if read is unpack_bits:
            assert got.shape == (size,)
            if data[0] == GAPS:
                assert pack_bits(got) == data
            else:
                assert bytes([PACKED]) + pack_plain(got) == data
        else:
            assert all(0 <= p < size for p in got.tolist())


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x02", bytes([PACKED]), bytes([PACKED, 0]), bytes([PACKED, 0, 0, 0]), bytes([PACKED, 0, 0x3F]),
        bytes([GAPS, 9]), bytes([GAPS, 0x85]), bytes([GAPS, 0x80, 0x00]), bytes([GAPS, 0, 0, 0]),
        bytes([GAPS, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]), bytes([GAPS, 4, 4]),
    ],
)  # fmt: skip
def test_malformed_rows_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        unpack_positions(data, 9)
    with pytest.raises(ValueError):
        unpack_bits(data, 9)
