"""A device's part in a federated training: permission, computation, ledger, reply.

A device answers alone (:func:`answer_as_device`) or with the other devices of a fleet
(:func:`answer_batch`): the decisions, the ledger rows and the weights are the same, to the
last bit. The decision depends on the task, the ledger and the policy alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from flwr.app import Array, Message, MessageType

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.atomic_files import private_folder, write_atomically
from ldpsim.devices.data.population import Record
from ldpsim.devices.device import Device, Refusal, RoundPermit
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.federated import local_steps, wire
from ldpsim.devices.federated.batched_steps import Stack
from ldpsim.devices.federated.control_variate import next_variate, read_variate
from ldpsim.devices.federated.exchange import QUOTA, Sums, pack_contribution, pack_representation, read_neighbours
from ldpsim.devices.federated.local_steps import Inputs
from ldpsim.devices.federated.wire import FlatArray, Round, evaluation_reply, exchange_reply, read_own, read_round
from ldpsim.devices.ledger.ledger import LedgerDamaged
from ldpsim.devices.network import usable
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import AnswerKind
from ldpsim.devices.wire import reply

TOGETHER: dict[str, AnswerKind] = {
    MessageType.TRAIN: "update",
    MessageType.EVALUATE: "evaluation",
    wire.EXCHANGE_TYPE: "exchange",
}

_Joined = tuple[Device, RoundPermit, Message, Inputs]


def answer_as_device(received: Path, device: Device, message: Message, kind: AnswerKind | None) -> Message:
    """Answer one message.

    Args:
        received: Folder in which the devices keep values that they are sent.
        device: The device that answers.
        message: The message.
        kind: The answer that is wanted; None: only keep the values that are sent.

    Raises:
        LedgerDamaged: only inside a caller's transaction, which has to be given up whole.
    """
    if device.mode != "federated":
        return reply(device.refuse_mode(), message, device=device.index)
    try:
        asked = read_round(message)
        if kind is None:
            if not device.takes_part(asked.task):
                return reply(device.refuse_policy(), message, device=device.index)
            keep_sums(received, asked, device.index)
            return exchange_reply(b"", message, device=device.index)
        parts = _Parts(received, asked, kind)
        with nullcontext() if device.ledger.in_transaction else device.ledger.transaction():
            permit = device.join(asked.task, kind, asked.question())
            if isinstance(permit, Refusal):
                return reply(permit, message, device=device.index)
            inputs = parts.inputs(permit.record, device.index, asked.own)
            (answer,) = parts.answers([(device, permit, message, inputs)], Array)
            return answer
    except InvalidQuery:
        return reply(device.refuse_unknown(), message, device=device.index)
    except LedgerDamaged as error:
        if device.ledger.in_transaction:
            raise
        return reply(Refusal.of(error), message, device=device.index)


def answer_batch(state: State, messages: Sequence[Message]) -> Iterator[Message]:
    """Answer the messages of one batch, inside the fleet's transaction; those of one round are computed at once."""
    rounds: dict[tuple[str, tuple[int, ...]], list[Message]] = {}
    for message in messages:
        key = (message.metadata.message_type, wire.common(message) if message.has_content() else ())
        rounds.setdefault(key, []).append(message)
    for (name, _), group in rounds.items():
        kind = TOGETHER.get(name)
        if kind is None or state.policy.mode != "federated":
            for message in group:
                yield answer_as_device(state.received, _device(state, message), message, kind)
        else:
            yield from _answer_round(state, group, kind)


def _device(state: State, message: Message) -> Device:
    return state.device(message.metadata.dst_node_id - 1)


def _answer_round(state: State, messages: Sequence[Message], kind: AnswerKind) -> Iterator[Message]:
    try:
        asked = read_round(messages[0])
        parts = _Parts(state.received, asked, kind)
    except InvalidQuery:
        for message in messages:
            yield reply(_device(state, message).refuse_unknown(), message, device=message.metadata.dst_node_id - 1)
        return
    joined: list[_Joined] = []
    for message in messages:
        device = _device(state, message)
        try:
            own = asked if message is messages[0] else asked.for_device(read_own(message))
            permit = device.join(asked.task, kind, own.question())
            if isinstance(permit, Refusal):
                yield reply(permit, message, device=device.index)
            else:
                joined.append((device, permit, message, parts.inputs(permit.record, device.index, own.own)))
        except InvalidQuery:
            yield reply(device.refuse_unknown(), message, device=device.index)
    if joined:
        yield from parts.answers(joined, FlatArray)


