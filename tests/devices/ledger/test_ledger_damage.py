"""A ledger of another form, or a damaged one, is not opened.

It covers ``ldpsim.devices.ledger.ledger``, ``ldpsim.devices.ledger.ledger_file`` and
``ldpsim.devices.ledger.statements``.
"""

from __future__ import annotations

import hmac
import os
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged, Replay
from ldpsim.devices.ledger.rows import Head, QueryAnswer
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import KEY, release

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON query_answer BEGIN DELETE FROM query_answer; END"


@pytest.mark.parametrize(
    "harm",
    [
        TRIGGER, "CREATE VIEW v AS SELECT * FROM query_answer", "CREATE INDEX i ON query_answer (time)",
        "CREATE TABLE more (x)", "ALTER TABLE query_answer ADD COLUMN more", "DROP TABLE training_answer",
        "DELETE FROM header", "INSERT INTO header VALUES (1, 0)", "UPDATE header SET id = 3",
        "PRAGMA application_id=7", "PRAGMA user_version=4",
    ],
)  # fmt: skip
def test_a_ledger_of_another_form_is_not_opened(ledger: Ledger, ask_for: Callable[..., Query], harm: str) -> None:
    release(ledger, ask_for(attributes="a"))
    with sqlite3.connect(ledger.path) as stranger:
        stranger.execute(harm)
    stranger.close()
    with pytest.raises(LedgerDamaged):
        Ledger(ledger.path)
    if not harm.startswith("PRAGMA") and "id = 3" not in harm:
        with pytest.raises(LedgerDamaged), ledger.transaction():  # nor served by who had it open before
            pytest.fail("it began")


