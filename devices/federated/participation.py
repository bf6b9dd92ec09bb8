"""A party's part in a federated training: permission, computation, ledger, reply.

One device alone, the devices of a fleet and a silo all answer in :func:`answer_round`: the decisions, the ledger rows
and the weights are the same, to the last bit. The decision depends on the task, the ledger and the policy alone.

A silo: a party of a federated training that is one Flower client, told by ``silo-dir`` in its node configuration.

It has no ledger: its members' hand-over is the release (:mod:`ldpsim.devices.raw_record`), and nothing that it sends
is under noise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from flwr.app import ArrayRecord, Message, MessageType

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.device import Device, Refusal
from ldpsim.devices.federated import wire
from ldpsim.devices.federated.exchange import keep_sums, kept_sums, read_neighbours, read_variate
from ldpsim.devices.federated.local_steps import Inputs, Stack, next_variate, variate_size
from ldpsim.devices.federated.members import Members, contribution_of, inputs_of
from ldpsim.devices.federated.wire import Round, read_round, record_of, round_reply
from ldpsim.devices.network import usable
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import AnswerKind, Task
from ldpsim.devices.wire import reply

# Messages of a training, and the answer that each wants; None: only keep the values that are sent.
TRAINING: dict[str, AnswerKind | None] = {
    MessageType.TRAIN: "update",
    MessageType.EVALUATE: "evaluation",
    wire.EXCHANGE_TYPE: "exchange",
    wire.RECEIVE_TYPE: None,
}


class _Joined(NamedTuple):
    party: Device | Silo
    permit: Any
    message: Message
    request: Round
    inputs: Inputs | None


def answer_round(
    parties: Sequence[tuple[Device | Silo, Message]], kind: AnswerKind | None, received: Path
) -> Iterator[Message]:
    """Answer the messages of one round; inside a transaction of the parties' ledger, where they have one.

    Args:
        parties: Each party with its message; the messages share all records but ``own``.
        kind: The answer that is wanted; None: only keep the values that are sent.
        received: Folder in which the parties keep values that they are sent.
    """
    joined: list[_Joined] = []
    first: Round | None = None
    for party, message in parties:
        try:
            first = request = read_round(message) if first is None else first.for_party(message)
            task = _checked(request, kind, silo=not isinstance(party, Device))
            if kind is None:
                answer = None if party.takes_part(task) else party.refuse(Refusal.POLICY_REFUSED)
                if answer is None:
                    keep_sums(received, task, party.index, request.own)
                    yield round_reply(message, others=ArrayRecord())
                    continue
            else:
                permit = party.join(task, kind, request.question())
                if not isinstance(permit, Refusal):
                    inputs = _inputs(permit.record, request, kind, received, party.index)
                    joined.append(_Joined(party, permit, message, request, inputs))
                    continue
                answer = permit
        except InvalidQuery:
            answer = party.refuse(Refusal.UNKNOWN_QUERY)
        yield reply(answer, message, device=party.index)
    if joined and kind is not None:
        yield from _computed(joined, kind)


def _checked(request: Round, kind: AnswerKind | None, *, silo: bool) -> Task:
    """Return the task of a round whose parts go together."""
    task = request.task
    if task.of_silos != silo:
        raise InvalidQuery("the task is one of other parties")
    if (request.weights is None) != (kind is None or (kind == "exchange" and task.sees == "sums")):
        raise InvalidQuery("weights are missing, or too many")
    plain = kind == "update" and task.sees == "own" and task.noise is None and not silo
    if request.control is not None and not plain:
        raise InvalidQuery("a control variate goes with an update in clear, from a device's own features")
    if kind == "exchange" and task.sees == "own":
        raise InvalidQuery("parties that see their own features have nothing to exchange")
    if request.own is not None and not (kind is None or request.control is not None or task.sees == "ego"):
        raise InvalidQuery("the values for this party have no use")
    return task


def _inputs(record: Record | Members, request: Round, kind: AnswerKind, received: Path, index: int) -> Inputs | None:
    """Return what a party trains on, None in an exchange without weights; InvalidQuery where values were not sent."""
    task = request.task
    if request.weights is None:
        return None
    sums = kept_sums(received, task, index) if task.sees == "sums" else None
    if task.sees == "sums" and sums is None:
        raise InvalidQuery("the neighbours' sums were not received")
    if isinstance(record, Members):
        return record.inputs(task, sums, training=kind == "update")
    dtype = request.weights.dtype
    inputs = inputs_of(record, task, dtype, sums)
    if request.control is not None:
        nothing = np.zeros(variate_size(task), dtype)
        return replace(inputs, variate=nothing if request.own is None else read_variate(request.own, task, str(dtype)))
    if request.own is not None:
        root = np.sqrt(inputs.spread.values[0])
        first, second = (root * part for part in read_neighbours(request.own, task, str(dtype)))
        return replace(inputs, first=first, second=second)
    return inputs


def _computed(joined: Sequence[_Joined], kind: AnswerKind) -> Iterator[Message]:
    """Compute and enter the answers of one or many parties."""
    request = joined[0].request
    task, weights = request.task, request.weights
    if weights is None:
        for one in joined:
            yield _exchanged(one, contribution_of(one.permit.record, task))
        return
    stepping = task if request.steps == task.steps else replace(task, steps=request.steps)
    stack = Stack([one.inputs for one in joined if one.inputs is not None], stepping)
    others: list[ArrayRecord | None] = [None] * len(joined)
    if task.sees == "ego" and kind != "evaluation":
        hidden, b1 = stack.hidden(weights), task.shape.parts(weights)[1]
        others = [_representation(one, row + b1, b1) for one, row in zip(joined, hidden, strict=True)]
    if kind == "exchange":
        for one, values in zip(joined, others, strict=True):
            yield _exchanged(one, values or ArrayRecord())
        return
    people = stack.labels.shape[1]
    if kind == "evaluation":
        right = (stack.scores(weights).argmax(axis=2) == stack.labels).sum(axis=1).tolist()
        for one, count in zip(joined, right, strict=True):
            one.party.enter(task, kind, one.permit, 1)
            yield round_reply(one.message, people=people, right=count)
        return
    seed = () if task.seed is None else (task.seed, joined[0].party.index, request.number)
    trained = stack.trained(weights, mu=request.mu, control=request.control, seed=seed)
    for one, values, inputs, after in zip(joined, others, stack.inputs, trained, strict=True):
        if task.noise is not None:
            noisy = task.noise.perturb(after - weights, one.permit.noise_key)
            after = (weights + noisy).astype(weights.dtype)
        after = usable(after.astype(weights.dtype, copy=False))
        if request.control is not None and inputs.variate is not None:
            values = record_of(variate=next_variate(inputs.variate, request.control, weights, after, stepping))
        one.party.enter(task, kind, one.permit, after.nbytes + (values.count_bytes() if values is not None else 0))
        yield round_reply(one.message, weights=after, people=people, others=values)


def _exchanged(one: _Joined, values: ArrayRecord) -> Message:
    """Enter values for others and return the reply with them."""
    one.party.enter(one.request.task, "exchange", one.permit, values.count_bytes())
    return round_reply(one.message, others=values)


def _representation(one: _Joined, hidden: FloatArray, b1: FloatArray) -> ArrayRecord:
    """Values for the neighbours: x W1 and the hidden units, both over the root of the degree plus one.

    Args:
        one: The device; it lists its neighbours where it was sent nothing yet.
        hidden: Its hidden units before the activation, (hidden,).
        b1: The global bias.
    """
    inputs, record = one.inputs, one.permit.record
    assert inputs is not None and isinstance(record, Record)
    root = np.sqrt(inputs.spread.values[0])  # that weight is 1 / (degree + 1), and so is the scale of the own row
    through = hidden - b1 if inputs.first is None else hidden - b1 - inputs.first
    values = usable(np.concatenate([through / root, root * np.maximum(hidden, 0)]))
    return record_of(values=values, **({} if one.request.own is not None else {"neighbours": record.neighbours}))


class Silo:
    """The silo of a folder, as a party that permits every round to itself.

    Args:
        folder: Its folder, ``silo-<number>``.
    """

    noise_key = b""

    def __init__(self, folder: Path) -> None:
        self.index = int(folder.name.rpartition("-")[2])
        self.record = _members(str(folder), os.getpid())

    def takes_part(self, task: Task) -> bool:
        """Return True."""
        return True

    def join(self, task: Task, kind: AnswerKind, question: bytes) -> Silo:
        """Return the permit, which is the silo itself."""
        return self

    def enter(self, task: Task, kind: AnswerKind, permit: object, size: int) -> None:
        """Enter nothing."""

    def refuse(self, refusal: Refusal) -> Refusal:
        """Answer a message that is refused."""
        return refusal


def answer_as_silo(folder: Path, message: Message, kind: AnswerKind | None) -> Message:
    """Answer one message for the silo of a folder. A malformed message gets ``UNKNOWN_QUERY``."""
    try:
        (answer,) = answer_round([(Silo(folder), message)], kind, folder)
        return answer
    except Exception:  # Flower would send the text of an exception to the server
        return reply(Refusal.UNKNOWN_QUERY, message, device=-1)


@lru_cache(maxsize=256)
def _members(folder: str, process: int) -> Members:
    return Members.load(Path(folder))
