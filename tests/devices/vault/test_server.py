"""The vault: a device gives the same answers through a socket, and nothing else is ever answered.

Also covers ``devices/vault/client.py``, ``folder.py`` and ``relay.py``, which are one way from
the ClientApp to the vault.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict

from ldpsim.devices import wire
from ldpsim.devices.client_app import app
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.raw_record import hand_over
from ldpsim.devices.report import Report
from ldpsim.devices.vault import folder as vault_home
from ldpsim.devices.vault import server
from ldpsim.devices.vault.client import VaultDevice
from ldpsim.devices.vault.protocol import FrameKind
from ldpsim.devices.vault.server import Vault
from tests.devices.conftest import ask_for, policy_of, serving

Open = Callable[..., "Running"]


class Running:
    """A vault in a thread of this process."""

    def __init__(self, vault: Vault, path: Path) -> None:
        self.vault = vault
        self.path = path

    def device(self, index: int = 3, seconds: float = 600.0) -> VaultDevice:
        return VaultDevice(str(self.path), index, seconds)

    def rows(self, index: int = 3) -> list[object]:
        return list(self.vault.state.ledger(index).answers(index))

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(600)
        connection.connect(str(self.path))
        return connection


@contextmanager
def running(folder: Path, path: Path, **options: float) -> Iterator[Running]:
    with serving(State(folder), path, **options) as vault:
        yield Running(vault, path)


@pytest.fixture
def folder(tmp_path: Path, population: Population) -> Callable[..., Path]:
    def make(name: str = "state", residents: tuple[int, ...] | None = None, **changes: object) -> Path:
        enrol(tmp_path / name, population, policy_of(population, **changes), seed=7, residents=residents).close()
        return tmp_path / name

    return make


@pytest.fixture
def opened(tmp_path: Path, folder: Callable[..., Path]) -> Iterator[Open]:
    with ExitStack() as stack:

        def make(
            residents: tuple[int, ...] | None = None, *, options: dict[str, float] | None = None, **changes: object
        ) -> Running:
            return stack.enter_context(running(folder(residents=residents, **changes), tmp_path / "v", **options or {}))

        yield make


def test_an_owner_s_device_hands_its_record_over_once(
    tmp_path: Path, folder: Callable[..., Path], population: Population
) -> None:
    from ldpsim.devices.policy.policy import policy_for

    policy = policy_for([hand_over("any")], population.facts, mode="owner")
    enrol(tmp_path / "owner", population, policy, seed=7).close()
    with running(tmp_path / "owner", tmp_path / "v") as vault:
        first = vault.device().answer(hand_over("a").to_bytes())
        assert isinstance(first, Report) and not first.replayed
        assert vault.device().answer(hand_over("b").to_bytes()) is Refusal.REPORT_COLLECTED


def test_the_clientapp_reaches_its_device_through_the_socket_alone(opened: Open, tmp_path: Path) -> None:
    vault = opened()
    # The curator's word for a state folder counts for nothing where the node names a socket.
    where = Context(9, 77, {"partition-id": 3, "socket": str(vault.path)}, RecordDict({}), {"state-dir": str(tmp_path)})

    def say(kind: str, content: RecordDict) -> Message:
        return app(Message(content, 77, kind), where)

    first = wire.read_reply(say(wire.QUERY_TYPE, wire.query_content(ask_for())))
    assert isinstance(first, tuple) and first[0] == 3 and not first[1].replayed
    assert wire.read_reply(say(wire.QUERY_TYPE, wire.query_content(ask_for("other")))) is Refusal.REPORT_COLLECTED
    for kind, refusal in (("train", Refusal.MODE_REFUSED), ("evaluate.accuracy", Refusal.MODE_REFUSED),
                          ("query.exchange", Refusal.MODE_REFUSED), ("query.receive", Refusal.MODE_REFUSED),
                          ("query", Refusal.UNKNOWN_QUERY), ("query.other", Refusal.UNKNOWN_QUERY),
                          ("query.handover", Refusal.UNKNOWN_QUERY),
                          (wire.REPORTS_TYPE, Refusal.UNKNOWN_QUERY)):  # fmt: skip
        assert wire.read_reply(say(kind, RecordDict({}))) is refusal
    many = wire.batch_content(wire.query_content(ask_for()), np.array([3]))
    assert wire.read_reply(say(wire.REPORTS_TYPE, many)) is Refusal.UNKNOWN_QUERY
    assert wire.read_introduction(say(wire.WHOAMI_TYPE, RecordDict({}))) == (3, True)


def test_a_run_s_configuration_cannot_name_a_socket(opened: Open, tmp_path: Path) -> None:
    vault = opened()
    where = Context(9, 77, {"partition-id": 3, "state-dir": str(tmp_path / "none")}, RecordDict({}),
                    {"socket": str(vault.path)})  # fmt: skip
    answer = app(Message(wire.query_content(ask_for()), 77, wire.QUERY_TYPE), where)
    assert wire.read_reply(answer) is Refusal.LEDGER_DAMAGED
    assert vault.rows() == []


def test_a_vault_that_is_not_there_is_a_device_that_answers_nothing(tmp_path: Path) -> None:
    assert VaultDevice(str(tmp_path / "none"), 3, 0.5).answer(b"") is Refusal.LEDGER_DAMAGED
    with pytest.raises(ValueError, match="number"):
        VaultDevice("x", -1)


def test_only_those_who_live_there_are_answered_for(opened: Open) -> None:
    vault = opened(residents=(3, 5))
    question = ask_for().to_bytes()
    for index in (0, 4, 11, 12, 2**32 - 1):
        assert vault.device(index).answer(question) is Refusal.LEDGER_DAMAGED
    assert isinstance(vault.device(5).answer(question), Report)


def test_a_ledger_that_is_gone_is_not_made_anew(folder: Callable[..., Path], tmp_path: Path) -> None:
    """The vault says so when it starts; a device without a vault does not answer either."""
    home = folder()
    with running(home, tmp_path / "v") as vault:
        assert isinstance(vault.device().answer(ask_for().to_bytes()), Report)
    shutil.copytree(home, tmp_path / "bare")
    for place in (home, tmp_path / "bare"):
        for path in place.glob("ledger*"):
            path.unlink()
    with running(home, tmp_path / "v") as vault:
        assert vault.vault.damaged == {"ledger.sqlite": "is missing"}
        assert vault.device().answer(ask_for("second", eps=2.0).to_bytes()) is Refusal.LEDGER_DAMAGED
        assert vault.device().refuse(FrameKind.OTHER_MODE) is Refusal.LEDGER_DAMAGED
        assert not (home / "ledger.sqlite").exists()
    bare = State(tmp_path / "bare").device(3)
    assert bare.answer(ask_for("second", eps=2.0)) is bare.refuse(Refusal.MODE_REFUSED) is Refusal.LEDGER_DAMAGED
    assert not (tmp_path / "bare" / "ledger.sqlite").exists()


def test_a_ledger_that_is_replaced_while_it_is_served_answers_nothing(
    folder: Callable[..., Path], tmp_path: Path
) -> None:
    home = folder()
    shutil.copy(home / "ledger.sqlite", tmp_path / "blank")
    with running(home, tmp_path / "v") as vault:
        (home / "ledger.sqlite").rename(tmp_path / "own")
        shutil.copy(tmp_path / "blank", home / "ledger.sqlite")
        assert vault.device().answer(ask_for().to_bytes()) is Refusal.LEDGER_DAMAGED
        (tmp_path / "own").rename(home / "ledger.sqlite")
        assert isinstance(vault.device().answer(ask_for().to_bytes()), Report)


def test_many_at_once_get_one_report(opened: Open) -> None:
    vault = opened()
    questions = [ask_for(f"c{i}", eps=1.0 + i / 10).to_bytes() for i in range(24)]
    answers: list[Report | Refusal] = []
    threads = [threading.Thread(target=lambda q=q: answers.append(vault.device().answer(q))) for q in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(answer) is Report for answer in answers) == [False] * 23 + [True]
    assert {a for a in answers if isinstance(a, Refusal)} == {Refusal.REPORT_COLLECTED}


def test_who_drips_or_stays_silent_keeps_nobody_out(opened: Open) -> None:
    vault = opened(options={"connections": 3, "seconds": 0.4})
    idle = [vault.connect() for _ in range(20)]
    for connection in idle[::2]:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # closed already, to make room
            connection.sendall(b"\x40\x00\x00")
    assert isinstance(vault.device().answer(ask_for().to_bytes()), Report)
    for connection in idle:
        connection.close()


def test_a_question_that_is_too_long_is_no_question(opened: Open) -> None:
    vault = opened()
    assert vault.device().answer(b"x" * 200_000) is Refusal.UNKNOWN_QUERY
    assert vault.device().answer(b"x" * (1 << 23)) is Refusal.UNKNOWN_QUERY


def test_a_failure_inside_says_nothing(
    opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    vault = opened()

    def fail(*_: object) -> None:
        raise RuntimeError("label 2, neighbours 4 7 9")

    monkeypatch.setattr("ldpsim.devices.device.Device.answer", fail)
    assert vault.device().answer(ask_for().to_bytes()) is Refusal.LEDGER_DAMAGED
    assert "RuntimeError" in caplog.text and "neighbours" not in caplog.text


def test_a_folder_is_served_once_and_by_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with vault_home.served_alone(home):
        assert home.stat().st_mode & 0o777 == 0o700
        with pytest.raises(ValueError, match=rf"these devices are in use \(process {os.getpid()}\)"):
            with vault_home.served_alone(home):
                pass
    with vault_home.served_alone(home):  # the lock went with its holder
        pass
    home.chmod(0o750)
    with pytest.raises(ValueError, match="other users may enter it"):
        with vault_home.served_alone(home):
            pass


def test_a_socket_is_private_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "v"
    before = os.umask(0)
    try:
        with vault_home.listening(path):
            assert path.stat().st_mode & 0o777 == 0o600
        assert not path.exists()
        with vault_home.listening(path, group=os.getgid()):
            assert path.stat().st_mode & 0o777 == 0o660 and path.stat().st_gid == os.getgid()
    finally:
        os.umask(before)


def test_a_stale_socket_is_replaced_and_a_living_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "v"
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(path))
    stale.close()  # as after kill -9: the name is left
    with vault_home.listening(path) as listener:
        with pytest.raises(ValueError, match="another process listens there"):
            with vault_home.listening(path):
                pass
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(path))
            listener.accept()[0].close()


def test_a_socket_that_cannot_be_given_away_is_closed_though_its_error_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[socket.socket] = []

    class Made(socket.socket):
        def __init__(self, *given: int) -> None:
            super().__init__(*given)
            made.append(self)

    def refuse(*given: object, **named: object) -> None:
        raise PermissionError

    monkeypatch.setattr(vault_home.socket, "socket", Made)
    monkeypatch.setattr(vault_home.os, "chown", refuse)
    with pytest.raises(ValueError, match="may not give it to group 0") as kept:
        with vault_home.listening(tmp_path / "v", group=0):
            pass
    assert [each.fileno() for each in made] == [-1] and kept.tb is not None


def test_a_connection_of_which_the_kernel_says_nothing_is_closed_at_once(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stayed open until the next one came, and its other side waited for an answer."""

    def fail(_connection: object) -> None:
        raise OSError

    vault = opened()
    with monkeypatch.context() as patched:
        patched.setattr(server, "_peer", fail)  # before it connects: the server accepts in a thread
        with vault.connect() as client:
            client.settimeout(20)
            assert client.recv(1) == b""
    assert isinstance(vault.device().answer(ask_for().to_bytes()), Report)


def test_who_opens_too_many_is_turned_away_and_others_are_answered(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The red team's 300 slow connections: an honest device got LEDGER_DAMAGED. Now others are answered."""
    vault = opened(options={"connections": 8})
    monkeypatch.setattr(server, "PER_PROCESS", 2)
    callers = iter([(1, 7)] * 5 + [(number, 7) for number in (2, 3, 4)] + [(9, 8)] * 100)
    monkeypatch.setattr(server, "_peer", lambda _connection: next(callers))
    idle = [vault.connect() for _ in range(8)]
    assert isinstance(vault.device().answer(ask_for().to_bytes()), Report)
    assert vault.vault.counts[Refusal.VAULT_BUSY.name] == 4  # 2 of process 1 are in, and of user 7 half of 8
    for connection in idle:
        connection.close()


def test_the_kernel_says_who_asks_and_files_are_left_for_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = socket.socketpair()
    with left, right:
        assert server._peer(left) == (os.getpid(), os.geteuid())
    monkeypatch.setattr(server.resource, "getrlimit", lambda _kind: (200, 200))
    assert [server._room_for(number) for number in (3, 4096)] == [3, 136]
