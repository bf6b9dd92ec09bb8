"""A round of a federated training in the devices of a ledger, or in a silo: read, decide, compute, commit, answer.

:func:`answer_round` is the one way of every answer in a training, of one device or of many: the decisions, the ledger
rows and the weights are the same, to the last bit. The decision depends on the task, the ledger and the policy alone.

The number of the answer in the ledger is in the key of its noise: no two answers share any. A device keeps no updates,
so it cannot repeat one: a question that it answered under noise before, in this training or another, is refused.

A silo: a party of a federated training that is one Flower client, told by ``silo-dir`` in its node configuration.

It has no ledger: its members' hand-over is the release (:mod:`ldpsim.devices.raw_record`), and nothing that it sends
is under noise.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message, MessageType
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.data.population import records_of
from ldpsim.devices.data.records import Record, Records
from ldpsim.devices.device import Device, DeviceStore, Refusal
from ldpsim.devices.draw import data_messages
from ldpsim.devices.federated.attention import AttentionSilo
from ldpsim.devices.federated.exchange import keep_sums, kept_sums, read_neighbours, read_variate
from ldpsim.devices.federated.local_steps import Stack, next_variates, variate_size
from ldpsim.devices.federated.members import Members, contribution_of, inputs_of, stack_of
from ldpsim.devices.federated.messages import AnswerGroup, QuestionGroup, RoundQuestions
from ldpsim.devices.federated.updates import Updates
from ldpsim.devices.federated.wire import Round, read_round, record_of
from ldpsim.devices.ledger.ledger import CounterMismatch, Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import TrainingEnd, training_answers
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.network import usable
from ldpsim.devices.noise import derive_key
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import AnswerKind, Task
from ldpsim.devices.wire import EXCHANGE_TYPE, RECEIVE_TYPE, reply

# Messages of a training, and the answer that each wants; None: only keep the values that are sent.
TRAINING: dict[str, AnswerKind | None] = {
    MessageType.TRAIN: "update",
    MessageType.EVALUATE: "evaluation",
    EXCHANGE_TYPE: "exchange",
    RECEIVE_TYPE: None,
}


@dataclass(frozen=True, eq=False)
class DeviceInputs:
    """Data that some devices train on, the same in all rounds of a training.

    Args:
        records: Their records.
        digests: Keyed digest of the data that each one's answer depends on.
        stack: The inputs of their local steps; None in an exchange without weights.
    """

    records: Records
    digests: Sequence[bytes]
    stack: Stack | None


@dataclass(eq=False)
class KeptInputs:
    """The inputs of the devices of each ledger that answered last, by kind of the answer."""

    _kept: dict[tuple[int, str], tuple[object, DeviceInputs]] = field(default_factory=dict)

    def of(
        self, store: DeviceStore, devices: Sequence[int], request: Round, kind: AnswerKind, received: Path
    ) -> DeviceInputs:  # fmt: skip
        """Return the inputs of devices of one ledger, which may answer."""
        place = devices[0] // store.shard, kind
        dtype = None if request.weights is None else request.weights.dtype
        key = request.task, dtype, tuple(devices)
        kept = self._kept.get(place)
        if kept is None or kept[0] != key:
            kept = self._kept[place] = key, _inputs(store, devices, request.task, kind, dtype, received)
        return kept[1]

    def forget(self) -> None:
        """Forget all inputs: devices were sent others."""
        self._kept.clear()


def _inputs(
    store: DeviceStore, devices: Sequence[int], task: Task, kind: AnswerKind, dtype: np.dtype[Any] | None,
    received: Path,
) -> DeviceInputs:  # fmt: skip
    records = records_of(store.population, devices)
    secrets = [secret.tobytes() for secret in store.secrets[list(devices)]]
    columns = [data_messages(records, name) for name in task.scope(kind)]
    each = zip(secrets, zip(*columns, strict=True), strict=True)
    digests = [b"".join(hmac.digest(secret, data, "sha256") for data in own) for secret, own in each]
    if dtype is None:
        return DeviceInputs(records, digests, None)
    if task.sees != "sums":
        return DeviceInputs(records, digests, stack_of(records, task, dtype))
    sums = [kept_sums(received, task, device) for device in devices]
    inputs = [inputs_of(int(label), task, dtype, own) for label, own in zip(records.labels, sums, strict=True) if own]
    return DeviceInputs(records, digests, Stack.of(inputs, task))


def answer_round(
    store: DeviceStore, devices: Sequence[int], group: QuestionGroup, received: Path, kept: KeptInputs
) -> list[AnswerGroup]:  # fmt: skip
    """Answer the questions of one round; the answers are committed when this returns, and may leave.

    Args:
        store: The devices' folder, enrolled to train.
        devices: Public numbers, in rising order, of one ledger.
        group: The questions to their nodes, in the same order.
        received: Folder in which the devices keep values that they are sent.
        kept: Inputs of earlier rounds.
    """
    batch = _Batch(store, devices, group, received, kept)
    try:
        ledger = store.ledger(devices[0])
        with ledger.transaction(batch.here):
            answered = batch.answered(ledger)
    except CounterMismatch as error:  # it is committed, but nothing of these devices may leave
        return [_without(answered, batch.nodes, error.devices)]
    except (LedgerDamaged, OSError):
        return [AnswerGroup(group, refused=dict.fromkeys(group.nodes, Refusal.LEDGER_DAMAGED))]
    except Exception:
        # A malformed message. Nothing was committed, so each is answered alone: that one is refused.
        if len(devices) > 1:
            alone = ((device, group.among([node])) for device, node in batch.nodes.items())
            return [one for device, own in alone for one in answer_round(store, [device], own, received, kept)]
        return [AnswerGroup(group, refused={group.nodes[0]: Device(devices[0], store).refuse(Refusal.UNKNOWN_QUERY)})]
    return [answered]


def _without(answered: AnswerGroup, nodes: Mapping[int, int], lost: frozenset[int]) -> AnswerGroup:
    """Return the answers without those of some devices, which get ``COUNTER_MISMATCH``."""
    gone = {node for device, node in nodes.items() if device in lost}
    refused = {**answered.refused, **dict.fromkeys(sorted(gone), Refusal.COUNTER_MISMATCH)}
    return answered.among([place for place, node in enumerate(answered.nodes) if node not in gone], refused)


class _Batch:
    """Devices of one ledger that are asked the same; the arguments are those of :func:`answer_round`."""

    def __init__(
        self, store: DeviceStore, devices: Sequence[int], group: QuestionGroup, received: Path, kept: KeptInputs
    ) -> None:  # fmt: skip
        self.store, self.group, self.received, self.kept = store, group, received, kept
        self.kind = TRAINING[group.kind]
        self.nodes = dict(zip(devices, group.nodes, strict=True))
        self.here = [device for device in devices if device in store.lives_here]
        self.refused = {device: Refusal.LEDGER_DAMAGED for device in devices if device not in store.lives_here}
        self.asked: dict[int, Round] = {}  # by device that is told something of its own

    def answered(self, ledger: Ledger) -> AnswerGroup:
        """Read, decide, compute and enter; in a transaction of the devices' ledger."""
        keys = self.store.seal_keys(self.here)
        ends = ledger.training_ends(keys)
        try:
            request = read_round(self.group.content)
            task = _checked(request, self.kind, silo=False)
        except InvalidQuery:
            self._refuse(ends, Refusal.UNKNOWN_QUERY)
            return self._answers([])
        if self.kind is None:
            return self._received(ends, request)
        permitted = self._decided(ends, request, self.kind)
        if not permitted:
            return self._answers([])
        devices = list(permitted)
        inputs = self.kept.of(self.store, devices, request, self.kind, self.received)
        columns = self._computed(ledger, inputs, permitted, request, self.kind)
        questions = [self._asked(device, request).question() for device in devices]
        loss = task.loss(self.kind)
        rows = training_answers(
            permitted, collection=task.collection, kind=self.kind, scope=task.scope(self.kind), fingerprints=questions,
            loss=loss, digests=inputs.digests, sizes=_sizes(columns, len(devices)),
        )  # fmt: skip
        ledger.enter_round(rows, permitted, keys, questions=questions, loss=loss)
        return self._answers(devices, **columns)

    def _answers(self, devices: Sequence[int], **columns: Any) -> AnswerGroup:
        refused = {self.nodes[device]: refusal for device, refusal in self.refused.items()}
        return AnswerGroup(self.group, [self.nodes[device] for device in devices], refused=refused, **columns)

    def _refuse(self, ends: Mapping[int, TrainingEnd | LedgerDamaged], refusal: Refusal) -> None:
        """Refuse everybody; a damaged ledger gives the same answer to everything."""
        self.refused |= {d: Refusal.of(end) if isinstance(end, LedgerDamaged) else refusal for d, end in ends.items()}

    def _asked(self, device: int, request: Round) -> Round:
        return self.asked.get(device, request)

    def _received(self, ends: Mapping[int, TrainingEnd | LedgerDamaged], request: Round) -> AnswerGroup:
        """Keep the values that the devices are sent: nothing is released by it."""
        if not self.store.policy.allows_round(request.task, "update", Loss(0.0, 0.0)):
            self._refuse(ends, Refusal.POLICY_REFUSED)
            return self._answers([])
        self.kept.forget()
        devices = []
        for device in ends:
            try:
                own = request.for_party(self.group.own.get(self.nodes[device])).own
                keep_sums(self.received, request.task, device, own)
                devices.append(device)
            except InvalidQuery:
                self._refuse({device: ends[device]}, Refusal.UNKNOWN_QUERY)
        return self._answers(devices, others=[ArrayRecord()] * len(devices))

    def _decided(
        self, ends: Mapping[int, TrainingEnd | LedgerDamaged], request: Round, kind: AnswerKind
    ) -> dict[int, TrainingEnd]:
        """Return the devices that answer, with the ends of their chains; the others are refused."""
        task, noisy = request.task, request.task.adds_noise(kind)
        allowed: dict[Loss, bool] = {}
        permitted: dict[int, TrainingEnd] = {}
        for device, end in ends.items():
            if isinstance(end, LedgerDamaged):
                self.refused[device] = Refusal.of(end)
                continue
            if end.spent not in allowed:
                allowed[end.spent] = self.store.policy.allows_round(task, kind, end.spent)
            try:
                if self.group.own and (own := self.group.own.get(self.nodes[device])) is not None:
                    self.asked[device] = _checked_own(request.for_party(own), kind)
                if not allowed[end.spent]:
                    self.refused[device] = Refusal.POLICY_REFUSED
                elif noisy and end.answered(kind, self._asked(device, request).question()):
                    self.refused[device] = Refusal.REPORT_COLLECTED
                else:
                    if request.weights is not None and task.sees == "sums":
                        _kept_sums(self.received, task, device)
                    permitted[device] = end
            except InvalidQuery:
                self.refused[device] = Refusal.UNKNOWN_QUERY
        return permitted

    def _computed(
        self,
        ledger: Ledger,
        inputs: DeviceInputs,
        permitted: Mapping[int, TrainingEnd],
        request: Round,
        kind: AnswerKind,
    ) -> dict[str, Any]:
        """Return the answers by column."""
        task, devices, stack = request.task, list(permitted), inputs.stack
        if stack is not None and request.weights is not None:
            stack = self._with_received(stack, devices, request)
        noise_keys = []
        if task.adds_noise(kind):
            for (device, end), digest in zip(permitted.items(), inputs.digests, strict=True):
                question, nonce = self._asked(device, request).question(), ledger.nonce(device)
                parts = [b"training noise", kind.encode(), question, end.head.answers.to_bytes(8, "little"), digest]
                noise_keys.append(
                    derive_key(self.store.secrets[device].tobytes(), *parts, *([nonce] if nonce else []))
                )  # fmt: skip
        lists = [self._asked(device, request).own is None for device in devices]
        return _computed(request, kind, inputs.records, stack, lists=lists, noise_keys=noise_keys)

    def _with_received(self, stack: Stack, devices: Sequence[int], request: Round) -> Stack:
        """Return the stack with the values that the devices' neighbours, or the server, sent with this round."""
        task, own = request.task, [self._asked(device, request).own for device in devices]
        assert request.weights is not None
        dtype = request.weights.dtype
        if request.control is not None:
            nothing = np.zeros(variate_size(task), dtype)
            variates = [nothing if record is None else read_variate(record, task, str(dtype)) for record in own]
            return stack.with_received(None, np.stack(variates))
        if not self.asked:
            return stack
        none = np.zeros(task.hidden, dtype)
        sums = [(none, none) if record is None else read_neighbours(record, task, str(dtype)) for record in own]
        roots = np.sqrt(stack.spread.data)[:, None]
        first, second = (roots * np.stack(parts) for parts in zip(*sums, strict=True))
        return stack.with_received((first, second), None)


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
    _checked_own(request, kind)
    return task


