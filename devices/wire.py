"""Queries and reports to and from Flower records.

A query is one ``bytes`` value; a report is one ``bytes`` value, the device's public
number and whether it is a replay. Nothing else is accepted: a record that carries more
is not a query.

A node that hosts a whole shard of devices takes one message for many of them: the query
once, and their public numbers (int64, little-endian). The reply holds all reports joined,
where each one ends (int64), and one status byte for each device: 0 for a report, 1 for a
replay, else the refusal's code less 4000, plus 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, MessageType, MetricRecord, RecordDict
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.curator_key import SignedTerms
from ldpsim.devices.device import Refusal
from ldpsim.devices.query import InvalidQuery, Query
from ldpsim.devices.report import Report, most_bytes

QUERY_TYPE = "query.report"
REPORTS_TYPE = "query.reports"
WHOAMI_TYPE = "query.whoami"
EXCHANGE_TYPE = "query.exchange"  # of a training, as Flower's own types are
RECEIVE_TYPE = "query.receive"
REASONS = {
    Refusal.UNKNOWN_QUERY: "the device does not know this question",
    Refusal.MODE_REFUSED: "the device is enrolled in another mode",
    Refusal.POLICY_REFUSED: "the question is outside the device's policy",
    Refusal.REPORT_COLLECTED: "the device has given its report",
    Refusal.LEDGER_DAMAGED: "the device cannot read its ledger and answers nothing",
    Refusal.COUNTER_MISMATCH: "the device's counter and its ledger differ, and it answers nothing",
    Refusal.COLLECTOR_REFUSED: "the device's collector signed no such question",
    Refusal.VAULT_BUSY: "the device's vault has too much to do; the same question may be asked again",
}
TEXTS = {refusal: f"{refusal.name}: {reason}" for refusal, reason in REASONS.items()}
_CODES = {refusal.value: refusal for refusal in Refusal}
_FIRST_CODE = min(_CODES) - 1


def is_of_training(kind: str) -> bool:
    """Return whether a message of this type is one of a federated training.

    >>> [is_of_training(kind) for kind in ("train.fit", "evaluate", EXCHANGE_TYPE, QUERY_TYPE, "training")]
    [True, True, True, False, False]
    """
    flower = (MessageType.TRAIN, MessageType.EVALUATE)
    return kind in (EXCHANGE_TYPE, RECEIVE_TYPE) or kind.partition(".")[0] in flower


def query_content(query: Query, terms: SignedTerms | None = None) -> RecordDict:
    """Return the content of a query message, with its collection's terms; one may be shared by all messages."""
    data = query.to_bytes()
    return RecordDict({"query": ConfigRecord({"query": data if terms is None else terms.ask(data)})})


def payload_bytes(content: RecordDict) -> int:
    """Size of a message's payload: names and values as encoded, without Flower's framing."""
    return sum(len(name) + _record_bytes(record) for name, record in content.items())


def _record_bytes(record: ArrayRecord | MetricRecord | ConfigRecord) -> int:
    if not isinstance(record, ConfigRecord):
        return record.count_bytes()
    # As Flower counts it, which raises for an empty text or list: a device may send one.
    values = {name: value if isinstance(value, list) else [value] for name, value in record.items()}
    return sum(len(name) + sum(map(_value_bytes, each)) for name, each in values.items())


def _value_bytes(value: bool | float | str | bytes) -> int:
    return len(value) if isinstance(value, str | bytes) else 1 if isinstance(value, bool) else 8


def read_query(message: Message) -> bytes:
    """Return the question's bytes: a query's, or a signed question's.

    Raises:
        InvalidQuery: for a message that carries anything else, or nothing.
    """
    if not message.has_content():
        raise InvalidQuery("the message is empty")
    content = message.content
    if set(content) != {"query"} or not isinstance(record := content["query"], ConfigRecord):
        raise InvalidQuery("the message holds something else than a query")
    if set(record) != {"query"} or not isinstance(data := record["query"], bytes):
        raise InvalidQuery("the message holds something else than a query")
    return data


