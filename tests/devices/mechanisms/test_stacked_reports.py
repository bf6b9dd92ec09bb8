"""Bits and integers on the wire, and every mechanism's reports from a device's bytes to the curator's arrays."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.records import Record
from ldpsim.devices.mechanisms import (
    ClearAdjacency,
    Mechanism,
    MultiBit,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    stacked_reports,
)
from ldpsim.devices.mechanisms.codecs import (
    GAPS,
    PACKED,
    pack_integers,
    pack_plain,
    pack_positions,
    pack_rows,
    unpack_integers,
    unpack_many,
    unpack_plain,
    unpack_positions,
)
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.mechanism import one_report
from ldpsim.devices.mechanisms.stacked_reports import report_stack, stacked
from ldpsim.devices.query import Ask, Query
from tests.devices.mechanisms.examples import EXAMPLES, FACTS, C, D, N
from tests.devices.mechanisms.one import respond

SILENT = {2, 6}
CASES: list[Mechanism] = [
    *(made for made in EXAMPLES if made.name != "neighbourhood_vote"),
    NoisyRow.from_epsilon(1.0, n=N, reporting="one-end"), ClearAdjacency(N, "one-end"),
    MultiBit.from_epsilon(1.0, d=D, m=D),
]  # fmt: skip
every = pytest.mark.parametrize("mechanism", CASES, ids=lambda made: made.name)


def people() -> list[Record]:
    rng = np.random.default_rng(3)
    made = []
    for node in range(N):
        columns = np.sort(rng.choice(D, 4, replace=False)).astype(np.int32)
        neighbours = np.setdiff1d(rng.choice(N, 4, replace=False), [node]).astype(np.int32)
        made.append(Record(columns, np.full(4, 0.5, np.float32), neighbours, int(rng.integers(C))))
    return made


def collect(*asks: Ask) -> Reports:
    question = Question(Query("c", (asks,)))
    answers = {}
    for device, record in enumerate(people()):
        if device not in SILENT:
            answers[device] = {
                ask.attribute: tuple(respond(m, record, bytes([device]) * 32, device) for m in ask.mechanisms)
                for ask in asks
            }
    return Reports.from_bytes(FACTS, [question], answers)


def dense(array: object) -> np.ndarray:
    return array.toarray() if isinstance(array, csr_array) else np.asarray(array)


def same(one: Reports, other: Reports) -> None:
    assert one.arrays.keys() == other.arrays.keys()
    for name, a in one.arrays.items():
        b = other.arrays[name]
        assert type(a) is type(b) and a.dtype == b.dtype and np.array_equal(dense(a), dense(b))


@every
def test_reports_are_what_was_reported(mechanism: Mechanism, tmp_path: Path) -> None:
    field = mechanism.field
    reports = collect(Ask(mechanism.reads[0], (mechanism,)))
    assert list(reports.arrays) == [field]
    rows = dense(reports.arrays[field])
    if mechanism.summed:
        answers = {device: respond(mechanism, record, bytes([device]) * 32, device)
                   for device, record in enumerate(people()) if device not in SILENT}  # fmt: skip
        assert np.array_equal(rows, sum(one_report(mechanism, data, device) for device, data in answers.items()))
    for device, record in enumerate(people()):
        if mechanism.summed:
            continue
        if device in SILENT:
            assert np.all(rows[device] == (-1 if field == "labels" else 0))
            continue
        data = respond(mechanism, record, bytes([device]) * 32, device)
        packed = isinstance(mechanism, OneBit)  # bits stay in bytes
        report = np.frombuffer(data, np.uint8) if packed else np.asarray(one_report(mechanism, data, device))
        if field in ("adjacency", "noisy_rows"):
            places = mechanism.nodes(device, np.arange(mechanism.targets(device)))  # type: ignore[attr-defined]
            assert np.array_equal(rows[device, places], report)
            assert not np.delete(rows[device], places).any()
        else:
            assert np.array_equal(rows[device], report[0] if field == "degrees" else report)
    reports.save(tmp_path / "r")
    loaded = Reports.load(tmp_path / "r")
    same(reports, loaded)
    assert dict(loaded.asks) == dict(reports.asks)


@every
@pytest.mark.parametrize("sizes", [(1, 4), (12,)])
def test_batches_give_what_all_reports_at_once_give(
    mechanism: Mechanism, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacked_reports, "AT_ONCE", 5)  # few bytes are decoded at once
    rows = {
        device: respond(mechanism, record, bytes([device]) * 32, device)
        for device, record in enumerate(people())
        if device not in SILENT
    }
    stack, left = report_stack(mechanism, N), dict(rows)
    for size in itertools.cycle(sizes):
        stack.add({device: left.pop(device) for device in list(left)[:size]})
        if not left:
            break
    got, expected = stack.done(), stacked(mechanism, N, rows)
    assert type(got) is type(expected) and got.dtype == expected.dtype
    if isinstance(got, csr_array):
        assert got.indices.dtype == expected.indices.dtype and np.array_equal(got.indices, expected.indices)
        assert np.array_equal(got.indptr, expected.indptr) and np.array_equal(got.data, expected.data)
    else:
        assert np.array_equal(got, expected)
    for device in rows:
        wrongs = (
            b"",
            rows[device] + b"\0",
            rows[device][:-1],
            b"\xff" * len(rows[device]),
            b"\x01\x80\x00",
            b"\x01\x7f",
        )
        for wrong in wrongs:
            try:
                one_report(mechanism, wrong, device)
            except ValueError:
                whole = report_stack(mechanism, N)
                whole.add({**rows, device: wrong})
                others = stacked(mechanism, N, {other: rows[other] for other in rows if other != device})
                left_out = whole.done()
                assert list(whole.wrong) == [device]  # malformed bytes of one device lose nobody else's
                assert np.array_equal(*(np.asarray(a.todense() if isinstance(a, csr_array) else a)
                                        for a in (left_out, others)))  # fmt: skip


@st.composite
def rows(draw: st.DrawFn) -> np.ndarray:
    size = draw(st.one_of(st.integers(0, 70), st.sampled_from([127, 128, 129, 3000, 20_000])))
    bits = np.zeros(size, np.bool_)
    if size:
        density = draw(st.sampled_from([0.0, 0.001, 0.01, 0.1, 0.12, 0.13, 0.5, 1.0]))
        bits |= np.random.default_rng(draw(st.integers(0, 10**6))).random(size) < density
        bits[draw(st.lists(st.integers(0, size - 1), max_size=5))] = True
    return bits


def packed_row(bits: np.ndarray) -> bytes:
    return pack_positions(np.flatnonzero(bits), len(bits))


@given(rows())
def test_round_trip_and_size(bits: np.ndarray) -> None:
    data = packed_row(bits)
    packed = pack_plain(bits)
    assert unpack_positions(data, len(bits)).tolist() == np.flatnonzero(bits).tolist()
    assert unpack_plain(packed, len(bits)).tolist() == bits.tolist()
    assert len(data) <= 1 + len(packed)
    assert (data[0] == PACKED) == (len(data) == 1 + len(packed))  # gaps only where they are smaller


@given(st.lists(rows(), max_size=5), st.booleans(), st.data())
def test_many_rows_are_read_as_one_by_one(several: list[np.ndarray], sparse: bool, draw: st.DataObject) -> None:
    """Rows as they are written, and with one byte changed: the same positions, or a ValueError on both ways."""
    if sparse:  # gaps alone, which are read together
        several = [bits for bits in several if packed_row(bits)[0] == GAPS]
    data, sizes = [packed_row(bits) for bits in several], np.array([len(bits) for bits in several], np.int64)
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


@given(st.binary(max_size=40), st.integers(0, 200))
def test_whatever_is_read_was_written_so(data: bytes, size: int) -> None:
    """Any bytes: a ValueError, or a row; never another exception, never a bit beyond the row."""
    try:
        ones = unpack_positions(data, size)
    except ValueError:
        return
    assert all(0 <= place < size for place in ones.tolist())
    assert pack_positions(ones, size) == data


@pytest.mark.parametrize("data", [
    b"", b"\x02", bytes([PACKED]), bytes([PACKED, 0]), bytes([PACKED, 0, 0, 0]), bytes([PACKED, 0, 0x3F]),
    bytes([GAPS, 9]), bytes([GAPS, 0x85]), bytes([GAPS, 0x80, 0x00]), bytes([GAPS, 0, 0, 0]),
    bytes([GAPS, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]), bytes([GAPS, 4, 4]),
])  # fmt: skip
def test_malformed_rows_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        unpack_positions(data, 9)


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
    assert packed_row(bits).hex() == data and unpack_positions(bytes.fromhex(data), size).tolist() == ones
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
