"""The ledger: durable, atomic between threads and processes, and damaged when it is damaged."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
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
from devices.enrolment.state import enrol
from devices.ledger.ledger import Collected, Ledger, LedgerDamaged, Release, Replay
from devices.mechanisms import Loss
from devices.policy.policy import Policy
from devices.query import Query

ROOT = Path(__file__).parents[3]
KEY = b"k" * 32
NUMBERS = itertools.count()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def release(ledger: Ledger, query: Query, device: int = 3, key: bytes = KEY) -> None:
    with ledger.transaction():
        assert ledger.decide(device, query, seal_key=key, replay=False).__class__ is Release
        reports = {ask.attribute: f"{ask.attribute}{query.stage}".encode() for ask in query.asks}
        ledger.enter(device, query, reports, dict.fromkeys(reports, b"d" * 32), seal_key=key)


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
    first, second = Ledger(tmp_path / "l"), Ledger(tmp_path / "l")
    with first.transaction():
        release(first, ask_for())
        assert len(first.entries(3)) == 3 and second.entries(3) == []
    assert second.entries(3) == first.entries(3) != []


def test_a_row_holds_what_was_released(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query = ask_for()
    before = time.time()
    release(ledger, query)
    rows = ledger.entries(3)
    assert [(e.attribute, e.stage, e.collection, e.report, e.data_digest) for e in rows] == [
        (name, 0, "first", f"{name}0".encode(), b"d" * 32) for name in ("adjacency", "features", "label")
    ]
    assert [e.fingerprint for e in rows] == [query.fingerprint(name) for name in query.attributes]
    assert [e.loss for e in rows] == [query.loss(name) for name in query.attributes] == [
        Loss(1.0, 11.0), Loss(1.0, 10.0), Loss(1.0, 1.0),
    ]  # fmt: skip
    assert all(before <= e.time <= time.time() for e in rows) and list(ledger.all_entries()) == rows
    assert ledger.entries(4) == []


def test_one_ended_rows_enter_their_own_loss(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="a")
    (ask,) = query.asks
    one_end = replace(query, plan=((replace(ask, mechanisms=(replace(ask.mechanisms[0], reporting="one-end"),)),),))
    ledger = Ledger(tmp_path / "l")
    for device in range(12):
        release(ledger, one_end, device)
        assert ledger.entries(device)[0].loss == Loss(min(device, 1), device)
        assert ledger.entries(device)[0].loss == one_end.plan[0][0].mechanisms[0].loss(device=device)


def test_decisions(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query = ask_for(attributes="af")

    def decide(asked: Query, *, replay: bool = False, device: int = 3) -> object:
        return ledger.decide(device, asked, seal_key=KEY, replay=replay)

    assert decide(query) == Release()
    release(ledger, query)
    stored = Replay((b"adjacency0", b"features0"))
    assert decide(query) == decide(query, replay=True) == stored
    other = replace(query, collection="second")
    assert decide(other) == Collected() and decide(other, replay=True) == stored
    # A subset, every fingerprint known; in the query's order.
    assert decide(ask_for(attributes="f")) == Replay((b"features0",))
    assert decide(ask_for("second", attributes="f")) == Collected()
    # Joined with an attribute that was never released; and that one alone.
    assert decide(ask_for(attributes="fl")) == decide(ask_for(attributes="fl"), replay=True) == Collected()
    assert decide(ask_for("second", attributes="l")) == Release(spent=21.0)  # 11 bits and 10 features
    # Another budget, under either policy, alone or beside a known one.
    for replay in (False, True):
        assert decide(ask_for(attributes="a", eps=1.5), replay=replay) == Collected()
        assert decide(ask_for(attributes="al", eps=1.5), replay=replay) == Collected()
    assert decide(query, device=4) == Release()


def test_attributes_released_to_two_collections(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for("one", attributes="a"))
    release(ledger, ask_for("two", attributes="f"))
    for collection in ("one", "two", "three"):
        both = ask_for(collection, attributes="af")
        assert ledger.decide(3, both, seal_key=KEY, replay=False) == Collected()
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
        assert decide(plan.at_stage(1, (0, 1)), replay) == Collected()  # out of order
    release(ledger, plan)
    entered = {(e.attribute, e.stage): (e.loss, e.report) for e in ledger.entries(3)}
    assert entered == {
        ("adjacency", 0): (plan.loss("adjacency"), b"adjacency0"), ("label", 0): (plan.loss("label"), b""),
    }  # fmt: skip
    assert plan.loss("adjacency").bit == 2.0
    assert decide(plan) == Replay((b"adjacency0",))
    # The label is reserved: nothing else may be asked about it, nor the first stage alone.
    for other in (ask_for(attributes="l"), ask_for(attributes="a"), replace(plan, plan=plan.plan[:1])):
        assert decide(other) == decide(other, True) == Collected()
    assert decide(replace(plan.at_stage(1, (0, 1)), collection="second"), True) == Collected()
    release(ledger, plan.at_stage(1, (0, 1)))
    assert [e.loss for e in ledger.entries(3) if e.stage == 1] == [Loss(0.0, 0.0)] * 2  # entered with stage 0
    again = Replay((b"adjacency1", b"label1"))
    assert decide(plan.at_stage(1, (0, 1))) == again
    for grouping in ((1, 0), None, (0, 1, 0)):
        assert decide(plan.at_stage(1, grouping)) == decide(plan.at_stage(1, grouping), True) == Collected()
    assert decide(plan) == Replay((b"adjacency0",))
    elsewhere = replace(plan, collection="second")
    assert decide(elsewhere) == decide(elsewhere.at_stage(1, (0, 1))) == Collected()
    assert decide(elsewhere, True) == Replay((b"adjacency0",))
    assert decide(elsewhere.at_stage(1, (0, 1)), True) == again


def test_a_stage_is_not_skipped(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    (a,) = ask_for(attributes="a").asks
    plan = Query("first", ((a,), (a,), (a,)))
    release(ledger, plan)
    assert ledger.decide(3, plan.at_stage(2), seal_key=KEY, replay=False) == Collected()
    release(ledger, plan.at_stage(1))
    release(ledger, plan.at_stage(2))


def test_a_transaction_is_all_or_nothing(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    with pytest.raises(RuntimeError), ledger.transaction():
        release(ledger, ask_for())
        assert len(ledger.entries(3)) == 3
        raise RuntimeError
    assert ledger.entries(3) == [] and not ledger.in_transaction
    release(ledger, ask_for())
    assert len(ledger.entries(3)) == 3


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


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("attribute", "features"), ("stage", 1), ("collection", "second"), ("fingerprint", b"f" * 32),
        ("grouping", b"g"), ("loss_bit", 0.5), ("loss_vector", 0.0), ("delta", 1e-9), ("report", b""),
        ("report", b"adjacency1"), ("data_digest", b"e" * 32), ("time", 0.0), ("seal", b""), ("seal", b"s" * 32),
        ("report", "text"), ("loss_bit", "much"), ("collection", b"first"), ("time", "now"), ("stage", "x"),
    ],
)  # fmt: skip
def test_an_edited_row_is_noticed(ledger: Ledger, ask_for: Callable[..., Query], column: str, value: object) -> None:
    release(ledger, ask_for(attributes="a"))
    assert ledger.readable(3, KEY)
    ledger._db.execute(f"UPDATE release SET {column} = ?", (value,))
    assert not ledger.readable(3, KEY)
    with pytest.raises(LedgerDamaged):
        ledger.decide(3, ask_for(attributes="a"), seal_key=KEY, replay=True)


def test_a_row_of_another_device_is_noticed(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for(attributes="a"), device=4, key=b"4" * 32)
    ledger._db.execute("UPDATE release SET device = 3")
    assert not ledger.readable(3, KEY) and ledger.readable(4, b"4" * 32)


def test_every_bit_of_a_row_is_under_the_seal(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for(attributes="a"))
    for column in ("fingerprint", "report", "data_digest", "seal"):
        (blob,) = ledger._db.execute(f"SELECT {column} FROM release").fetchone()
        for bit in range(8 * len(blob)):
            flipped = bytearray(blob)
            flipped[bit // 8] ^= 1 << bit % 8
            ledger._db.execute(f"UPDATE release SET {column} = ?", (bytes(flipped),))
            assert not ledger.readable(3, KEY)
        ledger._db.execute(f"UPDATE release SET {column} = ?", (blob,))
    assert ledger.readable(3, KEY)


def test_a_later_stage_without_the_first_contradicts_itself(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    plan = plan_of(ask_for)
    release(ledger, plan)
    release(ledger, plan.at_stage(1))
    ledger._db.execute("DELETE FROM release WHERE stage = 0 AND attribute = 'label'")
    with pytest.raises(LedgerDamaged, match="without the first"):
        ledger.decide(3, plan, seal_key=KEY, replay=False)


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
    ledger = Ledger(path)
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
    ledger = Ledger(path)
    devices = (2, 5, 6)  # with gaps, so that a rotten number can become another one
    for device in devices:
        release(ledger, ask_for(attributes="al"), device)
    true = {device: ledger.entries(device) for device in devices}
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
                assert ledger.entries(device) == true[device], at
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
    newer = Ledger(tmp_path / "newer")
    newer._db.execute("PRAGMA user_version=2")
    newer.close()
    with pytest.raises(LedgerDamaged, match="not a ledger of a version"):
        Ledger(tmp_path / "newer")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(LedgerDamaged):
        Ledger(folder)
    with pytest.raises(LedgerDamaged):
        Ledger(tmp_path / "missing" / "ledger")


def test_the_version_1_file_of_the_past_is_read_for_ever(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    """The table as version 1 defines it, written by hand: names, order, seal."""
    path = tmp_path / "old"
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id=1818521683")
    db.execute("PRAGMA user_version=1")
    db.execute(
        "CREATE TABLE release (device INTEGER NOT NULL, attribute TEXT NOT NULL, stage INTEGER NOT NULL, "
        "collection TEXT NOT NULL, fingerprint BLOB NOT NULL, grouping BLOB NOT NULL, loss_bit REAL NOT NULL, "
        "loss_vector REAL NOT NULL, delta REAL NOT NULL, report BLOB NOT NULL, data_digest BLOB NOT NULL, "
        "time REAL NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (device, attribute, stage))"
    )
    query = ask_for(attributes="l")
    seal = bytes.fromhex("23398f3e1aa296efede105cd97088eafe38154e7c5bb5561c4b5219f7a4f53ed")
    db.execute(
        "INSERT INTO release VALUES (3, 'label', 0, 'first', ?, x'', 1.0, 1.0, 0.0, x'0200', ?, 1.5, ?)",
        (query.fingerprint("label"), b"d" * 32, seal),
    )
    db.commit()
    db.close()
    assert Ledger(path).decide(3, query, seal_key=KEY, replay=False) == Replay((b"\x02\x00",))


def test_making_a_ledger_leaves_a_whole_one_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", crash)
        with pytest.raises(KeyboardInterrupt):
            Ledger(tmp_path / "l")
    assert list(tmp_path.iterdir()) == []
    Ledger(tmp_path / "l").close()
    assert [path.name for path in tmp_path.iterdir()] == ["l"]


def test_a_full_disk_enters_nothing(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    (pages,) = ledger._db.execute("PRAGMA page_count").fetchone()
    ledger._db.execute(f"PRAGMA max_page_count={pages}")
    query = ask_for()
    with pytest.raises(LedgerDamaged, match="cannot be written"), ledger.transaction():
        ledger.enter(3, query, {name: bytes(9000) for name in query.attributes}, {}, seal_key=KEY)
    assert ledger.entries(3) == [] and not ledger.in_transaction


def test_rows_that_exist_are_never_replaced(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    query = ask_for()
    release(ledger, query)
    before = ledger.entries(3)
    with pytest.raises(LedgerDamaged), ledger.transaction():
        ledger.enter(3, query, dict.fromkeys(query.attributes, b"other"), {}, seal_key=KEY)
    assert ledger.entries(3) == before


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
    assert {e.collection for e in state.ledger(3).entries(3)} == {"second"}


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


# --- a lost ledger ----------------------------------------------------------------------


def lost(device: Device, folder: Path, record: Record | None = None) -> Device:
    """The same device with an empty ledger, and perhaps other data."""
    folder.mkdir(exist_ok=True)
    path = folder / f"lost-{next(NUMBERS)}"
    return Device(device.index, record or device._record, device._secret, device._policy, Ledger(path))


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
