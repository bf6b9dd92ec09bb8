"""A device whose ledger is gone, lost or older: what it answers again hangs on question and data alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import ldpsim.devices.draw
from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.noise import NoiseStream
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, unpack_report
from tests.devices.conftest import ask_for, flipped, policy_of
from tests.fleets import lone_device


def test_after_a_lost_ledger(tmp_path: Path, population: Population, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same question, same data: same bytes. Otherwise another key, so noise that has nothing in common with it."""
    keys: list[bytes] = []

    class Listening(NoiseStream):
        def __init__(self, key: bytes, stream: int = 0) -> None:
            keys.append(key)
            super().__init__(key, stream)

    monkeypatch.setattr(ldpsim.devices.draw, "NoiseStream", Listening)
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    own = population.record(3)

    def lost(query: Query, record: Record = own, secret: bytes = state.secrets[3].tobytes()) -> tuple[bytes, ...]:
        """Return the parts of the report of the same device with an empty ledger, and keep the keys of its noise."""
        keys.clear()
        path = tmp_path / f"lost-{len(list(tmp_path.iterdir()))}"
        report = lone_device(3, record, secret, state.policy, Ledger.create(path)).answer(query)
        assert isinstance(report, Report) and not report.replayed
        return tuple(part for parts in unpack_report(report.data, query).values() for part in parts)

    query = ask_for(attributes="af")
    first, noise = lost(query), [*keys]
    assert lost(replace(query, collection="another")) == first and keys == noise
    for place, letter in enumerate("af"):  # asked alone, too: other bytes would be a second report
        assert lost(ask_for(attributes=letter)) == (first[place],)
    # one edge, and one feature, less: the other attribute's report is the one that it was
    near, words = (
        replace(own, neighbours=own.neighbours[1:]),
        replace(own, feature_indices=own.feature_indices[1:], feature_values=own.feature_values[1:]),
    )
    seen = [*noise]
    for kept, record in ((1, near), (0, words)):
        lost(query, record)
        assert keys[kept] == noise[kept]
        seen.append(keys[1 - kept])
    for asked, record, secret in (
        (ask_for(attributes="af", eps=1.01), own, state.secrets[3].tobytes()),  # another budget
        (query, flipped(own, 3), state.secrets[3].tobytes()),
        (query, own, b"t" * 32),  # another secret, the same public number
    ):
        lost(asked, record, secret)
        seen += keys
    assert len(set(seen)) == len(seen) == 10
