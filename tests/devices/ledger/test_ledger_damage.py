"""A ledger of another form, or a damaged one, is not opened."""

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
from ldpsim.devices.ledger.decisions import Replay
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import KEY, chain_of, harm, readable, release, say

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON answer BEGIN DELETE FROM answer; END"


@pytest.mark.parametrize(
    "change",
    [
        TRIGGER, "CREATE VIEW v AS SELECT * FROM answer", "CREATE INDEX i ON answer (collection)",
        "CREATE TABLE more (x)", "ALTER TABLE answer ADD COLUMN more", "DROP TABLE answer",
        "PRAGMA application_id=7", "PRAGMA user_version=3", "PRAGMA user_version=5",
    ],
)  # fmt: skip
def test_a_ledger_of_another_form_is_not_opened(ledger: Ledger, ask_for: Callable[..., Query], change: str) -> None:
    release(ledger, ask_for(attributes="a"))
    harm(ledger, change)
    with pytest.raises(LedgerDamaged):
        Ledger(ledger.path)
    if not change.startswith("PRAGMA"):
        with pytest.raises(LedgerDamaged), ledger.transaction():  # nor served by who had it open before
            pytest.fail("it began")


def test_a_planted_trigger_does_not_make_a_device_answer_twice(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    state.device(3)
    harm(state.ledger(3), TRIGGER)
    assert state.device(3).answer(ask_for()) is Refusal.LEDGER_DAMAGED
    state.close()
    assert state.device(3).answer(ask_for()) is Refusal.LEDGER_DAMAGED
    with pytest.raises(LedgerDamaged, match="triggers"):
        state.ledger(3)


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
            if readable(ledger, device):
                assert ledger.answers(device) == true[device], at
            else:
                damaged += 1
        ledger.close()
    assert unopened > 100 and damaged > 100


def test_the_schema_4_file_of_today_is_read_for_ever(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    """The table as schema 4 defines it, written by hand: names, order, bodies, seals."""
    path, query = tmp_path / "old", ask_for(attributes="l")
    body = struct.pack("<dIB3d4I", 1.5, 0, 0, 1.0, 1.0, 0.0, 5, 32, 2, 32)
    body += b"label" + query.fingerprint("label") + b"\x02\x00" + b"d" * 32
    first = hmac.digest(KEY, struct.pack("<qq3I", 3, 0, 6, 5, 0) + b"reportfirst" + body, "sha256")
    later = struct.pack("<dQ3dB", 2.5, 9, 1.0, 2.0, 0.5, 8) + b"features"
    later += struct.pack("<3d4I", 1.0, 2.0, 0.5, 8, 1, 0, 1) + b"training" + b"FD"
    second = hmac.digest(KEY, struct.pack("<qq3I", 3, 1, 6, 1, 32) + b"updatet" + first + later, "sha256")
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id=1818521683")
    db.execute("PRAGMA user_version=4")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(
        "CREATE TABLE answer (device INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,\n"
        "collection TEXT NOT NULL, body BLOB NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (device, number))"
    )
    db.execute("INSERT INTO answer VALUES (3, 0, 'report', 'first', ?, ?)", (body, first))
    db.execute("INSERT INTO answer VALUES (3, 1, 'update', 't', ?, ?)", (later, second))
    db.commit()
    db.close()
    ledger = Ledger(path)
    assert say(ledger, query) == Replay((b"\x02\x00",))
    training = chain_of(ledger)[1]
    assert (training.time, training.size, training.scope, training.total) == (
        2.5,
        9,
        ("features",),
        Loss(1.0, 2.0, 0.5),
    )
