"""Rounds of a federated training to and from Flower records.

A round's message carries what Flower's FedAvg sends: the weights in ``arrays`` and a
``config``, with the task in it. A control variate is in ``control``
(:mod:`ldpsim.devices.federated.control_variate`), bytes for one device alone in ``own``. Nothing else is
accepted. An update is one ``ArrayRecord`` of new weights and one ``MetricRecord``
with ``num-examples``, which is always 1 for a device: a training loss would be another release.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.network import LARGEST, are_usable
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import Task

EXCHANGE_TYPE = "query.exchange"
RECEIVE_TYPE = "query.receive"
WEIGHTS = "weights"
ATTEMPT = "attempt"
STEPS = "local-steps"
_STYPE = "numpy.ndarray"
_DTYPES = ("float32", "float64")


@dataclass(frozen=True, eq=False)
class Round:
    """One round, read from a message.

    Args:
        task: What is asked.
        number: Round of the training, for people.
        attempt: Tells a round that is asked again apart from the question that some devices answered; 0 the first time.
        mu: Weight of FedProx's term.
        steps: Local steps of an answer, 1 .. the task's.
        weights: (size,), the global weights; None in messages that carry none.
        fingerprint: SHA-256 of all that every device of the round is told, except for the training's id.
        own: Bytes for this device alone, or None.
        control: (size,), the server's control variate, or None.
    """

    task: Task
    number: int
    attempt: int
    mu: float
    steps: int
    weights: FloatArray | None = field(repr=False)
    fingerprint: bytes
    own: bytes | None = field(default=None, repr=False)
    control: FloatArray | None = field(default=None, repr=False)

    def question(self) -> bytes:
        """Return the digest of all that this device is told, except for the training's id; the noise is bound to it."""
        return self.fingerprint if self.own is None else hashlib.sha256(self.fingerprint + self.own).digest()

    def for_device(self, own: bytes | None) -> Round:
        """Return the same round with what another device is told."""
        return self if own == self.own else replace(self, own=own)


def round_content(
    arrays: ArrayRecord | None, config: ConfigRecord, own: bytes | None = None, control: ArrayRecord | None = None
) -> RecordDict:
    """Return a message's content; ``arrays``, ``config`` and ``control`` may be shared by all messages.

    No ``own`` (None) and an empty one (``b""``) differ: the second is a record without an
    entry, because Flower counts the bytes of no ``b""``.
    """
    content = RecordDict({"config": config})
    if arrays is not None:
        content["arrays"] = arrays
    if own is not None:
        content["own"] = ConfigRecord({"own": own} if own else {})
    if control is not None:
        content["control"] = control
    return content


def common(message: Message) -> tuple[int, ...]:
    """Return the identity of the records that messages share: messages of one key are one round."""
    return tuple(id(message.content.get(name)) for name in ("arrays", "config", "control"))


def read_round(message: Message) -> Round:
    """Read a round.

    Raises:
        InvalidQuery: for a message that carries anything else, or nothing.
    """
    if not message.has_content():
        raise InvalidQuery("the message is empty")
    content = message.content
    config, arrays, variate = (content.get(name) for name in ("config", "arrays", "control"))
    if set(content) - {"arrays", "own", "control"} != {"config"} or not isinstance(config, ConfigRecord):
        raise InvalidQuery("the message holds something else than a round")
    data, number, attempt = config.get("task"), config.get("server-round", 0), config.get(ATTEMPT, 0)
    if set(config) - {"server-round", ATTEMPT, "proximal-mu", STEPS} != {"task"} or not isinstance(data, bytes):
        raise InvalidQuery("the message holds something else than a round")
    if type(number) is not int or type(attempt) is not int:
        raise InvalidQuery("the round is malformed")
    mu, task = read_mu(config), Task.from_bytes(data)
    steps = config.get(STEPS, task.steps)
    if type(steps) is not int or not 1 <= steps <= task.steps:
        raise InvalidQuery("the number of local steps is malformed")
    weights = None if arrays is None else read_weights(arrays, task.shape.size)
    state = hashlib.sha256(task.question_bytes() + np.array([number, attempt, mu], "<f8").tobytes())
    if weights is not None:
        state.update(weights.dtype.str.encode() + weights.tobytes())
    if STEPS in config:
        state.update(b"steps" + steps.to_bytes(8, "little"))
    control = None if variate is None else read_weights(variate, task.shape.size)
    if control is not None:
        if weights is None or control.dtype != weights.dtype:
            raise InvalidQuery("the control variate is malformed")
        state.update(b"control" + control.tobytes())
    return Round(task, number, attempt, mu, steps, weights, state.digest(), read_own(message), control)


