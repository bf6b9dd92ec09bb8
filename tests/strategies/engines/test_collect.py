"""One seed, three engines: byte-identical reports (Flower's own runtime: test_flower_runtime.py); a grid of our own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from ldpsim.curator.methods import Question
from ldpsim.devices.collector import CollectorKey
from ldpsim.devices.collector import generate as generate_key
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.wire import QUERY_TYPE, query_content, read_reply
from ldpsim.strategies.engines.collect import choose, collect
from ldpsim.strategies.engines.grids import LocalGrid

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


def test_auto_is_local_unless_a_cluster_is_named() -> None:
    assert choose("auto", None) == "local"
    assert choose("auto", "ray://somewhere:10001") == "ray"
    assert choose("flower", None) == "flower"


@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_local_and_ray_say_the_same_about_every_row(enrolled: Enrolled, ask: Ask, on_requery: str) -> None:
    """First answer, retry, other collection, other budget: same bytes, counts and codes on both engines."""
    seen = {}
    for engine in ("local", "ray"):
        folder = enrolled(on_requery=on_requery).folder
        rows = []
        for collection, epsilon in (("first", 8.0), ("first", 8.0), ("second", 8.0), ("third", 4.0), ("fourth", 9.0)):
            c = collect(folder, ask(collection, epsilon), devices=40, engine=engine, workers=2)
            rows.append((c.reports_sha256, c.reported, c.replayed, c.refused, c.downlink_bytes, c.uplink_bytes))
        seen[engine] = rows
    assert seen["local"] == seen["ray"]
    first, retry, other, smaller, larger = seen["local"]
    assert first[1:4] == (40, 0, Counter())
    assert retry[:4] == (first[0], 0, 40, Counter())
    assert other[3] == (Counter() if on_requery == "replay" else Counter(REPORT_COLLECTED=40))
    assert (other[0] == first[0]) == (on_requery == "replay")
    assert smaller[3] == Counter(REPORT_COLLECTED=40)  # a smaller budget is inside the policy and still too late
    assert larger[3] == Counter(POLICY_REFUSED=40)


@pytest.mark.usefixtures("ray_here")
def test_a_pinned_collector_is_answered_on_both_engines(enrolled: Enrolled, ask: Ask, tmp_path: Path) -> None:
    """A hostile run comes first and spends nothing; the honest run gets the bytes of devices without a pin."""
    generate_key(tmp_path / "key")
    key = CollectorKey.load(tmp_path / "key")
    plain = collect(enrolled().folder, ask(), devices=40, engine="local").reports_sha256
    for engine in ("local", "ray"):
        folder = enrolled(collector=key.public).folder
        hostile = collect(folder, ask("hostile", 0.01), devices=40, engine=engine, workers=2)
        assert hostile.refused == Counter(COLLECTOR_REFUSED=40)
        terms = key.sign(terms_of([(each.query, each.devices) for each in ask()], 40))
        honest = collect(folder, ask(), devices=40, engine=engine, workers=2, terms=terms)
        assert (honest.reported, honest.reports_sha256) == (40, plain)


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
