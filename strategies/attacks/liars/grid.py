"""Grid with lying devices in it: their messages go to the edited ClientApp, all others to the inner Grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from flwr.app import Message, RecordDict

from devices.collector import query_of
from devices.query import Query
from devices.wire import QUERY_TYPE, read_query
from strategies.attacks.liars.app import LyingApp, answer_all
from strategies.attacks.liars.plan import LyingPlan
from strategies.engines.grids import Around, DirectGrid, SiloGrid

Memory = dict[tuple[bytes, int], RecordDict]


class LyingGrid(DirectGrid):
    """Grid that takes the messages of some nodes to the edited ClientApp.

    Args:
        inner: Grid of all devices; it gets the messages of the honest ones alone.
        folder: State folder of the devices, or the silos' folder.
        plan: The lies.
    """

    def __init__(self, inner: DirectGrid, folder: Path, plan: LyingPlan) -> None:
        super().__init__(inner.size)
        self._inner, self._folder = inner, folder
        self._app, self._nodes = LyingApp(plan), plan.nodes

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Yield the replies of the liars, then those of the honest devices."""
        messages = list(messages)
        lying = [message for message in messages if message.metadata.dst_node_id in self._nodes]
        if lying:
            yield from answer_all(self._app, self._folder, lying)
        yield from self._inner.deliver([m for m in messages if m.metadata.dst_node_id not in self._nodes])


class RememberingGrid(DirectGrid):
    """Grid that asks a device a question once, and gives the same reply to the same question in later cells.

    Honest reports are the same bytes whoever lies beside them: they follow from the device's secret, its record and
    the question. So the honest devices of many cells need not draw them again. Messages of other kinds pass.

    Args:
        inner: Grid of the devices.
        memory: Replies of devices with these secrets and records, by question and node.
    """

    def __init__(self, inner: DirectGrid, memory: Memory) -> None:
        super().__init__(inner.size)
        self._inner, self._memory = inner, memory

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Yield the replies that are known, then those of devices that are asked."""
        questions: dict[int, bytes] = {}
        waiting: list[Message] = []
        keys: dict[str, tuple[bytes, int]] = {}
        for message in messages:
            if message.metadata.message_type != QUERY_TYPE:
                waiting.append(message)
                continue
            question = questions.get(id(message.content))
            if question is None:
                question = questions[id(message.content)] = _question(message)
            key = question, message.metadata.dst_node_id
            if key in self._memory:
                yield Message(self._memory[key], reply_to=message)
            else:
                keys[message.metadata.message_id] = key
                waiting.append(message)
        for reply in self._inner.deliver(waiting) if waiting else ():
            known = keys.get(reply.metadata.reply_to_message_id)
            if known is not None and reply.has_content():
                self._memory[known] = reply.content
            yield reply


def _question(message: Message) -> bytes:
    """Return the digest of all that the noise of a report depends on, beside the device."""
    query = Query.from_bytes(query_of(read_query(message)))
    return query.digest + query.stage.to_bytes(4, "little") + query.grouping_digest


def among(plan: LyingPlan | None, silos: LyingPlan | None = None, memory: Memory | None = None) -> Around:
    """Return what puts the liars of a plan among the devices, or those of another plan among the silos.

    ``memory`` keeps the honest devices' reports for later cells.
    """

    def around(grid: DirectGrid, folder: Path) -> DirectGrid:
        chosen = silos if isinstance(grid, SiloGrid) else plan
        inner = grid if memory is None else RememberingGrid(grid, memory)
        return inner if chosen is None else LyingGrid(inner, folder, chosen)

    return around
