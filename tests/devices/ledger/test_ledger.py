"""The ledger: durable, atomic between threads and processes, and damaged when it is damaged.

It covers ``devices.ledger.ledger``, ``devices.ledger.ledger_file`` and ``devices.ledger.statements``.
"""

from __future__ import annotations

import hmac
import itertools
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from devices.data.population import Population, Record
from devices.device import Device, Refusal, Report, unpack_report
from devices.enrolment.state import State, enrol
from devices.ledger.chain import checked, seal_of
from devices.ledger.ledger import AlreadyCollected, EpochPassed, Ledger, LedgerDamaged, NewRelease, Replay
from devices.ledger.rows import Head, QueryAnswer, TrainingAnswer
from devices.ledger.schema import LAST
from devices.mechanisms import Loss
from devices.policy.policy import Policy
from devices.query import Query

ROOT = Path(__file__).parents[3]
KEY = b"k" * 32
NUMBERS = itertools.count()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.sqlite")


def release(ledger: Ledger, query: Query, device: int = 3, key: bytes = KEY) -> None:
    with ledger.transaction():
        decision = ledger.decide(device, query, seal_key=key, replay=False)
        assert isinstance(decision, NewRelease)
        reports = {ask.attribute: f"{ask.attribute}{query.stage}".encode() for ask in query.asks}
        answer = QueryAnswer.following(decision.head, device, query, reports, dict.fromkeys(reports, b"d" * 32))
        ledger.enter(answer, after=decision.head, seal_key=key)


def train(ledger: Ledger, device: int = 3, key: bytes = KEY, *, loss: float = 2.0) -> None:
    with ledger.transaction():
        head, spent = ledger.training(device, seal_key=key)
        answer = TrainingAnswer.following(
            head, spent, device, collection="training", kind="update", scope=("features", "label"),
            fingerprint=b"f" * 32, loss=Loss(loss, loss, 1e-6), data_digest=b"d" * 64, size=100,
        )  # fmt: skip
        ledger.enter(answer, after=head, seal_key=key)


def test_it_survives_power_loss_by_its_settings(ledger: Ledger) -> None:
    assert ledger._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert ledger._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    again = Ledger(ledger.path)
    assert again._db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert again._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert Ledger(ledger.path, synchronous="NORMAL")._db.execute("PRAGMA synchronous").fetchone() == (1,)
    with pytest.raises(ValueError, match="FULL or NORMAL"):
        Ledger(ledger.path, synchronous="OFF")