class _Parts:
    """Computation of one round's answers, for one device or for many."""

    def __init__(self, received: Path, asked: Round, kind: AnswerKind) -> None:
        self.received, self.asked, self.kind = received, asked, kind
        if (asked.weights is None) != (kind == "exchange" and asked.task.sees == "sums"):
            raise InvalidQuery("weights are missing, or too many")
        if asked.control is not None and (kind != "update" or asked.task.sees != "own" or asked.task.noise is not None):
            raise InvalidQuery("a control variate goes with an update in clear, from a device's own features")
        if kind == "exchange" and asked.task.sees == "own":
            raise InvalidQuery("devices that see their own features have nothing to exchange")

    def inputs(self, record: Record, index: int, own: bytes | None) -> Inputs:
        """Return the inputs that a device trains on; InvalidQuery where values it needs were not sent."""
        asked, task = self.asked, self.asked.task
        dtype = np.dtype(np.float32) if asked.weights is None else asked.weights.dtype
        label = local_steps.class_of(record, task)
        nothing = np.zeros(task.hidden, dtype)
        if task.sees == "sums" and self.kind != "exchange":
            sums = kept_sums(self.received, task.collection, index)
            if sums is None or sums.columns.max(initial=-1) >= task.d:
                raise InvalidQuery("the neighbours' sums were not received")
            return Inputs(sums.indptr, sums.columns, sums.values.astype(dtype), sums.weights.astype(dtype), nothing,
                          nothing, label)  # fmt: skip
        columns, values = local_steps.scaled_record(record, task, dtype)
        indptr, one = np.array([0, len(columns)]), np.ones(1, dtype)
        if task.sees != "ego":
            variate = None if asked.control is None else read_variate(own, task, dtype)
            return Inputs(indptr, columns, values, one, nothing, nothing, label, variate)
        loop = dtype.type(1 / (1 + len(record.neighbours)))
        first, second = nothing, nothing
        if own is not None:
            first, second = (np.sqrt(loop) * part for part in read_neighbours(own, task.hidden, dtype))
        return Inputs(indptr, columns, loop * values, loop * one, first, second, label)

    def answers(self, joined: Sequence[_Joined], array: type[Array]) -> Iterator[Message]:
        """Compute and enter the answers of one or many devices; weights travel as ``array``."""
        asked, task = self.asked, self.asked.task
        stepping = task if asked.steps == task.steps else replace(task, steps=asked.steps)
        sent: Sequence[bytes | None] = [None] * len(joined)
        if asked.weights is None:
            sent = [pack_contribution(permit.record, task) for _, permit, _, _ in joined]
        else:
            stack = Stack([inputs for *_, inputs in joined], stepping)
            if task.sees == "ego" and self.kind != "evaluation":
                hidden = stack.hidden(asked.weights) + task.shape.parts(asked.weights)[1]
                sent = [
                    self._representation(permit.record, inputs, hidden[place], first_time=read_own(message) is None)
                    for place, (_, permit, message, inputs) in enumerate(joined)
                ]
        if self.kind == "exchange":
            for (device, permit, message, _), values in zip(joined, sent, strict=True):
                assert values is not None
                device.enter(task, "exchange", permit, len(values))
                yield exchange_reply(values, message, device=device.index)
            return
        assert asked.weights is not None
        if self.kind == "evaluation":
            best = stack.scores(asked.weights).argmax(axis=1)
            for place, (device, permit, message, inputs) in enumerate(joined):
                device.enter(task, "evaluation", permit, 1)
                yield evaluation_reply(int(best[place]) == inputs.label, message)
            return
        trained = stack.trained(asked.weights, mu=asked.mu, control=asked.control)
        for (device, permit, message, inputs), part, weights in zip(joined, sent, trained, strict=True):
            if task.noise is not None:
                noisy = task.noise.perturb(weights - asked.weights, permit.noise_key)
                weights = (asked.weights + noisy).astype(asked.weights.dtype)
            weights = usable(weights)
            if asked.control is not None and inputs.variate is not None:
                part = next_variate(inputs.variate, asked.control, asked.weights, weights, stepping).tobytes()
            device.enter(task, "update", permit, weights.nbytes + len(part or b""))
            yield wire.update_reply(weights, message, device=device.index, sent=part, kind=array)

    def _representation(self, record: Record, own: Inputs, hidden: FloatArray, *, first_time: bool) -> bytes:
        """Values for the neighbours: x W1 and the hidden units, both over the root of the degree plus one."""
        weights = self.asked.weights
        assert weights is not None
        root = np.sqrt(own.weights[0])  # own.weights is 1 / (degree + 1), and so is the scale of the own row
        b1 = self.asked.task.shape.parts(weights)[1]
        through = (hidden - b1 - own.first) / root
        listed = record.neighbours if first_time else None
        return pack_representation(through, root * np.maximum(hidden, 0), listed)


def keep_sums(received: Path, asked: Round, index: int) -> None:
    """Keep the sums that a device was sent; those of its oldest trainings make room under the quota.

    Raises:
        InvalidQuery: for other bytes, or more than the quota.
    """
    if asked.task.sees != "sums" or asked.own is None:
        raise InvalidQuery("there is nothing to keep")
    sums = Sums.from_bytes(asked.own)
    if sums.columns.max(initial=-1) >= asked.task.d:
        raise InvalidQuery("the sums are of another width")
    path = _place(received, asked.task.collection, index)
    others = sorted(set(received.glob(f"*/{path.name}")) - {path}, key=lambda file: file.stat().st_mtime_ns)
    room = QUOTA - len(asked.own) - sum(file.stat().st_size for file in others)
    while room < 0:
        room += others[0].stat().st_size
        others.pop(0).unlink()
    private_folder(received)
    private_folder(path.parent)
    write_atomically(path, asked.own, durable=False)
    kept_sums.cache_clear()


@lru_cache(maxsize=1 << 15)  # read every round, by every device of a fleet
def kept_sums(received: Path, collection: str, index: int) -> Sums | None:
    """Return the sums that a device was sent, None if it was sent none."""
    path = _place(received, collection, index)
    return Sums.from_bytes(path.read_bytes()) if path.is_file() else None


def _place(received: Path, collection: str, index: int) -> Path:
    # a digest, for a collection may be called ".."
    return received / hashlib.sha256(collection.encode()).hexdigest()[:32] / f"{index}.bin"
