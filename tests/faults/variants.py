"""Broken variants of the product: the simulator has to find each of them. A variant changes the code for a while."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import ldpsim.devices.atomic_files
import ldpsim.devices.device
import ldpsim.devices.federated.wire
import ldpsim.devices.fleet
import ldpsim.devices.ledger.chain
import ldpsim.devices.ledger.schema
import ldpsim.strategies.rounds.checkpoint
import ldpsim.strategies.rounds.several_rounds
from ldpsim.devices import query
from ldpsim.devices.curator_key import SignedTerms
from ldpsim.devices.device import PermittedQuery, Refusal, question_to
from ldpsim.devices.federated import participation
from ldpsim.devices.ledger import decisions
from ldpsim.devices.ledger.counter import CounterCheck, CounterMismatch
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.ledger.open_files import OpenFiles
from ldpsim.devices.ledger.rows import Head, LedgerDamaged, TrainingEnd, head_of
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from ldpsim.devices.training_task import Task
from ldpsim.strategies.rounds.checkpoint import CheckpointFile
from tests.faults import sqlite
from tests.faults.questions import KEYS

Patch = Callable[[], Any]
VARIANTS: dict[str, Patch] = {}
KIND: dict[str, str] = {}  # of the schedules that look for a variant
put = mock.patch.object


def variant(text: str, kind: str = "reports") -> Callable[[Patch], Patch]:
    """Enter a variant under its name, in words, and the kind of schedules that look for it."""

    def enter(make: Patch) -> Patch:
        VARIANTS[text] = make
        KIND[text] = kind
        return make

    return enter


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Change the code as a variant says."""
    made = VARIANTS[name]()
    with ExitStack() as stack:
        for patch in made if isinstance(made, list) else [made]:
            stack.enter_context(patch)
        yield
    query._parse.cache_clear()  # a question keeps what was found out about it


def _statements(change: Callable[[str], str]) -> Any:
    """Change the SQL that the product sends to SQLite."""
    execute = sqlite.Connection.execute
    return put(sqlite.Connection, "execute", lambda db, sql, *more: execute(db, change(sql), *more))


# --- the ledger's transaction ---------------------------------------------------------------


@variant("the reply leaves before the commit")
def _late_commit() -> Any:
    @contextmanager
    def transaction(ledger: Ledger, devices: Any = ()) -> Iterator[None]:
        if ledger._db.in_transaction and not ledger.in_transaction:
            ledger._db.execute("COMMIT")  # of the answer before
        with put(ledger, "_db", _Keeping(ledger._db)):
            with real(ledger, devices):
                yield

    real = Ledger.transaction
    return put(Ledger, "transaction", transaction)


class _Keeping:
    """A connection that leaves a commit for later."""

    def __init__(self, db: Any) -> None:
        self._real = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def execute(self, sql: str, *more: Any) -> Any:
        return None if sql == "COMMIT" else self._real.execute(sql, *more)


@variant("a commit does not wait for the disk")
def _no_sync() -> Any:
    return _statements(lambda sql: sql.replace("synchronous=FULL", "synchronous=NORMAL"))


@variant("a batch whose commit fails gives its replies")
def _damaged_batch() -> Any:
    @contextmanager
    def transaction(ledger: Ledger, devices: Any = ()) -> Iterator[None]:
        done = False
        try:
            with real(ledger, devices):
                yield
                done = True
        except LedgerDamaged as error:
            if not done or isinstance(error, CounterMismatch):
                raise

    real = Ledger.transaction
    return put(Ledger, "transaction", transaction)


@variant("the files of a ledger are not compared", "removals")
def _any_files() -> Any:
    return put(OpenFiles, "check", lambda files: None)


# --- the decision -----------------------------------------------------------------------------


