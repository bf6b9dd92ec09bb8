"""The ServerApp on a Grid whose nodes are not numbered like the devices."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from flwr.app import Context, Message, RecordDict, UserConfig

from ldpsim.curator.methods import Question
from ldpsim.devices.client_app import app
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.flower_app.simulation import connection_of, introduce, roster_of, wait_for_nodes
from ldpsim.strategies.rounds.collect_once import Collected

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


class Shuffled(DirectGrid):
    """SuperNodes of some of the devices, whose ids say nothing about them; the last ones connect late."""

    def __init__(self, folder: Path, size: int, devices: Iterable[int], *, late: int = 0) -> None:
        super().__init__(size)
        self.folder = folder
        self.device_of = {1000 - 7 * device: device for device in devices}
        self.late = late

    def get_node_ids(self) -> Iterable[int]:
        nodes = list(self.device_of)
        if self.late:
            self.late -= 1
            return nodes[:-1]
        return nodes

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return [self.answer(message) for message in messages]

    def answer(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        config: UserConfig = {"state-dir": str(self.folder), "partition-id": self.device_of[node]}
        return app(message, Context(1, node, config, RecordDict(), {}))


def collect_on(grid: Shuffled, questions: tuple[Question, ...], devices: int, **more: frozenset[int]) -> Collected:
    roster = roster_of(introduce(grid, list(grid.get_node_ids()), timeout=1))
    return connection_of(grid, devices, roster).ask(questions, **more)


def test_of_several_nodes_that_claim_a_number_none_counts() -> None:
    roster = roster_of({50: (1, False), 40: (1, False), 45: (1, True), 60: (0, False), 70: (2, False), 20: (2, False)})
    assert dict(roster.node_of) == {0: 60}
    assert {device: list(nodes) for device, nodes in roster.refused.items()} == {1: [40, 45, 50], 2: [20, 70]}
    assert list(roster.lines()) == [
        "number 1 is claimed by node 40, node 45, node 50: no such claim counts",
        "number 2 is claimed by node 20, node 70: no such claim counts",
    ]
    assert roster_of({60: (0, False)}).refused == {}


@pytest.mark.parametrize("there", [True, False])
def test_the_node_that_the_curator_knows_speaks_for_its_person_alone(there: bool) -> None:
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
    assert collect_on(grid, ask(), 4, dropouts=frozenset({3})).reported == 3
    assert len(sent) == len(set(sent)) == 4 + 3  # the roster and the question
    assert min(map(len, sent)) >= 32


@pytest.mark.parametrize("private_labels", [False, True])
def test_nodes_give_what_the_local_engine_gives(enrolled: Enrolled, ask: Ask, private_labels: bool) -> None:
    """Some devices have no node; the others reply, also with refusals."""
    labels = {"private_labels": private_labels, **({"eps_labels": 1.0} if private_labels else {})}
    dropouts = frozenset({2, 39}) if private_labels else frozenset({39})
    theirs = collect(enrolled().folder, ask(**labels), devices=40, dropouts=dropouts)
    nodes = Shuffled(enrolled().folder, 40, range(39), late=1)
    assert len(wait_for_nodes(nodes, 39)) == 39
    ours = collect_on(nodes, ask(**labels), 40, dropouts=dropouts - {39})
    ours.seconds = theirs.seconds = 0.0
    assert ours == theirs
    again = collect_on(nodes, ask("other", **labels), 40)
    assert again.refused["REPORT_COLLECTED"] == ours.reported and again.silent == 1


def test_the_client_app_is_imported_whole_with_the_server_app() -> None:
    """Flower loads both in threads of one process, and takes a ClientApp's module that is half imported as it is."""
    code = "import sys, ldpsim.strategies.server_app; assert hasattr(sys.modules['ldpsim.devices.client_app'], 'app')"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
