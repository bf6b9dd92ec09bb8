"""The ServerApp on a Grid whose nodes are not numbered like the devices.

Covers flower_app/roster.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from flwr.app import Context, Message, RecordDict

from ldpsim.curator.methods import Question
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.flower_job import JOB, Job, load_collected, load_failure
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.flower_app.roster import introduce, roster_of, strategy_of_nodes, wait_for_nodes
from ldpsim.strategies.server_app import collect_on_grid, run_on_grid

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


class Shuffled(LocalGrid):
    """Some of the devices, under node ids that say nothing about them; the last ones connect late."""

    def __init__(self, folder: Path, size: int, devices: Iterable[int], *, late: int = 0) -> None:
        super().__init__(folder, size)
        self.device_of = {1000 - 7 * device: device for device in devices}
        self.late = late

    def get_node_ids(self) -> Iterable[int]:
        nodes = list(self.device_of)
        if self.late:
            self.late -= 1
            return nodes[:-1]
        return nodes

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        replies = []
        for message in messages:
            node = message.metadata.dst_node_id
            message.metadata.dst_node_id = self.device_of[node] + 1
            for reply in super().send_and_receive([message], timeout=timeout):
                reply.metadata.__dict__["_src_node_id"] = node
                replies.append(reply)
        return replies


def test_it_waits_for_the_nodes_and_says_how_many_there_are(enrolled: Enrolled) -> None:
    grid = Shuffled(enrolled().folder, 40, range(4), late=1)
    assert len(wait_for_nodes(grid, 4, seconds=5)) == 4
    with pytest.raises(TimeoutError, match="^4 of 5 nodes are connected after 0 seconds$"):
        wait_for_nodes(grid, 5, seconds=0)
    with pytest.raises(TimeoutError, match="^0 of 0 nodes"):
        wait_for_nodes(Shuffled(enrolled().folder, 40, []), 0, seconds=0)


def test_nodes_say_who_they_are(enrolled: Enrolled) -> None:
    grid = Shuffled(enrolled().folder, 40, [3, 17])
    known = introduce(grid, list(grid.get_node_ids()), timeout=1)
    assert {node: device for node, (device, _) in known.items()} == {1000 - 21: 3, 1000 - 119: 17}


def test_of_several_nodes_that_claim_a_number_none_counts() -> None:
    roster = roster_of({50: (1, False), 40: (1, False), 45: (1, True), 60: (0, False), 70: (2, False), 20: (2, False)})
    assert dict(roster.node_of) == {0: 60}
    assert {device: list(nodes) for device, nodes in roster.refused.items()} == {1: [40, 45, 50], 2: [20, 70]}
    assert list(roster.told()) == [
        "number 1 is claimed by node 40, node 45, node 50: no such claim counts",
        "number 2 is claimed by node 20, node 70: no such claim counts",
    ]
    assert roster_of({60: (0, False)}).refused == {}


@pytest.mark.parametrize("there", [True, False])
def test_the_node_that_the_collector_knows_speaks_for_its_person_alone(there: bool) -> None:
    """Whoever else claims its number is named, has the lower id or comes alone; and it claims no other number."""
    known = {40: (1, False), 60: (0, False), 70: (2, False), 80: (3, False)}
    if there:
        known[50] = (1, False)
    roster = roster_of(known, {0: 60, 1: 50, 2: 80, 3: 90})
    assert dict(roster.node_of) == ({0: 60, 1: 50} if there else {0: 60})
    assert {device: list(nodes) for device, nodes in roster.refused.items()} == {1: [40], 2: [70], 3: [80]}
    assert roster_of({60: (0, False)}, {}).node_of == {}


def test_messages_to_nodes_cannot_be_guessed_from_each_other(enrolled: Enrolled, ask: Ask) -> None:
    """Flower knows a message by a hash of it, and takes the reply of any node that names the hash."""
    sent: list[str] = []

    class Listening(Shuffled):
        def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
            kept = list(messages)
            sent.extend(message.metadata.group_id for message in kept)
            return super().send_and_receive(kept, timeout=timeout)

    grid = Listening(enrolled().folder, 40, range(4))
    assert collect_on_grid(grid, Job(ask(), 4, frozenset({3}))).reported == 3
    assert len(sent) == len(set(sent)) == 4 + 4 + 3  # the first look, the roster and the question
    assert min(map(len, sent)) >= 32


def test_devices_without_a_node_are_silent(ask: Ask) -> None:
    known = {40: (1, False), 60: (0, False), 70: (9, False)}
    strategy = strategy_of_nodes(Job(ask(), 4, frozenset({0})), roster_of(known))
    assert list(strategy.nodes) == [60, 40, -1, -1]
    assert strategy.silent == {0, 2, 3}
    assert strategy.roster  # each node said which device it is: no other one may use the number


@pytest.mark.parametrize("private_labels", [False, True])
def test_a_job_gives_what_the_local_engine_gives(
    tmp_path: Path, enrolled: Enrolled, ask: Ask, private_labels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = ask(private_labels=private_labels, **({"eps_labels": 1.0} if private_labels else {}))
    silent = frozenset({2}) if private_labels else frozenset[int]()
    folder = enrolled().folder
    Job(questions, 40, silent).save(tmp_path)
    monkeypatch.setenv(JOB, str(tmp_path))
    run_on_grid(Shuffled(folder, 40, range(40)), Context(1, 0, {}, RecordDict(), {}))
    ours, theirs = load_collected(tmp_path), collect(enrolled().folder, questions, devices=40, silent=silent)
    ours.seconds = theirs.seconds = 0.0
    assert ours == theirs


def test_a_job_that_cannot_be_run_leaves_one_line(
    tmp_path: Path, enrolled: Enrolled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(JOB, str(tmp_path))
    with pytest.raises(ValueError, match="holds no job"):
        run_on_grid(Shuffled(enrolled().folder, 40, range(4)), Context(1, 0, {}, RecordDict(), {}))
    assert "holds no job" in str(load_failure(tmp_path))


def test_a_second_collection_is_refused_on_the_grid_too(enrolled: Enrolled, ask: Ask) -> None:
    grid = Shuffled(enrolled().folder, 40, range(40))
    assert collect_on_grid(grid, Job(ask("one"), 40)).reported == 40
    assert collect_on_grid(grid, Job(ask("one"), 40)).replayed == 40
    assert dict(collect_on_grid(grid, Job(ask("two"), 40)).refused) == {"REPORT_COLLECTED": 40}


def test_the_client_app_is_imported_whole_with_the_server_app() -> None:
    """Flower loads both in threads of one process, and takes a ClientApp's module that is half imported as it is."""
    code = "import sys, ldpsim.strategies.server_app; assert hasattr(sys.modules['ldpsim.devices.client_app'], 'app')"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