def _decision(change: Callable[..., Any]) -> Any:
    """Change the decision; a new row still follows the last one."""
    real = decisions.decide

    def decide(answers: Any, query: Query, *, replay: bool) -> Any:
        found = change(real, answers, query, replay)
        return replace(found, head=head_of(answers)) if isinstance(found, decisions.NewRelease) else found

    return put(decisions, "decide", decide)


@variant("attributes that were released with others are forgotten")
def _forgets_others() -> Any:
    def change(real: Any, answers: Any, query: Query, replay: bool) -> Any:
        alone = [a for a in answers if {p.attribute for p in a.parts} == set(query.attributes)]
        return real(alone, query, replay=replay)

    return _decision(change)


@variant("only the latest answer is looked at")
def _latest_alone() -> Any:
    return _decision(lambda real, answers, query, replay: real(answers[-1:], query, replay=replay))


@variant("the bytes of an old answer go to a new question")
def _old_record() -> Any:
    def change(real: Any, answers: Any, query: Query, replay: bool) -> Any:
        found = real(answers, query, replay=replay)
        old = {part.attribute: part.report for answer in answers for part in answer.parts}
        if isinstance(found, decisions.AlreadyCollected) and set(query.attributes) <= set(old):
            return decisions.Replay(tuple(old[name] for name in query.attributes))
        return found

    return _decision(change)


def after_answering(change: Callable[[Any, int, Query, Any], Any]) -> Any:
    """Change the answers of devices after they were decided: state, device, query and answer give the new one."""

    def answering(state: Any, devices: Sequence[int], question: Any, *, raw: bool = False) -> Generator[Any, Any, Any]:
        answers = yield from real(state, devices, question, raw=raw)
        asked = question if isinstance(question, Refusal) else question_to(state.policy, question, raw=raw)
        if not isinstance(asked, PermittedQuery):
            return answers
        return [change(state, device, asked.query, one) for device, one in zip(devices, answers, strict=True)]

    real = ldpsim.devices.device.answering
    return [put(module, "answering", answering) for module in (ldpsim.devices.device, ldpsim.devices.fleet)]


# --- the counter ------------------------------------------------------------------------------