def test_a_planted_trigger_does_not_make_a_device_answer_twice(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    state.device(3)
    with sqlite3.connect(state.ledger(3).path) as stranger:
        stranger.execute(TRIGGER)
    stranger.close()
    assert state.device(3).answer(ask_for()) is Refusal.LEDGER_DAMAGED
    state.close()
    with pytest.raises(LedgerDamaged, match="triggers"):
        state.device(3)


def damage(kind: str, path: Path) -> None:
    data = bytearray(path.read_bytes())
    if kind == "garbage":
        data = bytearray(os.urandom(len(data)))
    elif kind == "blank":
        data = bytearray()
    elif kind == "truncated":
        del data[len(data) // 2 :]
    elif kind == "first page only":
        del data[4096:]
    elif kind == "text":
        data = bytearray(b"this is no ledger\n" * 100)
    elif kind == "zeros":
        data = bytearray(len(data))
    path.write_bytes(data)


DAMAGES = ["garbage", "blank", "truncated", "first page only", "text", "zeros"]


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_not_opened(tmp_path: Path, ask_for: Callable[..., Query], kind: str) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger.create(path)
    for device in range(40):
        release(ledger, ask_for(), device)
    ledger.close()
    assert not path.with_name("ledger.sqlite-wal").exists()
    damage(kind, path)
    before = path.read_bytes()
    with pytest.raises(LedgerDamaged):
        Ledger(path)
    assert path.read_bytes() == before  # and nothing is written over it


def test_one_rotten_byte_anywhere_hides_nothing(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
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
            if ledger.readable(device, KEY):
                assert ledger.answers(device) == true[device], at
            else:
                damaged += 1
        ledger.close()
    assert unopened > 100 and damaged > 100


def test_files_of_other_kinds_and_versions_are_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "other"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE release (x)")
    db.commit()
    db.close()
    with pytest.raises(LedgerDamaged, match="not a ledger of a version"):
        Ledger(path)
    newer = Ledger.create(tmp_path / "newer")
    newer._db.execute("PRAGMA user_version=4")
    newer.close()
    with pytest.raises(LedgerDamaged, match="not a ledger of a version"):
        Ledger(tmp_path / "newer")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(LedgerDamaged):
        Ledger(folder)
    with pytest.raises(LedgerDamaged):
        Ledger(tmp_path / "missing" / "ledger")


def test_the_schema_3_file_of_today_is_read_for_ever(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    """The tables as schema 3 defines them, written by hand: names, order, packed parts, seals."""
    path = tmp_path / "old"
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id=1818521683")
    db.execute("PRAGMA user_version=3")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(
        "CREATE TABLE query_answer (device INTEGER NOT NULL, number INTEGER NOT NULL, collection TEXT NOT NULL, "
        "stage INTEGER NOT NULL, grouping BLOB NOT NULL, packed_parts BLOB NOT NULL, time REAL NOT NULL, "
        "seal BLOB NOT NULL, PRIMARY KEY (device, number))"
    )
    db.execute(
        "CREATE TABLE training_answer (device INTEGER NOT NULL, number INTEGER NOT NULL, collection TEXT NOT NULL, "
        "kind TEXT NOT NULL, attributes TEXT NOT NULL, fingerprint BLOB NOT NULL, loss_bit REAL NOT NULL, "
        "loss_vector REAL NOT NULL, delta REAL NOT NULL, total_bit REAL NOT NULL, total_vector REAL NOT NULL, "
        "total_delta REAL NOT NULL, data_digest BLOB NOT NULL, size INTEGER NOT NULL, time REAL NOT NULL, "
        "seal BLOB NOT NULL, PRIMARY KEY (device, number))"
    )
    db.execute("CREATE TABLE header (id INTEGER NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (id))")
    db.execute("INSERT INTO header VALUES (0, 6)")
    query = ask_for(attributes="l")
    lengths = struct.pack("<ddd4I", 1.0, 1.0, 0.0, 5, 32, 2, 32)
    packed = lengths + b"label" + query.fingerprint("label") + b"\x02\x00" + b"d" * 32
    row = struct.pack("<qqqd3I", 3, 0, 0, 1.5, 5, 0, len(packed)) + b"first" + packed
    first = hmac.digest(KEY, b"query_answer\0\0" + row, "sha256")
    db.execute("INSERT INTO query_answer VALUES (3, 0, 'first', 0, x'', ?, 1.5, ?)", (packed, first))
    row = struct.pack("<qqddddddqd5I", 3, 1, 1.0, 2.0, 0.5, 1.0, 2.0, 0.5, 9, 2.5, 1, 6, 8, 1, 1) + b"tupdatefeaturesFD"
    second = hmac.digest(KEY, b"training_answer\0\x20" + first + row, "sha256")
    db.execute(
        "INSERT INTO training_answer VALUES (3, 1, 't', 'update', 'features', x'46', 1, 2, 0.5, 1, 2, 0.5, x'44', 9, "
        "2.5, ?)", (second,)
    )  # fmt: skip
    db.commit()
    db.close()
    ledger = Ledger(path)
    assert ledger.epoch == 6 and ledger.decide(3, query, seal_key=KEY, replay=False) == Replay((b"\x02\x00",))
    assert ledger.training(3, seal_key=KEY) == (Head(2, second), Loss(1.0, 2.0, 0.5))


def test_a_ledger_of_an_earlier_schema_is_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "ledger.sqlite")
    db.execute("PRAGMA application_id=1818521683")
    db.execute("PRAGMA user_version=2")
    db.close()
    with pytest.raises(LedgerDamaged, match="not a ledger of a version"):
        Ledger(tmp_path / "ledger.sqlite")


def test_making_a_ledger_leaves_a_whole_one_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", crash)
        with pytest.raises(KeyboardInterrupt):
            Ledger.create(tmp_path / "l")
    assert list(tmp_path.iterdir()) == []
    Ledger.create(tmp_path / "l").close()
    assert [path.name for path in tmp_path.iterdir()] == ["l"]


def test_a_full_disk_enters_nothing(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    (pages,) = ledger._db.execute("PRAGMA page_count").fetchone()
    ledger._db.execute(f"PRAGMA max_page_count={pages}")
    query = ask_for()
    with pytest.raises(LedgerDamaged, match="cannot be written"), ledger.transaction():
        answer = QueryAnswer.following(Head(), 3, query, {name: bytes(9000) for name in query.attributes}, {})
        ledger.enter(answer, after=Head(), seal_key=KEY)
    assert ledger.answers(3) == [] and not ledger.in_transaction


def test_rows_that_exist_are_never_replaced(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query = ask_for()
    release(ledger, query)
    before = ledger.answers(3)
    with pytest.raises(LedgerDamaged), ledger.transaction():
        answer = QueryAnswer.following(Head(), 3, query, dict.fromkeys(query.attributes, b"other"), {})
        ledger.enter(answer, after=Head(), seal_key=KEY)
    assert ledger.answers(3) == before
