"""Random lives of a state folder: asks, crashes, reopenings, copies and restores, against a simple model.

The invariants after every step: a device gives at most one distinct answer about an
attribute, unless its ledger was put back to an older state; and every answer that left
stands in the ledger of the folder it came from, unless that ledger was put back since.

Some folders have a counter. All copies of such a folder are one device: together they
give at most one distinct answer about an attribute, whatever was copied or put back.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.device import Refusal, answer
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.chain import sound
from ldpsim.devices.ledger.counter import CounterCheck
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.ledger import CounterMismatch, Ledger
from ldpsim.devices.ledger.rows import head_of
from ldpsim.devices.mechanisms import GRR, OneBit
from ldpsim.devices.policy.policy import Cap, Policy
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_report

PEOPLE, D = 3, 16
DEVICES = st.integers(0, PEOPLE - 1)
ATTRIBUTES = st.sampled_from(("f", "l", "fl"))
BATCHES = st.sampled_from(((0,), (1,), (2,), (0, 2), (0, 1, 2)))
BUDGETS = st.sampled_from((0.5, 2.0))
COLLECTIONS = st.sampled_from(("one", "two"))


class Crash(BaseException):
    """The process dies at this point."""


@dataclass
class Folder:
    """A state folder and what is known of it.

    Args:
        path: Where it is.
        held: Answers that left and have to be in its ledger: (device, attribute) -> bytes.
        left: Answers that left this folder or another copy of it, where a counter counts them.
    """

    path: Path
    left: dict[tuple[int, str], bytes] | None = None
    held: dict[tuple[int, str], bytes] = field(default_factory=dict)
    backup: dict[tuple[int, str], bytes] | None = None
    restored: bool = False


def query(collection: str, attributes: str, epsilon: float) -> Query:
    asks = {"f": Ask("features", (OneBit.from_epsilon(epsilon, d=D),)),
            "l": Ask("label", (GRR.from_epsilon(epsilon, categories=3),))}  # fmt: skip
    return Query(collection, (tuple(asks[letter] for letter in attributes),))


def people() -> Population:
    return build_population(
        "few", n=PEOPLE, d=D, edges=[[0, 1], [1, 2]], feature_indptr=[0, 4, 8, 12], feature_indices=list(range(12)),
        feature_values=None, labels=[0, 1, 2], classes=3,
    )  # fmt: skip


class Lives(RuleBasedStateMachine):
    """Folders that are enrolled, asked, killed, copied and put back."""

    folders: Bundle[Folder] = Bundle("folders")

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.number = 0
        self.open: dict[Path, State] = {}
        self.known: list[Folder] = []

    def teardown(self) -> None:
        for state in self.open.values():
            state.close()
        shutil.rmtree(self.home)

    def _place(self) -> Path:
        self.number += 1
        return self.home / f"state-{self.number}"

    def _state(self, folder: Folder) -> State:
        if folder.path not in self.open:
            self.open[folder.path] = State(folder.path)
        return self.open[folder.path]

    def _close(self, folder: Folder) -> None:
        if folder.path in self.open:
            self.open.pop(folder.path).close()

    @initialize(target=folders, replay=st.booleans(), counted=st.booleans())
    def enrol(self, replay: bool, counted: bool) -> Folder:
        given, path = people(), self._place()
        caps = dict.fromkeys(("features", "label"), Cap(100.0, 1e6, 1e6))
        policy = Policy("report", caps, frozenset({"one_bit", "grr"}), given.facts,
                        on_requery="replay" if replay else "refuse")  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "urandom", bytes)  # a life that is told again has the counter's random numbers of before
            enrol(path, given, policy, seed=1, counters=self.home / "apart" if counted else None).close()
        self.known.append(Folder(path, {} if counted else None))
        return self.known[-1]

    @rule(folder=folders, device=DEVICES, attributes=ATTRIBUTES, budget=BUDGETS, collection=COLLECTIONS)
    def ask(self, folder: Folder, device: int, attributes: str, budget: float, collection: str) -> None:
        asked = query(collection, attributes, budget)
        self._take(folder, device, asked, self._state(folder).device(device).answer(asked))

    @rule(folder=folders, attributes=ATTRIBUTES, budget=BUDGETS, collection=COLLECTIONS)
    def ask_everybody_at_once(self, folder: Folder, attributes: str, budget: float, collection: str) -> None:
        asked = query(collection, attributes, budget)
        for index, said in enumerate(answer(self._state(folder), range(PEOPLE), asked)):
            self._take(folder, index, asked, said)

    @rule(target=folders, folder=folders, attributes=ATTRIBUTES, device=DEVICES)
    def ask_a_copy_at_the_same_time(self, folder: Folder, attributes: str, device: int) -> Folder:
        """A copy answers while a batch of the original is open."""
        other = self.copy(folder)
        batch, alone = query("one", attributes, 0.5), query("one", attributes, 2.0)
        state, early = self._state(folder), []
        ledger = state.ledger()
        real = ledger.transaction

        @contextmanager
        def disturbed(devices: Any) -> Any:
            with real(devices):
                yield
                early.append(self._state(other).device(device).answer(alone))

        ledger.transaction = disturbed  # type: ignore[method-assign]
        try:
            answers = answer(state, range(PEOPLE), batch)
        finally:
            del ledger.transaction  # type: ignore[method-assign]
        self._take(other, device, alone, early[0])
        for index, said in enumerate(answers):
            self._take(folder, index, batch, said)
        return other

    @rule(folder=folders, devices=BATCHES, attributes=ATTRIBUTES, budget=BUDGETS, committed=st.booleans())
    def die_while_answering(
        self, folder: Folder, devices: tuple[int, ...], attributes: str, budget: float, committed: bool
    ) -> None:
        """The process is killed before or after the commit; in neither case does a reply leave."""
        ledger = self._state(folder).ledger()
        real = ledger.transaction

        @contextmanager
        def dying(asked: Any) -> Any:
            with suppress(CounterMismatch), real(asked):
                yield
                if not committed:
                    raise Crash
            raise Crash

        ledger.transaction = dying  # type: ignore[method-assign]
        with pytest.raises(Crash):
            answer(self._state(folder), devices, query("one", attributes, budget))
        self._close(folder)

    @rule(folder=folders, device=DEVICES, attributes=ATTRIBUTES, budget=BUDGETS)
    def die_before_the_counter(self, folder: Folder, device: int, attributes: str, budget: float) -> None:
        """The process is killed between commit and counter: the ledger is ahead, and no reply leaves."""
        with pytest.MonkeyPatch.context() as patch, suppress(Crash):

            def dying(_: object) -> None:
                raise Crash

            patch.setattr(CounterCheck, "settle", dying)
            self._state(folder).device(device).answer(query("one", attributes, budget))
            assert folder.left is None
        self._close(folder)

    @rule(folder=folders)
    def reopen(self, folder: Folder) -> None:
        self._close(folder)

    @rule(target=folders, folder=folders)
    def copy_it(self, folder: Folder) -> Folder:
        return self.copy(folder)

    def copy(self, folder: Folder) -> Folder:
        """A copied folder has its own future; without a counter it is another device with the same past."""
        self._close(folder)
        path = self._place()
        shutil.copytree(folder.path, path)
        self.known.append(Folder(path, folder.left, dict(folder.held), None, folder.restored))
        return self.known[-1]

    @rule(folder=folders)
    def back_up(self, folder: Folder) -> None:
        self._close(folder)
        shutil.copy(folder.path / "ledger.sqlite", folder.path.with_suffix(".backup"))
        folder.backup = dict(folder.held)

    @rule(folder=folders)
    def restore(self, folder: Folder) -> None:
        """An older ledger is put back: what was answered since is forgotten, and the promise with it."""
        if folder.backup is not None:
            self._close(folder)
            shutil.copy(folder.path.with_suffix(".backup"), folder.path / "ledger.sqlite")
            folder.restored |= folder.held != folder.backup
            folder.held = dict(folder.backup)

    def _take(self, folder: Folder, device: int, asked: Query, answer: Report | Refusal) -> None:
        if isinstance(answer, Refusal):
            if answer is Refusal.COUNTER_MISMATCH:
                assert folder.left is not None and (folder.restored or len(self.known) > 1)
                return
            assert answer is Refusal.REPORT_COLLECTED
            assert any((device, ask.attribute) in self._entered(folder) for ask in asked.asks)
            return
        parts = unpack_report(answer.data, asked)
        for attribute, given in parts.items():
            data = b"".join(given)
            before = folder.held.setdefault((device, attribute), data)
            assert before == data or folder.restored, "a second distinct answer"
            if folder.left is not None:
                assert folder.left.setdefault((device, attribute), data) == data, "a second answer of another copy"

    def _entered(self, folder: Folder) -> dict[tuple[int, str], bytes]:
        """Return what stands in the ledger, read by a connection of its own."""
        state = State(folder.path)
        try:
            own = state.ledger().answers()
            assert all(sound(own, state.seal_keys(range(PEOPLE))))
            found = [((a.device, part.attribute), part.report[4:]) for a in own for part in a.parts]
            assert len(dict(found)) == len(found), "an attribute was entered twice"
            return dict(found)
        finally:
            state.close()

    @invariant()
    def every_answer_is_in_the_ledger(self) -> None:
        for folder in self.known:
            entered = self._entered(folder)
            for key, data in folder.held.items():
                assert entered.get(key) == data, "an answer left that the ledger does not have"


QUICK = settings(max_examples=15, stateful_step_count=20, deadline=None, derandomize=True, database=None,
                 suppress_health_check=list(HealthCheck))  # fmt: skip


def test_lives_of_a_state_folder() -> None:
    run_state_machine_as_test(Lives, settings=QUICK)


def _replies_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """The transaction of an answer is never committed: what left is not in the ledger."""

    @contextmanager
    def forgetful(ledger: Ledger, devices: Any = ()) -> Any:
        ledger._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            ledger._db.execute("ROLLBACK")

    patch.setattr(Ledger, "transaction", forgetful)


def _decides_without_reading(patch: pytest.MonkeyPatch) -> None:
    """The decision does not look at attributes that were released with others."""
    from ldpsim.devices.ledger import decisions

    real = decisions.decide

    def blind(answers: Any, asked: Query, *, replay: bool) -> Any:
        alone = [a for a in answers if {p.attribute for p in a.parts} == set(asked.attributes)]
        found = real(alone, asked, replay=replay)
        return replace(found, head=head_of(answers)) if isinstance(found, decisions.NewRelease) else found

    patch.setattr(decisions, "decide", blind)


def _counts_a_maximum(patch: pytest.MonkeyPatch) -> None:
    """The counter is raised and not compared: two copies that answer at once are both right."""

    def raised(counter: FolderCounter, changes: Any) -> dict[int, Any]:
        for device, (_, new) in changes.items():
            real(counter, {device: (counter.entries([device])[device].head, new)})
        return {}

    real = FolderCounter.advance
    patch.setattr(FolderCounter, "advance", raised)


@pytest.mark.parametrize("broken", [_replies_before_the_commit, _decides_without_reading, _counts_a_maximum])
def test_a_broken_ledger_is_found(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: replies before the commit, a decision that forgets, and a counter that does not compare."""
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Lives, settings=settings(QUICK, phases=[Phase.generate]))