def reply(answer: Report | Refusal, message: Message, *, device: int) -> Message:
    """Return the device's reply to a message."""
    if isinstance(answer, Refusal):
        return Message(Error(answer.value, TEXTS[answer]), reply_to=message)
    return Message(report_content(answer, device=device), reply_to=message)


def report_content(answer: Report, *, device: int) -> RecordDict:
    """Return the content of a reply with a report."""
    record = ConfigRecord({"report": answer.data, "device": device, "replayed": answer.replayed})
    return RecordDict({"report": record})


def read_reply(message: Message) -> tuple[int, Report] | Refusal | None:
    """Return the device and its report, or the refusal; None for a reply that failed otherwise."""
    if message.has_error():
        return _CODES.get(message.error.code)
    record = message.content.get("report")
    if not isinstance(record, ConfigRecord):
        return None
    data, device, replayed = record.get("report"), record.get("device"), record.get("replayed")
    if not (isinstance(data, bytes) and type(device) is int and isinstance(replayed, bool)):
        return None
    return device, Report(data, replayed)


def batch_content(content: RecordDict, devices: IntArray) -> RecordDict:
    """Return the content of a message that carries a query (:func:`query_content`) to many devices of one node."""
    numbers = devices.astype("<i8").tobytes()
    return RecordDict({"query": ConfigRecord({**content.config_records["query"], "devices": numbers})})


def read_batch(message: Message) -> tuple[bytes, list[int]]:
    """Return the question's bytes and the devices.

    Raises:
        InvalidQuery: for a message that carries anything else, or nothing.
    """
    record = message.content.get("query") if message.has_content() and len(message.content) == 1 else None
    if not isinstance(record, ConfigRecord) or set(record) != {"query", "devices"}:
        raise InvalidQuery("the message holds something else than a query to many devices")
    question, devices = record["query"], record["devices"]
    if not (isinstance(question, bytes) and isinstance(devices, bytes)) or len(devices) % 8:
        raise InvalidQuery("the message holds something else than a query to many devices")
    return question, np.frombuffer(devices, "<i8").tolist()


def batch_reply(answers: Sequence[Report | Refusal], message: Message) -> Message:
    """Return the reply of many devices to a message."""
    reports = [b"" if isinstance(answer, Refusal) else answer.data for answer in answers]
    ends = np.cumsum([len(report) for report in reports], dtype="<i8").tobytes()
    statuses = bytes(
        answer.value - _FIRST_CODE + 1 if isinstance(answer, Refusal) else answer.replayed for answer in answers
    )
    record = ConfigRecord({"data": b"".join(reports), "ends": ends, "statuses": statuses})
    return Message(RecordDict({"reports": record}), reply_to=message)


def read_batch_reply(message: Message, count: int) -> list[Report | Refusal] | None:
    """Return the answers of ``count`` devices, in their order; None for anything else."""
    batch = _batch_reply_of(message, count)
    if batch is None:
        return None
    data, bounds, statuses = batch
    places = bounds.tolist()
    answers: list[Report | Refusal] = []
    for start, end, status in zip(places, places[1:], statuses, strict=False):
        refusal = _CODES.get(status + _FIRST_CODE - 1) if status > 1 else None
        if status > 1 and (refusal is None or start != end):
            return None
        answers.append(refusal or Report(data[start:end], replayed=status == 1))
    return answers


def _batch_reply_of(message: Message, count: int) -> tuple[bytes, IntArray, bytes] | None:
    """Return the joined reports of ``count`` devices, their ends after a 0, and their statuses."""
    record = message.content.get("reports") if message.has_content() else None
    if not isinstance(record, ConfigRecord) or set(record) != {"data", "ends", "statuses"}:
        return None
    data, ends, statuses = record["data"], record["ends"], record["statuses"]
    if not (isinstance(data, bytes) and isinstance(ends, bytes) and isinstance(statuses, bytes)):
        return None
    if (len(ends), len(statuses)) != (8 * count, count):
        return None
    bounds = np.concatenate([[0], np.frombuffer(ends, "<i8")])
    rising = np.all(bounds[:-1] <= bounds[1:])  # their differences may be too large for int64
    return (data, bounds, statuses) if rising and bounds[-1] == len(data) else None