def test_nobody_else_sees_a_row_before_the_commit(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    first, second = Ledger.create(tmp_path / "l"), Ledger(tmp_path / "l")
    with first.transaction():
        release(first, ask_for())
        assert len(first.answers(3)) == 1 and second.answers(3) == []
    assert second.answers(3) == first.answers(3) != []


def test_the_chain_that_a_counter_reads_is_checked(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    """A counter that is ahead reads it: rows without a right seal prove nothing."""
    release(ledger, ask_for())
    assert ledger._chain(3, KEY)() == ledger.answers(3) != [] and ledger._chain(4, KEY)() == []
    with pytest.raises(LedgerDamaged, match="does not carry its seal"):
        ledger._chain(3, b"x" * 32)()


def test_a_row_holds_what_was_released(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query = ask_for()
    before = time.time()
    release(ledger, query)
    (row,) = ledger.answers(3)
    assert isinstance(row, QueryAnswer)
    assert (row.device, row.number, row.stage, row.collection, row.grouping) == (3, 0, 0, "first", b"")
    assert [(p.attribute, p.report, p.data_digest) for p in row.parts] == [
        (name, f"{name}0".encode(), b"d" * 32) for name in ("adjacency", "features", "label")
    ]
    assert [p.fingerprint for p in row.parts] == [query.fingerprint(name) for name in query.attributes]
    assert [p.loss for p in row.parts] == [query.loss(name) for name in query.attributes] == [
        Loss(1.0, 11.0), Loss(1.0, 10.0), Loss(1.0, 1.0),
    ]  # fmt: skip
    assert before <= row.time <= time.time() and list(ledger.devices()) == [(3, [row])]
    assert ledger.answers(4) == []


def test_one_ended_rows_enter_their_own_loss(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="a")
    (ask,) = query.asks
    one_end = replace(query, plan=((replace(ask, mechanisms=(replace(ask.mechanisms[0], reporting="one-end"),)),),))
    ledger = Ledger.create(tmp_path / "l")
    for device in range(12):
        release(ledger, one_end, device)
        (part,) = ledger.answers(device)[0].parts
        assert part.loss == Loss(min(device, 1), device)
        assert part.loss == one_end.plan[0][0].mechanisms[0].loss(device=device)


def test_decisions(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="af")

    def decide(asked: Query, *, replay: bool = False, device: int = 3) -> object:
        return ledger.decide(device, asked, seal_key=KEY, replay=replay)

    assert decide(query) == NewRelease()
    release(ledger, query)
    stored = Replay((b"adjacency0", b"features0"))
    assert decide(query) == decide(query, replay=True) == stored
    other = replace(query, collection="second")
    assert decide(other) == AlreadyCollected() and decide(other, replay=True) == stored
    # A subset, every fingerprint known; in the query's order.
    assert decide(ask_for(attributes="f")) == Replay((b"features0",))
    assert decide(ask_for("second", attributes="f")) == AlreadyCollected()
    # Joined with an attribute that was never released; and that one alone.
    assert decide(ask_for(attributes="fl")) == decide(ask_for(attributes="fl"), replay=True) == AlreadyCollected()
    assert decide(ask_for("second", attributes="l")) == NewRelease(spent=21.0)  # 11 bits and 10 features
    # Another budget, under either policy, alone or beside a known one.
    for replay in (False, True):
        assert decide(ask_for(attributes="a", eps=1.5), replay=replay) == AlreadyCollected()
        assert decide(ask_for(attributes="al", eps=1.5), replay=replay) == AlreadyCollected()
    assert decide(query, device=4) == NewRelease()


def test_attributes_released_to_two_collections(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for("one", attributes="a"))
    release(ledger, ask_for("two", attributes="f"))
    for collection in ("one", "two", "three"):
        both = ask_for(collection, attributes="af")
        assert ledger.decide(3, both, seal_key=KEY, replay=False) == AlreadyCollected()
        assert ledger.decide(3, both, seal_key=KEY, replay=True) == Replay((b"adjacency0", b"features0"))


def plan_of(ask_for: Callable[..., Query]) -> Query:
    """Adjacency, then adjacency again with the label."""
    (a, _), (_, label) = ask_for(attributes="af").asks, ask_for(attributes="fl").asks
    return Query("first", ((a,), (a, label)))


def test_a_plan_is_entered_whole_and_answered_in_order(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    plan = plan_of(ask_for)

    def decide(asked: Query, replay: bool = False) -> object:
        return ledger.decide(3, asked, seal_key=KEY, replay=replay)

    for replay in (False, True):
        assert decide(plan.at_stage(1, (0, 1)), replay) == AlreadyCollected()  # out of order
    release(ledger, plan)
    entered = {(p.attribute, a.stage): (p.loss, p.report) for a in ledger.answers(3) for p in a.parts}
    assert entered == {
        ("adjacency", 0): (plan.loss("adjacency"), b"adjacency0"), ("label", 0): (plan.loss("label"), b""),
    }  # fmt: skip
    assert plan.loss("adjacency").bit == 2.0
    assert decide(plan) == Replay((b"adjacency0",))
    # The label is reserved: nothing else may be asked about it, nor the first stage alone.
    for other in (ask_for(attributes="l"), ask_for(attributes="a"), replace(plan, plan=plan.plan[:1])):
        assert decide(other) == decide(other, True) == AlreadyCollected()
    assert decide(replace(plan.at_stage(1, (0, 1)), collection="second"), True) == AlreadyCollected()
    release(ledger, plan.at_stage(1, (0, 1)))
    assert [part.loss for part in ledger.answers(3)[1].parts] == [Loss(0.0, 0.0)] * 2  # entered with stage 0
    again = Replay((b"adjacency1", b"label1"))
    assert decide(plan.at_stage(1, (0, 1))) == again
    for grouping in ((1, 0), None, (0, 1, 0)):
        assert decide(plan.at_stage(1, grouping)) == decide(plan.at_stage(1, grouping), True) == AlreadyCollected()
    assert decide(plan) == Replay((b"adjacency0",))
    elsewhere = replace(plan, collection="second")
    assert decide(elsewhere) == decide(elsewhere.at_stage(1, (0, 1))) == AlreadyCollected()
    assert decide(elsewhere, True) == Replay((b"adjacency0",))
    assert decide(elsewhere.at_stage(1, (0, 1)), True) == again


def test_a_stage_is_not_skipped(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    (a,) = ask_for(attributes="a").asks
    plan = Query("first", ((a,), (a,), (a,)))
    release(ledger, plan)
    assert ledger.decide(3, plan.at_stage(2), seal_key=KEY, replay=False) == AlreadyCollected()
    release(ledger, plan.at_stage(1))
    release(ledger, plan.at_stage(2))


def test_a_transaction_is_all_or_nothing(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    with pytest.raises(RuntimeError), ledger.transaction():
        release(ledger, ask_for())
        assert len(ledger.answers(3)) == 1
        raise RuntimeError
    assert ledger.answers(3) == [] and not ledger.in_transaction
    release(ledger, ask_for())
    assert len(ledger.answers(3)) == 1


def test_an_interrupt_leaves_no_transaction_open(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    for interrupt in (KeyboardInterrupt, GeneratorExit, SystemExit):
        with pytest.raises(interrupt), ledger.transaction():
            raise interrupt
        assert not ledger._db.in_transaction
    release(ledger, ask_for())


def test_a_second_claim_within_a_transaction_sees_the_first(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    with ledger.transaction():
        release(ledger, ask_for())
        assert isinstance(ledger.decide(3, ask_for(), seal_key=KEY, replay=False), Replay)


QUERY_EDITS = [
    ("number", 1), ("stage", 1), ("collection", "second"), ("grouping", b"g"), ("packed_parts", b""), ("time", 0.0),
    ("seal", b""), ("seal", b"s" * 32), ("packed_parts", "text"), ("collection", b"first"), ("time", "now"),
    ("stage", "x"), ("device", 10**9),
]  # fmt: skip
TRAINING_EDITS = [
    ("number", 2), ("collection", "second"), ("kind", "exchange"), ("attributes", "label"), ("fingerprint", b"g" * 32),
    ("loss_bit", 0.5), ("loss_vector", 0.0), ("delta", 0.0), ("total_bit", 0.0), ("total_vector", 0.0),
    ("total_delta", 0.0), ("data_digest", b""), ("size", 1), ("time", 0.0), ("seal", b"s" * 32), ("size", "much"),
]  # fmt: skip


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("query_answer", *edit) for edit in QUERY_EDITS] + [("training_answer", *edit) for edit in TRAINING_EDITS],
)
def test_an_edited_row_is_noticed(
    ledger: Ledger, ask_for: Callable[..., Query], table: str, column: str, value: object, first: bool
) -> None:
    for number in range(2):
        if table == "query_answer":
            release(ledger, ask_for(attributes="al"[number]))
        else:
            train(ledger)
    assert ledger.readable(3, KEY)
    number = 0 if first else 1
    if column == "number" and value == number:
        value = 7
    with sqlite3.connect(ledger.path) as other:
        if column == "number":
            other.execute(f"DELETE FROM {table} WHERE number = {1 - number}")  # else the key is there twice
        other.execute(f"UPDATE {table} SET {column} = ? WHERE number = {number}", (value,))
    other.close()
    if (column, first) == ("device", False):
        return  # the last row was moved away: as good as deleted, and only a counter can tell
    assert not ledger.readable(3, KEY)
    with pytest.raises(LedgerDamaged):
        ledger.decide(3, ask_for(attributes="a"), seal_key=KEY, replay=True)
    with pytest.raises(LedgerDamaged), ledger.transaction():
        ledger.training(3, seal_key=KEY)


def test_rows_deleted_moved_or_inserted_are_noticed(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    """Both tables are one chain: a row of either cannot be dropped or changed to the other's place."""
    copied = (
        "INSERT INTO query_answer SELECT device, {number}, collection, stage, grouping, packed_parts, time, seal "
        "FROM query_answer WHERE device = 3 AND number = 0"
    )
    harms = [
        "DELETE FROM query_answer WHERE device = 3 AND number = 0",
        "DELETE FROM training_answer WHERE device = 3 AND number = 1",
        "UPDATE query_answer SET number = 10 - number WHERE device = 3",
        copied.format(number=3),
        copied.format(number=1),
        "UPDATE query_answer SET seal = (SELECT seal FROM query_answer WHERE number = 0) WHERE number = 2",
    ]
    for letter in "al":
        release(ledger, ask_for(attributes=letter))
        if letter == "a":
            train(ledger)
    assert [type(a).__name__ for a in ledger.answers(3)] == ["QueryAnswer", "TrainingAnswer", "QueryAnswer"]
    assert ledger.readable(3, KEY)
    for harm in harms:
        with ledger.transaction():
            ledger._db.execute("SAVEPOINT harm")
            ledger._db.execute(harm)
            assert not ledger.readable(3, KEY), harm
            with pytest.raises(LedgerDamaged):
                ledger.decide(3, ask_for(attributes="f"), seal_key=KEY, replay=True)
            ledger._db.execute("ROLLBACK TO harm")
    assert ledger.readable(3, KEY)
    # The last row can go unnoticed; the head that a counter would hold is then another one.
    head = ledger.head(3)
    ledger._db.execute("DELETE FROM query_answer WHERE number = 2")
    assert ledger.readable(3, KEY) and ledger.head(3) != head


def test_a_row_of_another_device_is_noticed(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for(attributes="a"), device=4, key=b"4" * 32)
    ledger._db.execute("UPDATE query_answer SET device = 3")
    assert not ledger.readable(3, KEY) and ledger.readable(4, b"4" * 32)


def test_every_bit_of_a_row_is_under_the_seal(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for(attributes="a"))
    for column in ("packed_parts", "seal"):
        (blob,) = ledger._db.execute(f"SELECT {column} FROM query_answer").fetchone()
        for bit in range(8 * len(blob)):
            flipped = bytearray(blob)
            flipped[bit // 8] ^= 1 << bit % 8
            ledger._db.execute(f"UPDATE query_answer SET {column} = ?", (bytes(flipped),))
            assert not ledger.readable(3, KEY)
        ledger._db.execute(f"UPDATE query_answer SET {column} = ?", (blob,))
    assert ledger.readable(3, KEY)


def test_the_head_of_a_chain(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    assert ledger.head(3) == Head()
    release(ledger, ask_for(attributes="a"))
    train(ledger)
    train(ledger, device=4, key=b"4" * 32)
    rows = ledger.answers(3)
    assert ledger.head(3) == Head(2, rows[1].seal) == ledger.training(3, seal_key=KEY)[0]
    assert rows[1].seal == seal_of(rows[1], rows[0].seal, KEY)
    plan = "".join(str(row) for row in ledger._db.execute(f"EXPLAIN QUERY PLAN {LAST}", (3,)))
    assert "SCAN query_answer" not in plan and "SCAN training_answer" not in plan


def test_losses_of_a_training_add_up(ledger: Ledger) -> None:
    for number in range(5):
        head, spent = ledger.training(3, seal_key=KEY)
        assert head.answers == number and spent.vector == 2.0 * number
        train(ledger)
    assert list(checked(ledger.answers(3), KEY))[-1].total == ledger.training(3, seal_key=KEY)[1]  # type: ignore[union-attr]


def test_a_checked_training_is_checked_again_when_somebody_else_wrote(ledger: Ledger) -> None:
    train(ledger)
    with pytest.raises(RuntimeError), ledger.transaction():
        train(ledger)
        raise RuntimeError  # what was entered is given up, and not remembered
    train(ledger)
    train(ledger)
    other = Ledger(ledger.path)
    train(other)
    train(ledger)
    assert ledger.training(3, seal_key=KEY)[0].answers == 5
    with sqlite3.connect(ledger.path) as stranger:
        stranger.execute("UPDATE training_answer SET size = 1 WHERE number = 1")
    stranger.close()
    with pytest.raises(LedgerDamaged):
        train(ledger)


def test_an_answer_to_a_query_ends_the_chain_of_a_training(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    train(ledger)
    release(ledger, ask_for())
    train(ledger)
    assert ledger.training(3, seal_key=KEY)[0].answers == 3
    assert [type(row) for row in checked(ledger.answers(3), KEY)] == [TrainingAnswer, QueryAnswer, TrainingAnswer]


def test_who_answered_in_a_training_or_a_query_is_not_among_those_who_never_answered(
    ledger: Ledger, ask_for: Callable[..., Query]
) -> None:
    train(ledger, device=4)
    release(ledger, ask_for(), device=6)
    with ledger.transaction():
        assert ledger.unanswered(range(3, 8)) == {3: b"", 5: b"", 7: b""}


def test_the_first_training_is_seen_by_a_ledger_that_was_opened_before(ledger: Ledger) -> None:
    other = Ledger(ledger.path)
    train(ledger)
    assert len(other.answers(3)) == 1 and other.answers(3) == ledger.answers(3)


# --- epoch and form -------------------------------------------------------------------------


def test_an_older_epoch_answers_nothing(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    lost = state.ledger(3)
    assert lost.epoch == 0 and isinstance(state.device(3).answer(ask_for()), Report)
    owner = Ledger(lost.path)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="not above"):
            owner.raise_epoch(wrong)
    owner.raise_epoch(4)
    assert owner.epoch == Ledger(lost.path).epoch == Ledger(lost.path, epoch=4).epoch == 4
    for question in (ask_for(), ask_for("second"), b"malformed"):
        assert state.device(3).answer(question) is Refusal.LEDGER_DAMAGED
    with pytest.raises(EpochPassed), lost.transaction():
        pytest.fail("it began")
    for epoch in (3, 5):
        with pytest.raises(EpochPassed):
            Ledger(lost.path, epoch=epoch)
    state.close()
    again = state.device(3).answer(ask_for())  # opened anew, under the present epoch
    assert isinstance(again, Report) and again.replayed


def test_an_epoch_that_changes_in_the_middle_of_a_transaction_cannot_be(ledger: Ledger) -> None:
    other = Ledger(ledger.path)
    other._db.execute("PRAGMA busy_timeout=0")
    with ledger.transaction():
        with pytest.raises(LedgerDamaged):  # the write lock is held
            other.raise_epoch(1)
    assert other.epoch == 0
    other.raise_epoch(1)
    assert other.epoch == 1


class Uncommitted:
    """A connection that cannot commit."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        if statement == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        return self._db.execute(statement, *values)

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction


def test_an_epoch_that_is_not_committed_is_not_taken(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ledger, "_db", Uncommitted(ledger._db))
        with pytest.raises(LedgerDamaged, match="cannot be written"):
            ledger.raise_epoch(1)
    assert ledger.epoch == Ledger(ledger.path).epoch == 0
    train(ledger)  # it answers on under the epoch that it has
    ledger.raise_epoch(1)
    assert ledger.epoch == Ledger(ledger.path).epoch == 1


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


# --- two threads, two processes ---------------------------------------------------------


def test_a_transaction_belongs_to_its_thread(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    """A second thread must not slip its release into a batch that may still be given up."""
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    answers: list[object] = []
    held: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(state.device(3).answer(ask_for("second", eps=2.0))))
    with pytest.raises(RuntimeError), state.ledger(3).transaction():
        assert isinstance(state.device(3).answer(ask_for()), Report)
        thread.start()
        other = threading.Thread(target=lambda: held.append(state.ledger(3).in_transaction))
        other.start()
        other.join()
        assert held == [False] and state.ledger(3).in_transaction
        time.sleep(0.2)
        assert not answers, "answered from inside a transaction that is not its own"
        raise RuntimeError("the batch is given up")
    thread.join()
    (answer,) = answers
    assert isinstance(answer, Report) and not answer.replayed
    assert {answer.collection for answer in state.ledger(3).answers(3)} == {"second"}


def test_refusals_wait_for_the_thread_that_writes(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(state.device(3).answer(b"no query")))
    with state.ledger(3).transaction():
        state.device(3).answer(ask_for())
        thread.start()
        thread.join(0.1)
    thread.join()
    assert answers == [Refusal.UNKNOWN_QUERY]


@pytest.mark.parametrize("same_ledger_object", [True, False])
def test_threads_that_claim_at_once(
    tmp_path: Path,
    people: Callable[..., Population],
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
    same_ledger_object: bool,
) -> None:
    population = people(n=40)
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    ledgers = [state.ledger(0)] * 4 if same_ledger_object else [Ledger(state.ledger(0).path) for _ in range(4)]
    questions = [ask_for("c", n=40, eps=eps) for eps in (1.0, 1.0, 2.0, 3.0)]
    barrier = threading.Barrier(4)
    answers: list[dict[int, object]] = [{} for _ in range(4)]

    def run(worker: int) -> None:
        for index in range(40):
            device = state.device(index)
            device.ledger = ledgers[worker]
            barrier.wait()
            answers[worker][index] = device.answer(questions[worker])

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in range(40):
        given = [answers[worker][index] for worker in range(4)]
        reports = [a for a in given if isinstance(a, Report)]
        assert all(a is Refusal.REPORT_COLLECTED for a in given if not isinstance(a, Report))
        assert len({r.data for r in reports}) == 1 and sum(not r.replayed for r in reports) == 1
        assert isinstance(given[0], Report) == isinstance(given[1], Report)


RACE = """
import hashlib, json, os, sys, time
from pathlib import Path
from devices.device import Report
from devices.enrolment.state import State
from devices.query import Query
folder, questions = Path(sys.argv[1]), [bytes.fromhex(q) for q in sys.argv[2:]]
gate, children = os.pipe(), []
for number, question in enumerate(questions):
    out = os.pipe()
    if os.fork() == 0:
        os.close(gate[1])
        os.read(gate[0], 1)
        state = State(folder)
        said = [None] * len(state)
        for index in range(len(state))[:: -1 if number else 1]:  # they meet in the middle
            time.sleep(0.001)
            answer = state.device(index).answer(question)
            said[index] = ([hashlib.sha256(answer.data).hexdigest(), answer.replayed] if isinstance(answer, Report)
                           else answer.name)
        os.close(out[0])
        with os.fdopen(out[1], "w") as file:
            json.dump(said, file)
        os._exit(0)
    os.close(out[1])
    children.append(out[0])
os.close(gate[1])
print(json.dumps([json.load(os.fdopen(child)) for child in children]))
"""


@pytest.mark.parametrize("same", [True, False])
def test_processes_that_claim_at_once(
    tmp_path: Path,
    people: Callable[..., Population],
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
    same: bool,
) -> None:
    """Two processes ask every device at the same moment, the same question or two different ones."""
    population = people(n=150)
    enrol(tmp_path / "s", population, policy_of(population), seed=1).close()
    questions = [ask_for("c", n=150, eps=eps).to_bytes().hex() for eps in (1.0, 1.0 if same else 2.0)]
    done = subprocess.run(
        [sys.executable, "-c", RACE, str(tmp_path / "s"), *questions],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    first, second = json.loads(done.stdout)
    for a, b in zip(first, second, strict=True):
        if same:
            assert a[0] == b[0] and sorted([a[1], b[1]]) == [False, True]
        else:
            assert sorted([isinstance(a, str), isinstance(b, str)]) == [False, True]
            assert "REPORT_COLLECTED" in (a, b)
    if not same:
        assert len({isinstance(a, str) for a in first}) == 2, "one process was done before the other began"


def test_a_ledger_that_is_gone_is_not_made_anew(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    """With a vault or without: a second answer would follow."""
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    assert isinstance(state.device(3).answer(ask_for()), Report)
    state.close()
    (tmp_path / "s" / "ledger.sqlite").unlink()
    for index in (3, 5):
        with pytest.raises(LedgerDamaged, match="gone; enrolment alone makes a ledger"):
            State(tmp_path / "s").device(index)
    assert not list((tmp_path / "s").glob("ledger*"))
    with pytest.raises(LedgerDamaged, match="gone"):
        Ledger(tmp_path / "new")


# --- a lost ledger ----------------------------------------------------------------------


def lost(device: Device, folder: Path, record: Record | None = None) -> Device:
    """The same device with an empty ledger, and perhaps other data."""
    folder.mkdir(exist_ok=True)
    path = folder / f"lost-{next(NUMBERS)}"
    return Device(device.index, record or device._record, device._secret, device._policy, Ledger.create(path))


def bits(report: object, query: Query) -> np.ndarray:
    assert isinstance(report, Report)
    parts = unpack_report(report.data, query)
    return np.concatenate([
        mechanism.decode(part, device=3)
        for ask in query.asks
        for mechanism, part in zip(ask.mechanisms, parts[ask.attribute], strict=True)
    ]).astype(float)  # fmt: skip


def test_after_a_lost_ledger(
    tmp_path: Path,
    people: Callable[..., Population],
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
    flipped: Callable[..., Record],
) -> None:
    """Same question, same data: same bytes. Otherwise independent noise (false alarm 1e-6 each).

    Noise = report XOR what was true. Two independent noises of 5,999 bits agree as often as
    chance says; the broken variants (a key without the fingerprint, without the data) agree
    everywhere, 40 standard deviations off.
    """
    population = people(n=3000, d=3000, seed=2)
    device = enrol(tmp_path / "s", population, policy_of(population), seed=1).device(3)
    query = ask_for(n=3000, d=3000, attributes="af")
    first = device.answer(query)
    assert isinstance(first, Report)
    again = lost(device, tmp_path / "lost").answer(replace(query, collection="another"))
    assert isinstance(again, Report) and again.data == first.data and not again.replayed

    def noise_of(asked: Query, record: Record) -> np.ndarray:
        row = np.zeros(2999)
        row[asked.asks[0].mechanisms[0].positions(3, record.neighbours)] = 1  # type: ignore[attr-defined]
        columns = np.zeros(3000)
        columns[record.feature_indices] = 1
        report = lost(device, tmp_path / "lost", record).answer(asked)
        return np.abs(bits(report, asked) - np.concatenate([row, columns]))

    own, other = device._record, flipped(device._record, 3, n=3000, d=3000)
    few = replace(own, neighbours=own.neighbours[1:], feature_indices=own.feature_indices[1:],
                  feature_values=own.feature_values[1:])  # fmt: skip
    noises = [
        noise_of(query, own),  # itself
        noise_of(ask_for(n=3000, d=3000, attributes="af", eps=1.01), own),  # another budget
        noise_of(ask_for(n=3000, d=3000, attributes="af", eps=2.0), own),
        noise_of(query, other),  # everything changed
        noise_of(query, few),  # one edge and one feature changed
    ]
    for i, left in enumerate(noises):
        for right in noises[:i]:
            for part in (slice(0, 2999), slice(2999, 5999)):
                size = len(left[part])
                correlation = np.corrcoef(left[part], right[part])[0, 1]
                assert abs(correlation) < 4.9 / np.sqrt(size)
    # Adjacency and features of one report do not share noise either.
    assert abs(np.corrcoef(noises[0][:2999], noises[0][2999:5998])[0, 1]) < 4.9 / np.sqrt(2999)
    # What the check would say of common noise: the same uniforms under two budgets.
    uniform = np.random.default_rng(0).random(2999)
    assert np.corrcoef(uniform < 0.269, uniform < 0.266)[0, 1] > 0.9


def test_an_older_ledger_is_a_lost_one(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    """A backup that is put back: the same question gets the same bytes (another one is not covered)."""
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    state.close()
    shutil.copy(tmp_path / "s" / "ledger.sqlite", tmp_path / "backup")
    first = state.device(3).answer(ask_for())
    state.close()
    shutil.copy(tmp_path / "backup", tmp_path / "s" / "ledger.sqlite")
    again = state.device(3).answer(ask_for("another"))
    assert isinstance(first, Report) and isinstance(again, Report) and first.data == again.data
