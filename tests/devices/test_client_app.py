"""The ClientApp: which device it is, and that nothing but a fixed refusal ever escapes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context, Message, RecordDict

from ldpsim.devices import client_app, wire
from ldpsim.devices.client_app import app, default_state_folder, state_folder
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.mechanisms import GRR
from tests.devices.conftest import ask_for, policy_of


@pytest.fixture
def folder(tmp_path: Path, population: Population) -> Path:
    enrol(tmp_path / "state", population, policy_of(population), seed=7).close()
    return tmp_path / "state"


def context(node: dict[str, Any], run: dict[str, Any] | None = None, *, run_id: int = 9) -> Context:
    return Context(run_id, 77, node, RecordDict({}), run or {})


def say(kind: str, content: RecordDict, where: Context) -> Message:
    return app(Message(content, 77, kind), where)


def test_the_device_is_named_by_the_node_s_own_configuration(folder: Path) -> None:
    query = wire.query_content(ask_for())
    for index in (0, 11):
        where = context({"partition-id": index, "state-dir": str(folder)})
        answer = wire.read_reply(say(wire.QUERY_TYPE, query, where))
        assert isinstance(answer, tuple) and answer[0] == index
    # Flower's node id (77 all along) played no part.
    assert [len(State(folder).ledger(0).answers(i)) for i in (0, 1, 11)] == [1, 0, 1]


def test_the_node_names_its_folder_or_its_environment_and_never_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"state-dir": "/run", "LDPSIM_STATE": "/run"}
    assert state_folder(context({"partition-id": 1, "state-dir": "/node"}, run)) == "/node"
    assert state_folder(context({"partition-id": 1, "state-dir": ""}, run, run_id=5)) == str(default_state_folder(5))
    monkeypatch.setenv("LDPSIM_STATE", "/environment")
    assert state_folder(context({"partition-id": 1}, run)) == "/environment"
    assert state_folder(context({"partition-id": 1, "state-dir": "/node"}, run)) == "/node"


@pytest.mark.parametrize("error", [ValueError, KeyError, RuntimeError, MemoryError, sqlite3.Error, ZeroDivisionError])
def test_an_exception_with_private_words_does_not_leave(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    error: type[Exception],
) -> None:
    def fail(*_: object) -> int:
        raise error("PRIVATE the label is 2")

    monkeypatch.setattr(GRR, "draw", fail)
    answer = say(wire.QUERY_TYPE, wire.query_content(ask_for()), context({"partition-id": 3, "state-dir": str(folder)}))
    read = wire.read_reply(answer)
    assert isinstance(read, Refusal) and answer.error.reason == wire.TEXTS[read]
    out = capfd.readouterr()
    assert "PRIVATE" not in out.out + out.err + caplog.text + repr(answer)
    assert State(folder).ledger(3).answers(3) == []


def test_who_am_i_opens_nothing_private(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_app, "open_state", lambda *_: pytest.fail("the state was opened"))
    answer = say("query.whoami", RecordDict({}), context({"partition-id": 4, "state-dir": str(folder)}))
    assert wire.read_introduction(answer) == (4, True)
    answer = say("query.whoami", RecordDict({}), context({"partition-id": 4}, {"state-dir": str(folder)}))
    assert wire.read_introduction(answer) == (4, False)
