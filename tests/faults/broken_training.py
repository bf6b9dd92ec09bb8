"""Broken variants of federated trainings: what a device notes of its rounds, and the collector's checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import ldpsim.devices.device
import ldpsim.devices.federated.wire
import ldpsim.strategies.rounds.checkpoint
from ldpsim.devices.device import Device
from ldpsim.devices.ledger.ledger import CounterMismatch, Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import Answer
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.training_task import Task
from ldpsim.strategies.rounds.checkpoint import CheckpointFile
from tests.faults.variants import put, variant


@variant("the losses of rounds are not added up", "trainings")
def _not_added() -> Any:
    def answer(device: int, head: Any, spent: Loss, **named: Any) -> Any:
        return real(device, head, Loss(0.0, 0.0), **named)

    def allows(policy: Policy, task: Task, kind: Any, spent: Loss) -> bool:
        return real_allows(policy, task, kind, Loss(0.0, 0.0))

    real, real_allows = ldpsim.devices.device.training_answer, Policy.allows_round
    return [put(ldpsim.devices.device, "training_answer", answer), put(Policy, "allows_round", allows)]


@variant("a round is allowed by what was lost before it", "trainings")
def _before_it() -> Any:
    real = Policy.allows_round

    def allows(policy: Policy, task: Task, kind: Any, spent: Loss) -> bool:
        before = Loss(max(spent.bit - task.loss(kind).bit, 0.0), max(spent.vector - task.loss(kind).vector, 0.0))
        return real(policy, task, kind, before)

    return put(Policy, "allows_round", allows)


class _Forgotten(Answer):
    """An answer to a question that is not known any more."""

    @property
    def parts(self) -> Any:
        return tuple(replace(part, fingerprint=b"") for part in super().parts)


def _forgetting(known: int) -> Any:
    """Let a device forget the questions of all answers but the last ``known`` ones."""

    def chain(device: Device) -> Any:
        found = real(device)
        if isinstance(found, LedgerDamaged):
            return found
        old = len(found) - known
        return [_Forgotten(*answer) if place < old else answer for place, answer in enumerate(found)]

    real = Device._chain
    return put(Device, "_chain", chain)


@variant("a round that was answered is answered again", "trainings")
def _answered_again() -> Any:
    return _forgetting(known=0)


@variant("a round that was answered is looked for in the latest answer", "trainings")
def _latest_round() -> Any:
    return _forgetting(known=1)


@variant("the same round in another training is another question", "trainings")
def _id_in_question() -> Any:
    return put(Task, "question_bytes", Task.to_bytes)


@variant("what a process noted of trainings stays when another one writes", "trainings")
def _notes_stay() -> Any:
    def present(ledger: Any) -> None:
        noted = dict(ledger._trained)
        real(ledger)
        ledger._trained.update(noted)

    real = Ledger._check_present
    return put(Ledger, "_check_present", present)


@variant("what a process noted of trainings stays when its batch is undone", "trainings")
def _notes_of_undone() -> Any:
    def undo(ledger: Any) -> None:
        noted = dict(ledger._trained)
        real(ledger)
        ledger._trained.update(noted)

    real = Ledger._undo
    return put(Ledger, "_undo", undo)


@variant("an end that a process noted is not compared with the counter", "trainings")
def _noted_not_compared() -> Any:
    def chains(ledger: Any, keys: Any) -> Any:
        comparison = ledger._comparison
        if comparison is None or not ledger.in_transaction:
            return real(ledger, keys)
        noted = set(ledger._trained)

        def compare(device: int, *more: Any) -> None:
            if device not in noted:
                comparison.compare(device, *more)

        ledger._comparison = SimpleNamespace(compare=compare)
        try:
            return real(ledger, keys)
        finally:
            ledger._comparison = comparison

    real = Ledger.chains
    return put(Ledger, "chains", chains)


@variant("a fleet sends the updates of a copy that lost", "trainings")
def _lost_updates() -> Any:
    @contextmanager
    def transaction(ledger: Ledger, devices: Any = ()) -> Iterator[None]:
        with suppress(CounterMismatch), real(ledger, devices):
            yield

    real = Ledger.transaction
    return put(Ledger, "transaction", transaction)


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