def _checked_own(request: Round, kind: AnswerKind | None) -> Round:
    """Return a round whose arrays for one party, if there are any, can be used and read."""
    task, own = request.task, request.own
    if own is None or kind is None:
        return request
    if request.control is None and task.sees != "ego":
        raise InvalidQuery("the values for this party have no use")
    if request.weights is not None:
        read = read_neighbours if request.control is None else read_variate
        read(own, task, str(request.weights.dtype))
    return request


def _kept_sums(received: Path, task: Task, index: int) -> Any:
    sums = kept_sums(received, task, index)
    if sums is None:
        raise InvalidQuery("the neighbours' sums were not received")
    return sums


def _sizes(columns: Mapping[str, Any], count: int) -> list[int]:
    """Return the bytes of each answer that its row states: of weights and of values for others; 1 for an evaluation."""
    if "right" in columns:
        return [1] * count
    updates, others = columns.get("updates"), columns.get("others")
    size = 0 if updates is None else updates.size * updates.dtype.itemsize
    return [size + record.count_bytes() for record in others] if others else [size] * count


def _computed(
    request: Round, kind: AnswerKind, parties: Sequence[Record | Members], stack: Stack | AttentionSilo | None, *,
    lists: Sequence[bool] = (), noise_keys: Sequence[bytes] = (), index: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Return the answers of parties by column (:class:`ldpsim.devices.federated.messages.AnswerGroup`).

    Args:
        request: The round.
        kind: The answer that is wanted.
        parties: Their records.
        stack: Their inputs; None in an exchange without weights.
        lists: Whether each party lists its neighbours: it was sent nothing yet.
        noise_keys: Key of each one's noise; empty: there is none.
        index: Number of the first party, which seeds the dropout of a silo.
    """
    task, weights = request.task, request.weights
    if weights is None or stack is None:
        return {"others": [contribution_of(party, task) for party in parties]}
    columns: dict[str, Any] = {}
    if isinstance(stack, Stack) and task.sees == "ego" and kind != "evaluation":
        columns["others"] = _representations(stack, weights, parties, lists)
    if kind == "exchange":
        return columns
    columns["people"] = np.full(len(parties), stack.labels.shape[1])
    if kind == "evaluation":
        right: NDArray[np.bool_] = stack.scores(weights).argmax(axis=2) == stack.labels
        return {**columns, "right": right.sum(axis=1)}
    seed = () if task.seed is None else (task.seed, index, request.number)
    updates = stack.trained(weights, mu=request.mu, steps=request.steps, control=request.control, seed=seed)
    if noise_keys and task.noise is not None:
        noisy = np.empty((len(updates), len(weights)), weights.dtype)
        for place, (row, key) in enumerate(zip(updates, noise_keys, strict=True)):
            noisy[place] = weights + task.noise.perturb(row - weights, key)
        updates = Updates.whole(noisy)
    columns["updates"] = updates = updates.usable()
    if request.control is not None and stack.variates is not None:
        reach = request.steps * task.lr
        variates = next_variates(stack.variates, request.control, weights, updates, reach)
        columns["others"] = [record_of(variate=variate) for variate in variates]
    return columns


def _representations(
    stack: Stack, weights: FloatArray, parties: Sequence[Record | Members], lists: Sequence[bool]
) -> list[ArrayRecord]:
    """Values for the neighbours: x W1 and the hidden units, both over the root of the degree plus one."""
    b1 = stack.task.shape.parts(weights)[1]
    hidden = stack.hidden(weights) + b1
    # That weight is 1 / (degree + 1), and so is the scale of the own row.
    root = np.sqrt(stack.spread.data)[:, None]
    through = hidden - b1 - stack.first
    values = usable(np.concatenate([through / root, root * np.maximum(hidden, 0)], axis=1))
    each = zip(values, parties, lists, strict=True)
    return [record_of(values=own, **({"neighbours": party.neighbours} if tells else {})) for own, party, tells in each]


def answer_as_silo(folder: Path, message: Message, kind: AnswerKind | None) -> Message:
    """Answer one message for the silo of a folder, ``silo-<number>``. A malformed message gets ``UNKNOWN_QUERY``."""
    try:
        (group,) = RoundQuestions.of([message]).groups
        request = read_round(message.content if message.has_content() else None)
        task, index = _checked(request, kind, silo=True), int(folder.name.rpartition("-")[2])
        if kind is None:
            keep_sums(folder, task, index, request.own)
            return AnswerGroup(group, group.nodes, others=[ArrayRecord()]).message(0)
        members, stack = _members(str(folder), os.getpid()), None
        if request.weights is not None:
            sums = _kept_sums(folder, task, index) if task.sees == "sums" else None
            stack = members.stack(task, sums, training=kind == "update")
        return AnswerGroup(group, group.nodes, **_computed(request, kind, [members], stack, index=index)).message(0)
    except Exception:  # Flower would send the text of an exception to the server
        return reply(Refusal.UNKNOWN_QUERY, message, device=-1)


@lru_cache(maxsize=256)
def _members(folder: str, process: int) -> Members:
    return Members.load(Path(folder))
