"""Messages between processes: each content once, and of a message only what a device reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flwr.app import Error, Message, RecordDict

from ldpsim.devices.enrolment.state import SHARD
from ldpsim.devices.fleet import Fleet
from ldpsim.strategies.engines.flower_internals import set_message_id

PackedMessage = tuple[int, int, str, str, str]  # number of the content, node, type, group, message id
Packed = tuple[list[RecordDict], list[PackedMessage]]
Reply = tuple[str, RecordDict | tuple[int, str | None]]  # message id, and the content or an error's code and reason


def packed(messages: Sequence[Message]) -> Packed:
    """Return the contents and the rows of messages."""
    contents: dict[int, tuple[int, RecordDict]] = {}
    rows = []
    for message in messages:
        place, _ = contents.setdefault(id(message.content), (len(contents), message.content))
        head = message.metadata
        rows.append((place, head.dst_node_id, head.message_type, head.group_id, head.message_id))
    return [content for _, content in contents.values()], rows


def by_shard(messages: Iterable[Message]) -> tuple[dict[int, list[Message]], dict[str, Message]]:
    """Return the messages of each ledger shard, and each message by its id."""
    shards: dict[int, list[Message]] = {}
    sent: dict[str, Message] = {}
    for message in messages:
        shards.setdefault((message.metadata.dst_node_id - 1) // SHARD, []).append(message)
        sent[message.metadata.message_id] = message
    return shards, sent


def answer_packed(fleet: Fleet, contents: Sequence[RecordDict], rows: Sequence[PackedMessage]) -> list[Reply]:
    """Let a fleet answer messages; the replies carry no metadata."""
    messages = []
    for content, node, kind, group, number in rows:
        message = Message(contents[content], node, kind, group_id=group)
        set_message_id(message, number)
        messages.append(message)
    return [(m.metadata.reply_to_message_id, _payload(m)) for m in fleet.answer(messages)]


def unpacked(replies: Sequence[Reply], sent: dict[str, Message]) -> Iterator[Message]:
    """Yield the replies as messages; each takes its question out of ``sent``."""
    for number, payload in replies:
        yield Message(Error(*payload) if isinstance(payload, tuple) else payload, reply_to=sent.pop(number))


def _payload(message: Message) -> RecordDict | tuple[int, str | None]:
    return (message.error.code, message.error.reason) if message.has_error() else message.content