def read_mu(config: ConfigRecord) -> float:
    """Return the weight of FedProx's term, 0 where none is sent.

    Raises:
        InvalidQuery: for anything but a float of 0 to :data:`ldpsim.devices.network.LARGEST`.
    """
    mu = config.get("proximal-mu", 0.0)
    if not isinstance(mu, float) or not 0 <= mu <= LARGEST:
        raise InvalidQuery("the weight of the proximal term is malformed")
    return mu


def read_own(message: Message) -> bytes | None:
    """Return the bytes of a message for its device alone, None if it has none.

    Raises:
        InvalidQuery: for something else in its place.
    """
    record = message.content.get("own")
    if record is None:
        return None
    if not isinstance(record, ConfigRecord) or set(record) - {"own"}:
        raise InvalidQuery("the message holds something else than a round")
    own = record.get("own", b"")
    if not isinstance(own, bytes):
        raise InvalidQuery("the message holds something else than a round")
    return own


def read_weights(record: object, size: int) -> FloatArray:
    """Return the flat weights of an ``ArrayRecord``.

    Raises:
        InvalidQuery: for anything but one array of this size of floats that :func:`ldpsim.devices.network.are_usable`
        allows.
    """
    if not isinstance(record, ArrayRecord) or set(record) != {WEIGHTS}:
        raise InvalidQuery("there are no weights, or other arrays beside them")
    array = record[WEIGHTS]
    if array.dtype not in _DTYPES or tuple(array.shape) != (size,):
        raise InvalidQuery("the weights have another shape or type")
    # The bytes have a header of their own. numpy would take memory for the shape that it states.
    head, data = _header(size, array.dtype), array.data
    if len(data) != len(head) + size * np.dtype(array.dtype).itemsize or data[: len(head)] != head:
        raise InvalidQuery("the bytes of the weights cannot be read")
    weights: FloatArray = np.frombuffer(data, array.dtype, size, len(head))
    if not are_usable(weights):
        raise InvalidQuery("the weights are too large, or no finite numbers")
    return weights


class FlatArray(Array):
    """An ``Array`` whose header need not be parsed again (0.1 ms each).

    Only between a fleet and its Grid: Flower's own runtime knows an object by its class's name.
    """

    def numpy(self) -> FloatArray:
        """Return the weights, read-only."""
        count = self.shape[0]
        kind = np.dtype(self.dtype)
        return np.frombuffer(self.data, kind, count, len(self.data) - count * kind.itemsize)


def weights_record(weights: FloatArray, kind: type[Array] = Array) -> ArrayRecord:
    """Return flat weights as a record: the bytes that ``Array(weights)`` has, made faster."""
    data = b"".join((_header(len(weights), str(weights.dtype)), weights.data.cast("B")))  # copied once
    record = ArrayRecord()
    record[WEIGHTS] = kind(str(weights.dtype), (len(weights),), _STYPE, data)  # a dict would be copied
    return record


@lru_cache
def _header(size: int, dtype: str) -> bytes:
    buffer = io.BytesIO()
    form = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (size,)}
    np.lib.format.write_array_header_1_0(buffer, form)
    return buffer.getvalue()


def update_reply(
    weights: FloatArray, message: Message, *, device: int, examples: int = 1, sent: bytes | None = None,
    kind: type[Array] = Array,
) -> Message:  # fmt: skip
    """Return the reply with new weights, the number of people trained on, and values for others."""
    metrics = MetricRecord({"num-examples": examples})
    content = RecordDict({"arrays": weights_record(weights, kind), "metrics": metrics})
    if sent is not None:
        content["who"] = ConfigRecord({"device": device, "sent": sent})
    return Message(content, reply_to=message)


def evaluation_reply(correct: int, message: Message, *, members: int = 1) -> Message:
    """Return the reply with the share of people whose class the model gave."""
    metrics = MetricRecord({"num-examples": members, "accuracy": correct / max(members, 1)})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)


def exchange_reply(sent: bytes, message: Message, *, device: int) -> Message:
    """Return the reply that carries something for others."""
    who = ConfigRecord({"device": device, "sent": sent} if sent else {"device": device})  # Flower counts no b""
    return Message(RecordDict({"who": who}), reply_to=message)


def read_sender(message: Message) -> tuple[int, bytes | None] | None:
    """Return the device and the values for others that a reply states; None for another reply."""
    record = message.content.get("who") if message.has_content() else None
    if not isinstance(record, ConfigRecord):
        return None
    device, sent = record.get("device"), record.get("sent")
    if set(record) - {"device", "sent"} or type(device) is not int or not (sent is None or isinstance(sent, bytes)):
        return None
    return device, sent
