"""Rounds of a federated training to and from Flower records.

A round's message carries what Flower's FedAvg sends: the weights in ``arrays`` and a
``config``, with the task in it. A control variate is in ``control``
(:mod:`ldpsim.devices.federated.local_steps`), arrays for one party alone in ``own``. Nothing else is
accepted. An update is one ``ArrayRecord`` of new weights and one ``MetricRecord``
with ``num-examples``, which is always 1 for a device: a training loss would be another release.
What a party sends for others is in ``others`` (:mod:`ldpsim.devices.federated.exchange`).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.network import LARGEST, are_usable
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import Task

WEIGHTS = "weights"
OTHERS = "others"
OWN = "own"
ATTEMPT = "attempt"
STEPS = "local-steps"
FLOATS = ("float32", "float64")


def record_of(**arrays: NDArray[Any]) -> ArrayRecord:
    """Return flat arrays by name as a record: the bytes that ``Array(array)`` has, made faster."""
    record = ArrayRecord()
    for name, array in arrays.items():
        kind = str(array.dtype)
        data = b"".join((_header(len(array), kind), np.ascontiguousarray(array).data))
        record[name] = Array(kind, (len(array),), "numpy.ndarray", data)  # a dict would be copied
    return record


def checked_record(what: str, record: object, **types: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the flat arrays of a record, read-only.

    Args:
        what: What the arrays are, a plural, for the error.
        record: An ``ArrayRecord`` of a stranger.
        types: The types that each array may have, by its name.

    Raises:
        InvalidQuery: for other arrays, or floats that :func:`ldpsim.devices.network.are_usable` does not allow.
    """
    if not isinstance(record, ArrayRecord) or set(record) != set(types):
        raise InvalidQuery(f"{what} are missing, or beside other arrays")
    arrays = {}
    for name, allowed in types.items():
        array = record[name]
        if array.dtype not in allowed or len(array.shape) != 1:
            raise InvalidQuery(f"{what} have another shape or type")
        # The bytes have a header of their own. numpy would take memory for the shape that it states.
        (size,), data = array.shape, array.data
        head = _header(size, array.dtype)
        if len(data) != len(head) + size * np.dtype(array.dtype).itemsize or not data.startswith(head):
            raise InvalidQuery(f"the bytes of {what} cannot be read")
        arrays[name] = np.frombuffer(data, array.dtype, size, len(head))
        if array.dtype in FLOATS and not are_usable(arrays[name]):
            raise InvalidQuery(f"{what} are too large, or no finite numbers")
    return arrays


@lru_cache
def _header(size: int, dtype: str) -> bytes:
    buffer = io.BytesIO()
    form = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (size,)}
    np.lib.format.write_array_header_1_0(buffer, form)
    return buffer.getvalue()


def weights_record(weights: FloatArray) -> ArrayRecord:
    """Return flat weights as a record."""
    return record_of(**{WEIGHTS: weights})


def read_weights(record: object, size: int) -> FloatArray:
    """Return the flat weights of a record; InvalidQuery for anything but one array of this size."""
    weights = checked_record("the weights", record, **{WEIGHTS: FLOATS})[WEIGHTS]
    if len(weights) != size:
        raise InvalidQuery("the weights have another shape or type")
    return weights


@dataclass(frozen=True, eq=False)
class Round:
    """One round, read from a message.

    Args:
        task: What is asked.
        number: Round of the training.
        attempt: Tells a round that is asked again apart from the question that some devices answered; 0 the first time.
        mu: Weight of FedProx's term.
        steps: Local steps of an answer, 1 .. the task's.
        weights: (size,), the global weights; None in messages that carry none.
        control: (size,), the server's control variate, or None.
        fingerprint: SHA-256 of all that every party of the round is told, except for the training's id.
        own: Arrays for this party alone, or None.
    """

    task: Task
    number: int
    attempt: int
    mu: float
    steps: int
    weights: FloatArray | None = field(repr=False)
    control: FloatArray | None = field(repr=False)
    fingerprint: bytes
    own: ArrayRecord | None = field(default=None, repr=False)

    def question(self) -> bytes:
        """Return the digest of all that this party is told, except for the training's id; the noise is bound to it."""
        if self.own is None:
            return self.fingerprint
        values = [part for name in sorted(self.own) for part in (name.encode(), self.own[name].data)]
        parts = [hashlib.sha256(part).digest() for part in values]
        return hashlib.sha256(b"".join((self.fingerprint, *parts))).digest()

    def for_party(self, record: object) -> Round:
        """Return the same round with what another party is told; InvalidQuery for something else than arrays."""
        if record is not None and not isinstance(record, ArrayRecord):
            raise InvalidQuery("the message holds something else than a round")
        return self if record is self.own is None else replace(self, own=record)


def round_content(
    arrays: ArrayRecord | None, config: ConfigRecord, own: ArrayRecord | None = None, control: ArrayRecord | None = None
) -> RecordDict:
    """Return a message's content; all records but ``own`` may be shared by all messages."""
    records = {"config": config, "arrays": arrays, OWN: own, "control": control}
    return RecordDict({name: record for name, record in records.items() if record is not None})


def read_round(content: RecordDict | None) -> Round:
    """Read a round from a message's content.

    Raises:
        InvalidQuery: for a message that carries anything else, or nothing.
    """
    if content is None:
        raise InvalidQuery("the message is empty")
    config, arrays, variate = (content.get(name) for name in ("config", "arrays", "control"))
    if set(content) - {"arrays", OWN, "control"} != {"config"} or not isinstance(config, ConfigRecord):
        raise InvalidQuery("the message holds something else than a round")
    data, number, attempt = config.get("task"), config.get("server-round", 0), config.get(ATTEMPT, 0)
    if set(config) - {"server-round", ATTEMPT, "proximal-mu", STEPS} != {"task"} or not isinstance(data, bytes):
        raise InvalidQuery("the message holds something else than a round")
    if type(number) is not int or type(attempt) is not int:
        raise InvalidQuery("the round is malformed")
    mu, task = config.get("proximal-mu", 0.0), Task.from_bytes(data)
    if not isinstance(mu, float) or not 0 <= mu <= LARGEST:
        raise InvalidQuery("the weight of the proximal term is malformed")
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
    asked = Round(task, number, attempt, mu, steps, weights, control, state.digest())
    return asked.for_party(content.get(OWN))


def round_reply(
    message: Message, *, weights: FloatArray | None = None, people: int | None = None, right: float | None = None,
    others: ArrayRecord | None = None,
) -> Message:  # fmt: skip
    """Return the reply to a round.

    Args:
        message: The message that is answered.
        weights: The new weights, of an update.
        people: Number of people trained on, or judged.
        right: How many of these have the class that the model gave, of an evaluation.
        others: Values for others.
    """
    content = RecordDict()
    if weights is not None:
        content["arrays"] = weights_record(weights)
    if people is not None:
        share = {} if right is None else {"accuracy": right / max(people, 1)}
        content["metrics"] = MetricRecord({"num-examples": people, **share})
    if others is not None:
        content[OTHERS] = others
    return Message(content, reply_to=message)