@dataclass(frozen=True, eq=False)
class ReportColumns:
    """Reports of several devices to one question, by column.

    Args:
        devices: int64, their public numbers, in rising order.
        reports: The bytes of each report.
        parts: Its parts (:func:`ldpsim.devices.report.unpack_report`), by attribute and mechanism.
        replays: int64, those of the devices whose report is a replay.
    """

    devices: IntArray
    reports: list[bytes]
    parts: dict[str, list[list[bytes]]]
    replays: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def cut(self, below: int) -> tuple[ReportColumns, ReportColumns]:
        """Return the reports of the devices below a number, and the others; which are replays is left out."""
        end = int(np.searchsorted(self.devices, below))
        sides = (slice(0, end), slice(end, len(self.devices)))
        if end in (0, len(self.devices)):
            none = ReportColumns(self.devices[:0], [], {})
            return (self, none) if end else (none, self)
        first, second = (
            ReportColumns(
                self.devices[side], self.reports[side],
                {name: [column[side] for column in own] for name, own in self.parts.items()},
            )
            for side in sides
        )  # fmt: skip
        return first, second


def read_batch_columns(message: Message, devices: IntArray, query: Query) -> ReportColumns | None:
    """Return the reports of the devices of a message; None where one refuses, or its bytes are not of the query."""
    batch = _batch_reply_of(message, len(devices))
    if batch is None or max(batch[2], default=0) > 1:
        return None
    data, bounds, statuses = batch
    if len(data) > len(devices) * most_bytes(query):
        return None  # an oversized reply: each report is decoded separately to find the invalid one
    octets, at = np.frombuffer(data, np.uint8), bounds[:-1]
    parts: dict[str, list[list[bytes]]] = {}
    try:
        for ask in query.asks:
            at, end = _part_at(octets, at, bounds[1:])
            parts[ask.attribute] = []
            for _ in ask.mechanisms:
                start, at = _part_at(octets, at, end)
                parts[ask.attribute].append(_pieces(data, start, at))
            if np.any(at != end):
                return None
    except ValueError:
        return None
    if np.any(at != bounds[1:]):
        return None
    replays = devices[np.frombuffer(statuses, np.uint8) == 1]
    return ReportColumns(devices, _pieces(data, bounds[:-1], bounds[1:]), parts, replays)


def _part_at(octets: NDArray[np.uint8], at: IntArray, limit: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the parts whose lengths stand at these places start and end; ValueError for one beyond its limit."""
    start = at + 4
    if np.any(start > limit):
        raise ValueError("a report is cut off")
    end = start + octets[at[:, None] + np.arange(4)].view("<u4").ravel()
    if np.any(end > limit):
        raise ValueError("a report is cut off")
    return start, end


def _pieces(data: bytes, starts: IntArray, ends: IntArray) -> list[bytes]:
    return [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def report_bytes(data: bytes) -> int:
    """Size of the payload of one device's reply with this report, as :func:`payload_bytes` counts it."""
    return _REPLY_BYTES + len(data)


def introduction(message: Message, *, device: int, own_state: bool) -> Message:
    """Return the reply with the number of a node's device. The number is public and no release.

    Args:
        message: The message that is answered.
        device: The device's public number.
        own_state: Whether the node itself says where its device lives.
    """
    return Message(RecordDict({"whoami": ConfigRecord({"device": device, "own-state": own_state})}), reply_to=message)


def read_introduction(message: Message) -> tuple[int, bool] | None:
    """Return a node's device and whether its state is its own; None for another reply."""
    record = message.content.get("whoami") if message.has_content() else None
    if not isinstance(record, ConfigRecord):
        return None
    device, own_state = record.get("device"), record.get("own-state")
    if not (type(device) is int and device >= 0 and isinstance(own_state, bool)):
        return None
    return device, own_state


_REPLY_BYTES = payload_bytes(report_content(Report(b"?", replayed=False), device=0)) - 1
