from __future__ import annotations

from collections.abc import Callable

import pytest
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from ldpsim.curator.methods import Question
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.wire import QUERY_TYPE, query_content, read_reply
from ldpsim.strategies.engines.grids import LocalGrid


def test_a_grid_of_our_own_is_a_flower_grid(
    enrolled: Callable[..., State], ask: Callable[..., tuple[Question, ...]]
) -> None:
    grid = LocalGrid(enrolled().folder, 40)
    assert isinstance(grid, Grid)
    assert list(grid.get_node_ids()) == list(range(1, 41))
    assert [node.node_id for node in grid.get_nodes()] == list(range(1, 41))
    content = query_content(ask()[0].query)
    ids = list(grid.push_messages([grid.create_message(content, QUERY_TYPE, node, "1") for node in (3, 9)]))
    replies = list(grid.pull_messages(ids))
    assert {reply.metadata.reply_to_message_id for reply in replies} == set(ids)
    assert sorted(read_reply(reply)[0] for reply in replies) == [2, 8]  # type: ignore[index]
    assert list(grid.pull_messages(ids)) == []  # a reply is pulled once


def test_an_unknown_node_and_a_missing_run_are_errors(enrolled: Callable[..., State]) -> None:
    grid = LocalGrid(enrolled().folder, 40)
    with pytest.raises(ValueError, match="no node 41"):
        grid.send_and_receive([Message(RecordDict({}), 41, QUERY_TYPE)])
    with pytest.raises(RuntimeError):
        _ = grid.run
