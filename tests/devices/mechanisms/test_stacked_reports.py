"""Every mechanism's reports, from a device's bytes to the curator's arrays, on disk and back.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import (
    ClearAdjacency,
    Mechanism,
    MultiBit,
    NoisyRow,
    OneBit,
    stacked_reports,
)
from ldpsim.devices.mechanisms.stacked_reports import stacked
from ldpsim.devices.noise import NoiseStream
from ldpsim.devices.query import Ask, Query
from tests.devices.mechanisms.examples import EXAMPLES, FACTS, C, D, N

SILENT = {2, 6}
CASES: list[Mechanism] = [
    *(made for made in EXAMPLES if made.name not in ("neighbourhood_vote", "subset_selection")),
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
            noise = NoiseStream(bytes([device]) * 32)
            answers[device] = {
                ask.attribute: tuple(m.respond([record], [noise], devices=[device])[0] for m in ask.mechanisms)
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
    for device, record in enumerate(people()):
        if device in SILENT:
            assert np.all(rows[device] == (-1 if field == "labels" else 0))
            continue
        data = mechanism.respond([record], [NoiseStream(bytes([device]) * 32)], devices=[device])[0]
        packed = isinstance(mechanism, OneBit)  # bits stay in bytes
        report = np.frombuffer(data, np.uint8) if packed else np.asarray(mechanism.decode(data, device=device))
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
        device: mechanism.respond([record], [NoiseStream(bytes([device]) * 32)], devices=[device])[0]
        for device, record in enumerate(people())
        if device not in SILENT
    }
    stack, left = mechanism.stacker(N), dict(rows)
    for size in itertools.cycle(sizes):
        stack.add({device: left.pop(device) for device in list(left)[:size]})
        if not left:
            break
    got, expected = stack.done(), stacked(mechanism.stacker(N), rows)
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
                mechanism.decode(wrong, device=device)
            except ValueError:
                whole = mechanism.stacker(N)
                whole.add({**rows, device: wrong})
                others = stacked(mechanism.stacker(N), {other: rows[other] for other in rows if other != device})
                left_out = whole.done()
                assert list(whole.wrong) == [device]  # malformed bytes of one device lose nobody else's
                assert np.array_equal(*(np.asarray(a.todense() if isinstance(a, csr_array) else a)
                                        for a in (left_out, others)))  # fmt: skip
