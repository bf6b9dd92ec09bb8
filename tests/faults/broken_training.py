"""Broken variants of federated trainings: what a device notes of its rounds, and the collector's checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import ldpsim.devices.federated.wire
import ldpsim.devices.fleet
import ldpsim.strategies.rounds.checkpoint
from ldpsim.devices.device import Device
from ldpsim.devices.ledger.ledger import CounterMismatch, Ledger
from ldpsim.devices.ledger.ledger_file import LedgerFile
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.training_task import Task
from ldpsim.strategies.rounds.checkpoint import CheckpointFile
from tests.faults.variants import put, variant


@variant("the losses of rounds are not added up", "trainings")
def _not_added() -> Any:
    real = Ledger.training
    return put(Ledger, "training", lambda *given, **named: (real(*given, **named)[0], Loss(0.0, 0.0)))


@variant("a round is allowed by what was lost before it", "trainings")
def _before_it() -> Any:
    real = Policy.allows_round

    def allows(policy: Policy, task: Task, kind: Any, spent: Loss) -> bool:
        before = Loss(max(spent.bit - task.loss(kind).bit, 0.0), max(spent.vector - task.loss(kind).vector, 0.0))
        return real(policy, task, kind, before)

    return put(Policy, "allows_round", allows)


@variant("a round that was answered is answered again", "trainings")
def _answered_again() -> Any:
    return put(Device, "_answered", lambda *given: False)


@variant("a round that was answered is looked for in the latest answer", "trainings")
def _latest_round() -> Any:
    def answered(device: Device, kind: str, question: bytes) -> bool:
        rows: Any = device.ledger.answers(device.index)[-1:]
        return any((row.kind, row.fingerprint) == (kind, question) for row in rows)

    return put(Device, "_answered", answered)


@variant("the same round in another training is another question", "trainings")
def _id_in_question() -> Any:
    return put(Task, "question_bytes", Task.to_bytes)


@variant("what a process noted of trainings stays when another one writes", "trainings")
def _notes_stay() -> Any:
    def present(ledger: Any) -> None:
        noted = dict(ledger._trainings)
        real(ledger)
        ledger._trainings.update(noted)

    real = LedgerFile._check_present
    return put(LedgerFile, "_check_present", present)


@variant("what a process noted of trainings stays when its batch is undone", "trainings")
def _notes_of_undone() -> Any:
    def undo(ledger: Any) -> None:
        noted = dict(ledger._trainings)
        real(ledger)
        ledger._trainings.update(noted)

    real = LedgerFile._undo
    return put(LedgerFile, "_undo", undo)


@variant("an end that a process noted is not compared with the counter", "trainings")
def _noted_not_compared() -> Any:
    def training(ledger: Any, device: int, *, seal_key: bytes) -> Any:
        if ledger.in_transaction and device in ledger._trainings:
            return ledger._trainings[device]
        return real(ledger, device, seal_key=seal_key)

    real = Ledger.training
    return put(Ledger, "training", training)


@variant("a fleet sends the updates of a copy that lost", "trainings")
def _lost_updates() -> Any:
    @contextmanager
    def transaction(ledger: LedgerFile, devices: Any = ()) -> Iterator[None]:
        with suppress(CounterMismatch), real(ledger, devices):
            yield

    real = LedgerFile.transaction
    return put(LedgerFile, "transaction", transaction)


@variant("weights that are no numbers are used", "trainings")
def _any_weights() -> Any:
    return put(ldpsim.devices.federated.wire, "are_usable", lambda weights: True)


@variant("a checkpoint is saved with the next one", "trainings")
def _late_checkpoint() -> Any:
    waiting: dict[Any, Any] = {}

    def save(file: Any, standing: Any) -> None:
        before = waiting.get(file)
        waiting[file] = standing
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
