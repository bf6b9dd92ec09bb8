"""Faults of a state folder, and the cost of the next question: 1x if it is covered, else k x."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict, UserConfig
from flwr.clientapp import ClientApp

from ldpsim.curator.methods import Question
from ldpsim.devices.client_app import app, open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report
from ldpsim.devices.wire import QUERY_TYPE, query_content, read_reply
from ldpsim.strategies.attacks.adversaries.curator import Target
from ldpsim.strategies.attacks.adversaries.questions import rebudgeted
from tests import warm
from tests.fleets import release_states
from tests.strategies.attacks.adversaries.conftest import loss_of
from tests.strategies.attacks.adversaries.faults import FAULTS

SMALL = 40


@pytest.fixture
def counted(
    tmp_path: Path, population: Population, ask: Callable[..., tuple[Question, ...]]
) -> Callable[[bool], Target]:
    """Enrol forty devices for HoGS's question, with a counter elsewhere or without."""

    def make(counters: bool) -> Target:
        query = ask()[0].query
        policy = policy_for([query], population.facts)
        enrol(tmp_path / "s", population, policy, seed=5, counters=tmp_path / "apart" if counters else None).close()
        return Target.of(tmp_path / "s", query)

    return make


@pytest.mark.parametrize("counters", [False, True])
@pytest.mark.parametrize("name", FAULTS)
def test_what_a_fault_costs(counted: Callable[[bool], Target], name: str, counters: bool) -> None:
    """Two strikes and three budgets: one release where it is covered, three (3x) where it is not."""
    fault, target = FAULTS[name], counted(counters)
    outcome = fault.attack(target, asks=3)
    assert outcome.messages == 3 * SMALL and outcome.unasked == 0
    held = fault.counted if counters else fault.covered
    assert outcome.distinct_releases == (1 if held else 3)
    for device in (0, 39):
        for attribute in ("adjacency", "features"):
            bound = target.query.loss(attribute, device=device).vector
            # budgets of 1, 3/4 and 1/2: their losses add up
            assert loss_of(outcome, device, attribute) == pytest.approx(bound * (1 if held else 2.25), rel=0.01)
    if held:
        assert outcome.answers["reported"] == SMALL
        refused = outcome.answers["LEDGER_DAMAGED"] + outcome.answers["COUNTER_MISMATCH"]
        assert set(outcome.answers) <= {"reported", "LEDGER_DAMAGED", "COUNTER_MISMATCH", "REPORT_COLLECTED"}
        assert refused >= SMALL and ("COUNTER_MISMATCH" in outcome.answers) is not fault.covered


@pytest.mark.parametrize("name", ["ledger-made-anew", "rows-moved", "older-backup", "second-place"])
def test_the_same_question_gets_the_same_bytes_from_a_lost_ledger(
    counted: Callable[[bool], Target], tmp_path: Path, name: str
) -> None:
    target = counted(False)
    before = Path(shutil.copytree(target.home, tmp_path / "before"))
    device = open_state(str(target.home), os.getpid()).device(7)
    first = device.answer(target.query)
    fault = FAULTS[name]
    release_states()
    folder = fault.strike(target.home, before) or target.home
    again = State(folder).device(7).answer(replace(target.query, collection="another"))
    assert first.data == again.data  # type: ignore[union-attr]


def test_a_ledger_that_is_gone_and_the_right_one_put_back(counted: Callable[[bool], Target], tmp_path: Path) -> None:
    """LEDGER_DAMAGED is no end: with the right ledger back in its place the device goes on."""
    target = counted(False)
    state = State(target.home)
    first = state.device(3).answer(target.query)
    state.close()
    good = (target.home / "ledger.sqlite").read_bytes()
    (target.home / "ledger.sqlite").unlink()
    assert State(target.home).device(3).answer(target.query) is Refusal.LEDGER_DAMAGED
    (target.home / "ledger.sqlite").write_bytes(good)
    again = State(target.home).device(3).answer(target.query)
    assert again.data == first.data and again.replayed  # type: ignore[union-attr]


