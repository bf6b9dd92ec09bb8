"""A ledger of another form, or a damaged one, is not opened; what a device answers whose ledger is gone."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.data.records import Record
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger import schema
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import head_of
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, unpack_report
from tests.devices.conftest import ask_for, flipped, policy_of
from tests.devices.ledger.entries import KEY, chain_of, harm, readable, release, training_after
from tests.fleets import lone_device

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON answer BEGIN DELETE FROM answer; END"


@pytest.mark.parametrize("change", [
    TRIGGER, "CREATE VIEW v AS SELECT * FROM answer", "CREATE INDEX i ON answer (collection)",
    "CREATE TABLE more (x)", "ALTER TABLE answer ADD COLUMN more", "DROP TABLE answer",
    "PRAGMA application_id=7", "PRAGMA user_version=3", "PRAGMA user_version=5",
])  # fmt: skip
def test_a_ledger_of_another_form_is_not_opened(ledger: Ledger, change: str) -> None:
    release(ledger, ask_for(attributes="a"))
    harm(ledger, change)
    with pytest.raises(LedgerDamaged):
        Ledger(ledger.path)
    if not change.startswith("PRAGMA"):
        with pytest.raises(LedgerDamaged), ledger.transaction():  # nor served by who had it open before
            pytest.fail("it began")


def test_a_planted_trigger_does_not_make_a_device_answer_twice(tmp_path: Path, population: Population) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    state.device(3)
    harm(state.ledger(3), TRIGGER)
    assert state.device(3).answer(ask_for()) is Refusal.LEDGER_DAMAGED
    state.close()
    assert state.device(3).answer(ask_for()) is Refusal.LEDGER_DAMAGED
    with pytest.raises(LedgerDamaged, match="triggers"):
        state.ledger(3)


def test_one_rotten_byte_anywhere_hides_nothing(tmp_path: Path) -> None:
    """Each byte of the file in turn: it does not open, a device is damaged, or every row stands as it was."""
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger.create(path)
    devices = (2, 5, 6)  # with gaps, so that a rotten number can become another one
    for device in devices:
        release(ledger, ask_for(attributes="al"), device)
    true = {device: ledger.answers(device) for device in devices}
    ledger.close()
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    used = [at for at in range(len(data)) if data[at] or rng.random() < 0.01]  # most of the pages is empty space
    unopened = damaged = 0
    for at in used:
        rotten = bytearray(data)
        rotten[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(rotten)
        try:
            ledger = Ledger(path)
        except LedgerDamaged:
            unopened += 1
            continue
        for device in devices:
            if readable(ledger, device):
                assert ledger.answers(device) == true[device], at
            else:
                damaged += 1
        ledger.close()
    assert unopened > 100 and damaged > 100


def test_an_empty_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    schema.create(path)
    made = path.stat().st_ino
    schema.create(path)  # one that is there stays
    assert [p.name for p in tmp_path.iterdir()] == ["ledger"] and path.stat().st_ino == made
    with sqlite3.connect(path) as db:
        schema.check(db, path)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("SELECT * FROM answer").fetchall() == []
    db.close()


def test_the_devices_that_answered_in_a_collection_are_counted_once(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    assert schema.count_answered(ledger.path, "first") == 0
    for device, collection in ((3, "first"), (3, "first"), (4, "first"), (5, "second")):
        with ledger.transaction():
            rows = chain_of(ledger, device)
            row = training_after(rows, device)._replace(collection=collection)
            ledger.enter([row], [head_of(rows).seal], {device: KEY})
    before = sorted(path.name for path in tmp_path.iterdir())
    counts = {collection: schema.count_answered(ledger.path, collection) for collection in ("first", "second", "third")}
    assert counts == {"first": 2, "second": 1, "third": 0}
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    ledger.close()
    (tmp_path / "text").write_text("no ledger" * 100)
    for name in ("text", "missing"):
        with pytest.raises(LedgerDamaged, match=f"{name} cannot be read"):
            schema.count_answered(tmp_path / name, "first")
    assert not (tmp_path / "missing").exists()


def test_no_statement_reads_the_tables_of_another_form(tmp_path: Path) -> None:
    """An integrity check evaluates the constraints of every row, and a constraint may take hours."""
    Ledger.create(tmp_path / "ledger").close()
    with sqlite3.connect(tmp_path / "ledger") as db:
        db.execute("DROP TABLE answer")
        db.execute("CREATE TABLE answer (device INTEGER, CHECK (length(hex(zeroblob(400000000))) > 0))")
    db.close()
    run: list[str] = []
    with sqlite3.connect(tmp_path / "ledger") as db:
        db.set_trace_callback(run.append)
        with pytest.raises(LedgerDamaged, match="other tables, indexes, triggers or views"):
            schema.check(db, tmp_path / "ledger")
    db.close()
    with pytest.raises(LedgerDamaged, match="other tables, indexes, triggers or views"):
        schema.count_answered(tmp_path / "ledger", "c")
    assert run == ["PRAGMA application_id", "PRAGMA user_version", schema._OBJECTS]


def test_after_a_lost_ledger(tmp_path: Path, population: Population, keys: list[bytes]) -> None:
    """Same question, same data: same bytes. Otherwise another key, so noise that has nothing in common with it."""
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    own, numbers = population.record(3), count()

    def lost(query: Query, record: Record = own, secret: bytes = state.secrets[3].tobytes()) -> tuple[bytes, ...]:
        """Return the parts of the report of the same device with an empty ledger, and keep the keys of its noise."""
        keys.clear()
        path = tmp_path / f"lost-{next(numbers)}"
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
