from __future__ import annotations

from collections.abc import Callable

from flwr.app import Message, RecordDict

from ldpsim.curator.methods import Question
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.wire import QUERY_TYPE, query_content, read_reply
from ldpsim.strategies.engines.flower_internals import set_message_id
from ldpsim.strategies.engines.packed_messages import answer_packed, packed, unpacked


def test_a_content_goes_once_and_replies_find_their_questions(
    enrolled: Callable[..., State], ask: Callable[..., tuple[Question, ...]]
) -> None:
    content = query_content(ask()[0].query)
    messages = [Message(content, node, QUERY_TYPE, group_id="1") for node in (3, 9)]
    messages.append(Message(RecordDict({}), 4, "train", group_id="1"))
    for number, message in enumerate(messages):
        set_message_id(message, str(number))
    contents, rows = packed(messages)
    assert len(contents) == 2 and [row[:3] for row in rows] == [
        (0, 3, QUERY_TYPE), (0, 9, QUERY_TYPE), (1, 4, "train"),
    ]  # fmt: skip
    sent = {message.metadata.message_id: message for message in messages}
    replies = list(unpacked(answer_packed(Fleet(enrolled().folder), contents, rows), sent))
    assert sent == {} and [reply.metadata.reply_to_message_id for reply in replies] == ["0", "1", "2"]
    assert [read_reply(reply)[0] for reply in replies[:2]] == [2, 8]  # type: ignore[index]


def test_an_error_of_flower_is_carried() -> None:
    message = Message(RecordDict({}), 4, "train")
    set_message_id(message, "7")
    (reply,) = unpacked([("7", (2, "lost"))], {"7": message})
    assert reply.has_error() and (reply.error.code, reply.error.reason) == (2, "lost")