@variant("the counter is not compared")
def _no_comparison() -> Any:
    def compare(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        check.entry(device)
        check.end(device, head, chain)

    return [put(CounterCheck, "compare", compare), put(CounterCheck, "_is_ours", staticmethod(lambda *given: True))]


@variant("the counter is never advanced")
def _never_settled() -> Any:
    return put(CounterCheck, "settle", lambda check: None)


@variant("the counter is advanced after the reply")
def _settled_late() -> Any:
    def settle(check: CounterCheck) -> None:
        waiting = vars(check._counter).setdefault("waiting", [])
        while waiting:
            with suppress(LedgerDamaged):
                real(waiting.pop())
        waiting.append(check)

    real = CounterCheck.settle
    return put(CounterCheck, "settle", settle)


@variant("the counter is advanced before the commit")
def _settled_early() -> Any:
    def end(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        real(check, device, head, chain)
        check.settle()

    real = CounterCheck.end
    return put(CounterCheck, "end", end)


@variant("a counter that is behind is a mismatch")
def _behind_is_lost() -> Any:
    def compare(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        if check.entry(device).head != head:
            raise CounterMismatch([device])
        check.end(device, head, chain)

    return put(CounterCheck, "compare", compare)


@variant("a counter that a killed process left is not synced before it is read (mended)")
def _counter_not_synced() -> Any:
    return put(FolderCounter, "_wait_for_disk", lambda counter: None)


@variant("the names of a ledger's files are not synced at the next start (mended)", "removals")
def _names_not_synced() -> Any:
    real = ldpsim.devices.ledger.schema.make_durable
    return put(ldpsim.devices.ledger.schema, "make_durable", lambda path: None if path.is_dir() else real(path))


@variant("a counter that another process advanced part of the way is left there", "races")
def _part_of_the_way() -> Any:
    def settle(check: CounterCheck) -> None:
        counter, tried = check._counter, []

        def advance(changes: Any) -> dict[int, Head]:
            tried.append(changes)
            return counter.advance(changes) if len(tried) == 1 else {}

        check._counter = SimpleNamespace(advance=advance, entries=counter.entries)
        real(check)

    real = CounterCheck.settle
    return put(CounterCheck, "settle", settle)


# --- the collector, refusals, and a rotten file -------------------------------------------------


@variant("a signature is verified under any key")
def _any_key() -> Any:
    real = SignedTerms.is_signed_by
    return put(SignedTerms, "is_signed_by", lambda signed, collector: any(real(signed, key.public) for key in KEYS))


@variant("a refusal depends on the data")
def _refusal_of_data() -> Any:
    def change(state: Any, device: int, query: Query, found: Any) -> Any:
        collected = found is Refusal.REPORT_COLLECTED and state.population.record(device).label == 2
        return Refusal.UNKNOWN_QUERY if collected else found

    return after_answering(change)


# --- the collector ------------------------------------------------------------------------------


@variant("a grouping that a killed curator left is not synced before it is sent (mended)")
def _grouping_left() -> Any:
    def made_once(path: Path, make: Callable[[], str]) -> str:
        return path.read_text() if path.is_file() else real(path, make)

    real = ldpsim.devices.atomic_files.made_once
    return put(ldpsim.strategies.rounds.several_rounds, "made_once", made_once)


@variant("what holds counts one stage of a plan")
def _one_stage_counted() -> Any:
    def loss(query: Query, attribute: str, *, device: int | None = None) -> Any:
        return query.plan[0][0].loss(device=device) if len(query.plan) > 1 else real(query, attribute, device=device)

    real = Query.loss
    return put(Query, "loss", loss)


@variant("the losses of rounds are not added up", "trainings")
def _not_added() -> Any:
    def answers(ends: Any, **named: Any) -> Any:
        return real({device: replace(end, spent=Loss(0.0, 0.0)) for device, end in ends.items()}, **named)

    def allows(policy: Policy, task: Task, kind: Any, spent: Loss) -> bool:
        return real_allows(policy, task, kind, Loss(0.0, 0.0))

    real, real_allows = participation.training_answers, Policy.allows_round
    return [put(participation, "training_answers", answers), put(Policy, "allows_round", allows)]


@variant("a round is allowed by what was lost before it", "trainings")
def _before_it() -> Any:
    real = Policy.allows_round

    def allows(policy: Policy, task: Task, kind: Any, spent: Loss) -> bool:
        before = Loss(max(spent.bit - task.loss(kind).bit, 0.0), max(spent.vector - task.loss(kind).vector, 0.0))
        return real(policy, task, kind, before)

    return put(Policy, "allows_round", allows)


@variant("a round that was answered is answered again", "trainings")
def _answered_again() -> Any:
    return put(TrainingEnd, "answered", lambda end, kind, question: False)


@variant("the same round in another training is another question", "trainings")
def _id_in_question() -> Any:
    return put(Task, "question_bytes", Task.to_bytes)


@variant("weights that are no numbers are used", "trainings")
def _any_weights() -> Any:
    return put(ldpsim.devices.federated.wire, "are_usable", lambda weights: True)


@variant("a checkpoint is saved with the next one", "trainings")
def _late_checkpoint() -> Any:
    waiting: dict[Any, Any] = {}

    def save(file: Any, training: Any) -> None:
        before = waiting.get(file)
        waiting[file] = training
        if before is not None:
            real(file, before)

    real = CheckpointFile.save
    return put(CheckpointFile, "save", save)


@variant("a checkpoint does not wait for the disk", "trainings")
def _lazy_checkpoint() -> Any:
    real = ldpsim.strategies.rounds.checkpoint.write_atomically
    return put(
        ldpsim.strategies.rounds.checkpoint, "write_atomically", lambda path, data: real(path, data, durable=False)
    )
