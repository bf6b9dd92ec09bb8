"""Queries and reports to and from Flower records.

A query is one ``bytes`` value; a report is one ``bytes`` value, the device's public
number and whether it is a replay. Nothing else is accepted: a record that carries more
is not a query.
"""

from __future__ import annotations

from flwr.app import ConfigRecord, Error, Message, RecordDict

from devices.collector import CollectorKey
from devices.device import Refusal, Report
from devices.query import InvalidQuery, Query
from devices.raw_record import is_hand_over

QUERY_TYPE = "query.report"
HANDOVER_TYPE = "query.handover"
WHOAMI_TYPE = "query.whoami"
TEXTS = {
    Refusal.UNKNOWN_QUERY: "UNKNOWN_QUERY: the device does not know this question",
    Refusal.MODE_REFUSED: "MODE_REFUSED: the device is enrolled in another mode",
    Refusal.POLICY_REFUSED: "POLICY_REFUSED: the question is outside the device's policy",
    Refusal.REPORT_COLLECTED: "REPORT_COLLECTED: the device has given its report",
    Refusal.LEDGER_DAMAGED: "LEDGER_DAMAGED: the device cannot read its ledger and answers nothing",
    Refusal.COUNTER_MISMATCH: "COUNTER_MISMATCH: the device's counter and its ledger differ, and it answers nothing",
    Refusal.COLLECTOR_REFUSED: "COLLECTOR_REFUSED: the question is not signed by the device's collector",
    Refusal.VAULT_BUSY: "VAULT_BUSY: the device's vault has too much to do; the same question may be asked again",
}
_CODES = {refusal.value: refusal for refusal in Refusal}


def message_type(query: Query) -> str:
    """Return the type of the message that carries a query: a report's, or a hand-over's."""
    return HANDOVER_TYPE if is_hand_over(query) else QUERY_TYPE


def query_content(query: Query, collector: CollectorKey | None = None) -> RecordDict:
    """Return the content of a query message, signed if the collector has a key; one may be shared by all messages."""
    data = query.to_bytes()
    return RecordDict({"query": ConfigRecord({"query": data if collector is None else collector.sign(data)})})


def payload_bytes(content: RecordDict) -> int:
    """Size of a message's payload: names and values as encoded, without Flower's framing."""
    return sum(len(name) + record.count_bytes() for name, record in content.items())


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
    record = ConfigRecord({"report": answer.data, "device": device, "replayed": answer.replayed})
    return Message(RecordDict({"report": record}), reply_to=message)


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
