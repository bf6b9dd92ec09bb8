"""Folders of older versions: ledgers of schema 1 become ledgers of schema 2, with the same replays and losses; a
damaged one is refused. Counters of rows give way to counters of chains.

The two .sql files are ledgers that a program of schema 1 wrote, for the small population and
seed 7: of reporting devices (3, 5 and 7; 7 in two stages) and of devices that train (2 and 4,
two updates each). This file also covers ``devices/ledger/schema_1.py``.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from devices.data.population import Population
from devices.device import Refusal, Report
from devices.enrolment import migration
from devices.enrolment.counters import counter_of
from devices.enrolment.migration import migrate
from devices.enrolment.state import COUNTED, State, enrol
from devices.ledger.chain import checked
from devices.ledger.ledger import Ledger
from devices.ledger.rows import TrainingAnswer
from devices.ledger.schema import version_of
from devices.mechanisms import Loss
from devices.policy.policy import Policy
from devices.query import Query

HERE = Path(__file__).parent
Make = Callable[..., Path]


def count_rows(folder: Path, counters: Path) -> Path:
    """Give a folder the counter of an older version: a file whose length is a number of rows."""
    counters.mkdir()
    path = folder / "enrolment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 3, "counter": str(counters / "f00d")}))
    (counters / "f00d-0000.count").write_bytes(b"")
    return counters / "f00d-0000.count"


@pytest.fixture
def old(tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> Make:
    """Return a maker of folders whose ledger a program of schema 1 wrote."""

    def make(which: str = "reports", name: str = "old", counters: Path | None = None) -> Path:
        policy = policy_of(population, on_requery="replay")
        enrol(tmp_path / name, population, policy, seed=7).close()
        path = tmp_path / name / "ledger.sqlite"
        if counters is not None:
            count_rows(tmp_path / name, counters)
        path.unlink()
        with sqlite3.connect(path) as db:
            db.executescript((HERE / f"schema_1_{which}.sql").read_text())
        db.close()
        return tmp_path / name

    return make


def staged(ask_for: Callable[..., Query]) -> Query:
    features, label = ask_for(attributes="fl").asks
    return Query("staged", ((label,), (features, label)))


def questions(ask_for: Callable[..., Query]) -> list[tuple[int, Query]]:
    both = staged(ask_for)
    return [(3, ask_for()), (5, ask_for("one", attributes="l")), (5, ask_for("two", attributes="a")), (7, both),
            (7, both.at_stage(1, (0,) * 12))]  # fmt: skip


def test_replays_and_losses_are_those_of_before(
    old: Make, tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    folder = old()
    with pytest.raises(ValueError, match=r"^.* has ledgers of schema 1: migrate it once with ldpsim device migrate"):
        State(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        rows = db.execute("SELECT device, attribute, stage, collection, fingerprint, grouping, loss_bit, loss_vector, "
                          "delta, report, data_digest, time FROM release ORDER BY 1, 2, 3").fetchall()  # fmt: skip
    db.close()
    assert migrate(folder) == 1 and migrate(folder) == 0
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after.keys() == before.keys() | {"ledger.sqlite.schema-1"}
    assert all(after[name] == data for name, data in before.items() if name != "ledger.sqlite")
    assert version_of(folder / "ledger.sqlite") == 2 and version_of(folder / "ledger.sqlite.schema-1") == 1
    state = State(folder)
    found = []
    for device, answers in state.ledger().devices():
        for a in checked(answers, state.seal_key(device)):
            assert not isinstance(a, TrainingAnswer)
            found += [(device, p.attribute, a.stage, a.collection, p.fingerprint, a.grouping, p.loss_bit, p.loss_vector,
                       p.delta, p.report, p.data_digest, a.time) for p in a.parts]  # fmt: skip
    assert sorted(found) == rows
    assert [len(state.ledger().answers(device)) for device in (3, 5, 7)] == [1, 2, 2]
    # a device with the same secret and data that was never asked gives these bytes: they are the stored ones
    fresh = enrol(tmp_path / "fresh", population, policy_of(population), seed=7)
    for device, question in questions(ask_for):
        expected = fresh.device(device).answer(question)
        assert isinstance(expected, Report)
        assert state.device(device).answer(question) == Report(expected.data, replayed=True)
        assert state.device(device).answer(ask_for("other", eps=2.0, attributes="l")) is Refusal.REPORT_COLLECTED
    assert isinstance(state.device(9).answer(ask_for()), Report)


def test_answers_of_a_training_are_counted_and_their_losses_kept(old: Make) -> None:
    folder = old("training")
    assert migrate(folder) == 1
    state = State(folder)
    for device in (2, 4):
        head, spent = state.ledger().training(device, seal_key=state.seal_key(device))
        rows = state.ledger().answers(device)
        assert head.answers == 2 and all(isinstance(row, TrainingAnswer) for row in rows)
        (first, second) = rows
        assert isinstance(first, TrainingAnswer) and isinstance(second, TrainingAnswer)
        assert (first.kind, first.scope, first.collection, first.size) == (
            "update",
            ("features", "label"),
            "rounds",
            100,
        )
        assert second.size == 101 and second.total == spent == first.loss + second.loss
        assert first.loss == pytest.approx(Loss(2.0, 2.0, 1e-3)) or abs(first.loss_vector - 2.0) < 1e-6
    assert state.ledger().training(3, seal_key=state.seal_key(3)) == state.ledger().training(0, seal_key=b"")


def test_a_training_without_its_first_answer_is_not_migrated(old: Make) -> None:
    """Schema 1 has a seal for each row and no chain: the number in the row reveals that one is missing."""
    folder = old("training")
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        assert db.execute("DELETE FROM release WHERE device = 2 AND stage = 0").rowcount == 1
    db.close()
    with pytest.raises(ValueError, match="is damaged .* nothing was migrated"):
        migrate(folder)
    assert version_of(folder / "ledger.sqlite") == 1


HARMS = [
    "UPDATE release SET loss_bit = 0 WHERE device = 3 AND attribute = 'label'",
    "UPDATE release SET device = 4 WHERE device = 3 AND attribute = 'label'",
    "UPDATE release SET device = 1000000 WHERE device = 3",
    "UPDATE release SET report = 'text' WHERE device = 3",
    "CREATE TRIGGER t AFTER INSERT ON release BEGIN DELETE FROM release; END",
    "DROP TABLE release",
]


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_ledger_is_not_migrated(old: Make, harm: str) -> None:
    folder = old()
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        db.execute(harm)
    db.close()
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(ValueError, match="is damaged .* nothing was migrated"):
        migrate(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_rotten_files_are_not_migrated(old: Make) -> None:
    folder = old()
    path = folder / "ledger.sqlite"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match="nothing was migrated"):
        migrate(folder)
    path.unlink()
    with pytest.raises(ValueError, match="is missing"):
        migrate(folder)
    with pytest.raises(ValueError, match="no enrolled devices"):
        migrate(folder / "population")


def test_a_ledger_that_is_open_elsewhere_is_not_migrated(old: Make) -> None:
    folder = old()
    with sqlite3.connect(folder / "ledger.sqlite") as served:
        served.execute("PRAGMA journal_mode=WAL")
        served.execute("SELECT count(*) FROM release").fetchone()
        with pytest.raises(ValueError, match="in use by another process"):
            migrate(folder)
    served.close()
    assert migrate(folder) == 1


def test_a_counter_of_rows_gives_way(old: Make, tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    """The folder is not served before; a ledger that is older than the old counter is not migrated."""
    folder = old(counters=tmp_path / "apart")
    path = tmp_path / "apart" / "f00d-0000.count"
    os.truncate(path, 10)
    with pytest.raises(ValueError, match="counter of an older version: migrate it once with ldpsim device migrate"):
        State(folder)
    with pytest.raises(ValueError, match="older than its counter"):
        migrate(folder)
    os.truncate(path, 9)
    assert migrate(folder) == 1 and migrate(folder) == 0  # 9 rows in 5 answers
    assert not path.exists() and len(list((tmp_path / "apart").glob("*.count"))) == 1
    state = State(folder)
    assert state.head["format"] == COUNTED and "counter" not in state.head
    held = counter_of(state.head["counters"], 0).entries(range(12))
    assert {device: entry.head for device, entry in held.items()} == {i: state.ledger().head(i) for i in range(12)}
    assert [held[device].head.answers for device in (3, 5, 7, 9)] == [1, 2, 2, 0]
    for device, question in questions(ask_for):
        answer = state.device(device).answer(question)
        assert isinstance(answer, Report) and answer.replayed
    assert isinstance(state.device(9).answer(ask_for()), Report)
    state.close()
    ledger = Ledger(folder / "ledger.sqlite")
    ledger._db.execute("DELETE FROM query_answer WHERE device = 9")
    ledger.close()
    assert State(folder).device(9).answer(ask_for(eps=2.0)) is Refusal.COUNTER_MISMATCH
    assert isinstance(State(folder).device(3).answer(ask_for()), Report)


def test_a_counter_of_rows_beside_a_ledger_of_today(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    folder = tmp_path / "s"
    state = enrol(folder, population, policy_of(population), seed=7)
    first = state.device(3).answer(ask_for())
    state.close()
    path = count_rows(folder, tmp_path / "apart")
    os.truncate(path, 2)
    with pytest.raises(ValueError, match="older than its counter"):
        migrate(folder)
    os.truncate(path, 1)
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        db.execute("UPDATE query_answer SET collection = 'x'")
    db.close()
    with pytest.raises(ValueError, match="damaged .*its counter was not migrated"):
        migrate(folder)
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        db.execute("UPDATE query_answer SET collection = 'first'")
    db.close()
    assert migrate(folder) == 1
    again = State(folder).device(3).answer(ask_for())
    assert isinstance(first, Report) and again == Report(first.data, replayed=True)


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_migration_of_a_counter_and_that_of_a_copy(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query],
    monkeypatch: pytest.MonkeyPatch, after: bool,
) -> None:  # fmt: skip
    """Both come to one counter, so that of the two copies one answers."""
    folder = tmp_path / "s"
    enrol(folder, population, policy_of(population), seed=7).close()
    count_rows(folder, tmp_path / "apart")
    first, late = (Path(shutil.copytree(folder, tmp_path / name)) for name in ("copy", "late"))

    def interrupted(*arguments: object) -> None:
        if after:
            real(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    real = migration.write_atomically
    with monkeypatch.context() as patch:
        patch.setattr(migration, "write_atomically", interrupted)
        with pytest.raises(KeyboardInterrupt):
            migrate(folder)
    assert migrate(folder) == (0 if after else 1)
    if not after:
        (tmp_path / "apart" / "f00d-0000.count").touch()  # put back, as the copies need it
    assert migrate(first) == 1
    assert isinstance(State(folder).device(3).answer(ask_for()), Report)
    assert State(first).device(3).answer(ask_for(eps=2.0)) is Refusal.COUNTER_MISMATCH
    with pytest.raises(FileNotFoundError):
        migrate(late)
    (tmp_path / "apart" / "f00d-0000.count").touch()
    with pytest.raises(ValueError, match="another copy of it was migrated and has answered since"):
        migrate(late)


@pytest.mark.parametrize("step", ["link", "replace"])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_migration_is_done_again(
    old: Make, monkeypatch: pytest.MonkeyPatch, ask_for: Callable[..., Query], step: str, after: bool
) -> None:
    folder = old()
    real = getattr(os, step)

    def interrupted(*arguments: object) -> None:
        if after:
            real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(migration.os, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            migrate(folder)
    done = step == "replace" and after
    assert migrate(folder) == (0 if done else 1)
    assert version_of(folder / "ledger.sqlite.schema-1") == 1
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    answer = State(folder).device(3).answer(ask_for())
    assert isinstance(answer, Report) and answer.replayed


def test_several_ledgers_are_migrated_and_the_first_one_last(
    old: Make, monkeypatch: pytest.MonkeyPatch, population: Population
) -> None:
    folder = old()
    monkeypatch.setattr("devices.enrolment.state.SHARD", 6)
    with sqlite3.connect(folder / "ledger-0001.sqlite") as db:
        db.executescript((HERE / "schema_1_reports.sql").read_text())
        db.execute("DELETE FROM release WHERE device < 6")
    db.close()
    with pytest.raises(ValueError, match="live in another ledger"):
        migrate(folder)
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        db.execute("DELETE FROM release WHERE device >= 6")
    db.close()
    order: list[str] = []
    real = os.replace
    monkeypatch.setattr(migration.os, "replace", lambda new, path: (order.append(path.name), real(new, path)))
    assert migrate(folder) == 2 and order == ["ledger-0001.sqlite", "ledger.sqlite"]
