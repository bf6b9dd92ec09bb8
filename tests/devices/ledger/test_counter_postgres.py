"""The counter in PostgreSQL, against a real server: one durable step, no password anywhere, a server that goes away."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.devices.enrolment.counters import make_counters
from ldpsim.devices.ledger import counter_postgres
from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.counter_postgres import PostgresCounter, check_address
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.ledger.rows import Head
from tests.faults import postgres as model

if TYPE_CHECKING:
    from tests.devices.ledger.conftest import Server

WORD = "never%20shown"
ENTRIES = {device: Entry(Head(), bytes([device]) * 32) for device in range(8)}
ONE, TWO, OTHER = Head(1, b"a" * 32), Head(2, b"b" * 32), Head(1, b"x" * 32)


@pytest.fixture
def counter(postgres_server: Server) -> PostgresCounter:
    made = PostgresCounter(postgres_server.address, uuid4().hex)
    made.create(ENTRIES)
    return made


def test_it_is_made_once(counter: PostgresCounter) -> None:
    assert counter.entries(range(9)) == ENTRIES
    with pytest.raises(OSError, match="duplicate key"):
        counter.create(ENTRIES)
    other = PostgresCounter(counter.address, uuid4().hex)
    assert other.entries(range(9)) == {}
    with pytest.raises(OSError, match="do not know 2 devices"):
        other.advance({1: (Head(), ONE), 2: (Head(), ONE)})


def test_every_connection_is_closed_though_an_error_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server has a hundred connections. One that nobody closes is there until the last reference goes."""
    server, opened = model.Server(), list[model.Session]()
    closed: list[model.Session] = []

    def connect(address: str, *, autocommit: bool) -> model.Session:
        opened.append(model.Session(server))
        monkeypatch.setattr(opened[-1], "close", lambda session=opened[-1]: closed.append(session))
        return opened[-1]

    monkeypatch.setattr(server, "connect", connect)
    monkeypatch.setattr(counter_postgres, "_psycopg", server.module)
    make_counters({"place": "postgresql://server", "name": "one"}, 0, range(2))
    assert len(opened) == 1 and closed == opened
    counter = PostgresCounter("postgresql://server", "one-0000")
    counter.entries([1])
    with pytest.raises(OSError, match="do not know 1 devices") as kept:
        counter.advance({7: (Head(), ONE)})
    assert len(opened) == 2 and closed == opened
    counter.entries([1])
    counter.close()
    assert len(opened) == 3 and closed == opened
    Ledger.create(tmp_path / "one").close()
    ledger = Ledger(tmp_path / "one", counter=counter)
    assert ledger.chains({1: b"key"}) == {1: ()}
    ledger.close()
    assert len(opened) == 4 and closed == opened and kept.tb is not None


def test_a_step_is_on_the_server_s_disk(counter: PostgresCounter, postgres_server: Server) -> None:
    """The server's own default is ``synchronous_commit=off`` here; a step switches it on for itself."""
    import psycopg

    with psycopg.connect(postgres_server.address) as db:
        assert db.execute("SHOW synchronous_commit").fetchone() == ("off",)
        assert db.execute("SHOW fsync").fetchone() == ("on",)
    seen: list[object] = []
    counter._run(lambda db: seen.append(db.execute("SHOW synchronous_commit").fetchone()))
    assert seen == [("on",)]
    with psycopg.connect(postgres_server.address, autocommit=True) as db:
        db.execute("CREATE ROLE careless LOGIN SUPERUSER")
        db.execute("ALTER ROLE careless SET synchronous_commit = 'remote_write'")
    careless = PostgresCounter(postgres_server.address.replace("ldpsim@", "careless@"), counter.ledger)
    careless._run(lambda db: seen.append(db.execute("SHOW synchronous_commit").fetchone()))
    assert seen[1] == ("remote_write",)  # a stronger wish than ours stays


def test_two_that_change_many_rows_in_other_orders_do_not_block_each_other(counter: PostgresCounter) -> None:
    outcome: list[dict[int, Head]] = []

    def run(devices: range, seal: bytes) -> None:
        own = PostgresCounter(counter.address, counter.ledger)
        for number in range(20):
            heads = {device: entry.head for device, entry in own.entries(devices).items()}
            changes = {device: (heads[device], Head(number + 1, seal)) for device in devices}
            outcome.append(own.advance(changes))

    threads = [threading.Thread(target=run, args=(devices, seal))
               for devices, seal in ((range(8), b"f"), (range(7, -1, -1), b"b"))]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(outcome) == 40


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # the child asks, and ends
def test_a_connection_that_the_server_closed_is_opened_again(counter: PostgresCounter, postgres_server: Server) -> None:
    import psycopg

    counter.entries([1])
    kept = counter._connection
    with psycopg.connect(postgres_server.address, autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                   "AND backend_type = 'client backend'")  # fmt: skip
    assert counter.advance({1: (Head(), ONE)}) == {} and counter._connection is not kept
    # nor is a connection used by a forked process
    child = os.fork()
    if child == 0:
        mine = counter.advance({1: (ONE, TWO)}) == {} and counter._connection is not kept
        os._exit(0 if mine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert counter.entries([1])[1].head == TWO


@pytest.mark.parametrize(
    "address",
    [f"postgresql://ldpsim:{WORD}@db/x", f"postgres://db/x?user=ldpsim&password={WORD}", f"postgresql://u:{WORD}@[db/x",
     f"postgresql://db/x?sslpassword={WORD}"],
)  # fmt: skip
def test_an_address_holds_no_password(
    address: str, tmp_path: Path, postgres_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ValueError, match="address") as found:
        check_address(address)
    assert "shown" not in str(found.value)
    given = ["device", "enrol", "--state", str(tmp_path / "s"), "--data", "none.json", "--counters", address]
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 2 and len(shown.stderr.splitlines()) == 1
    assert "shown" not in shown.output + caplog.text and not (tmp_path / "s").exists()