ANSWER = """
import mmap, os, sys  # mmap: what numpy needs is imported while this process may still read it
from pathlib import Path
from ldpsim.devices.enrolment.state import State
if os.getuid() == 0:  # for whom no file is read-only
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
for folder in sys.argv[2:]:
    try:
        answer = State(Path(folder)).device(3).answer(bytes.fromhex(sys.argv[1]))
        print(getattr(answer, "name", "a report"))
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_a_folder_that_cannot_be_written(counted: Callable[[bool], Target]) -> None:
    """Nothing is answered where nothing can be entered: the file, the folder, or both are read-only."""
    target = counted(False)
    with tempfile.TemporaryDirectory() as shared:  # not below a folder of this user's alone
        os.chmod(shared, 0o755)
        folders = []
        for name, mode, file_mode in (("free", 0o777, 0o666), ("folder", 0o555, 0o666), ("both", 0o555, 0o444)):
            folders.append(Path(shutil.copytree(target.home, Path(shared) / name)))
            for path in folders[-1].rglob("*"):
                path.chmod(mode if path.is_dir() else file_mode)
            folders[-1].chmod(mode)
        before = {path: path.read_bytes() for folder in folders[1:] for path in folder.rglob("*") if path.is_file()}
        said = warm.run(
            [sys.executable, "-c", ANSWER, target.query.to_bytes().hex(), *map(str, folders)],
            cwd=Path(__file__).parents[4], capture_output=True, text=True, check=True,
        ).stdout.splitlines()  # fmt: skip
        after = {path: path.read_bytes() for folder in folders[1:] for path in folder.rglob("*") if path.is_file()}
        for folder in folders:
            folder.chmod(0o777)
    assert said == ["a report", "LEDGER_DAMAGED", "LEDGER_DAMAGED"]
    assert after == before


def test_the_clock_plays_no_part(counted: Callable[[bool], Target], monkeypatch: pytest.MonkeyPatch) -> None:
    target = counted(False)
    other = rebudgeted(target.query, 0.5, State(target.home).policy.facts)
    device = State(target.home).device(3)
    first = device.answer(target.query)
    for now in (0.0, -1e9, 1e12, float("inf")):
        monkeypatch.setattr(time, "time", partial(float, now))
        for asked in (device, State(target.home).device(3)):
            assert asked.answer(other) is Refusal.REPORT_COLLECTED
            assert asked.answer(target.query).data == first.data  # type: ignore[union-attr]
        later = State(target.home).device(20 + int(now == 0))
        if later.ledger.answers(later.index):
            continue
        assert later.answer(target.query).data  # type: ignore[union-attr]
        assert later.answer(other) is Refusal.REPORT_COLLECTED


def ask_app(
    query: Query, node: UserConfig, run: UserConfig, app: ClientApp = app
) -> tuple[int, Report] | Refusal | None:
    message = Message(query_content(query), 77, QUERY_TYPE)
    return read_reply(app(message, Context(1, 77, node, RecordDict(), run)))


def test_an_edited_app_reads_everything(counted: Callable[[bool], Target]) -> None:
    """A curator who ships code of their own reads everything of a SuperNode that can read the folder."""
    target = counted(True)
    edited = ClientApp()

    @edited.query("report")
    def leak(message: Message, context: Context) -> Message:
        record = State(Path(str(context.node_config["state-dir"]))).population.record(3)
        content = {"report": record.neighbours.tobytes(), "device": 3, "replayed": False}
        return Message(RecordDict({"report": ConfigRecord(content)}), reply_to=message)

    own: UserConfig = {"partition-id": 3, "state-dir": str(target.home)}
    said = ask_app(target.query, own, {}, edited)
    assert isinstance(said, tuple)
    assert np.array_equal(np.frombuffer(said[1].data, np.int32), State(target.home).population.record(3).neighbours)
    assert State(target.home).ledger(3).answers(3) == []  # and nothing of it is in the ledger
