"""Roster of the connected nodes and their devices.

Each node is asked for the number of its device, and may lie. Where nobody says which node a person has, a number that
several nodes claim counts for none of them. Where SuperNodes are registered with keys, the collector's file names the
node of each person (``flwr supernode register`` prints its id). Then only that node counts: the SuperLink binds an id
to its key, and takes the reply to a message from the node that got it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from ldpsim.curator.methods.base import Question
from ldpsim.devices.collector import SignedTerms
from ldpsim.devices.wire import WHOAMI_TYPE, read_introduction
from ldpsim.strategies.rounds.collect_once import CollectOnce
from ldpsim.strategies.rounds.stages import Stages

NODES_SECONDS = 60.0
_POLL_SECONDS = 0.2
_NOWHERE = -1


@dataclass(frozen=True)
class Roster:
    """The nodes that speak for people.

    Args:
        node_of: The node that counts, by public number.
        refused: Nodes that claim a number and do not count for it, by number.
    """

    node_of: Mapping[int, int]
    refused: Mapping[int, Sequence[int]]

    def told(self) -> Iterator[str]:
        """Yield a line for each number with a claim that does not count."""
        for device, nodes in self.refused.items():
            yield f"number {device} is claimed by {', '.join(f'node {node}' for node in nodes)}: no such claim counts"


def roster_of(known: Mapping[int, tuple[int, bool]], bound: Mapping[int, int] | None = None) -> Roster:
    """Return who speaks for whom.

    Args:
        known: What the nodes say (:func:`introduce`).
        bound: The node of each person, where it is known; nobody speaks for the others. None: it is not known.
    """
    claims: dict[int, list[int]] = {}
    for node, (device, _) in sorted(known.items()):
        claims.setdefault(device, []).append(node)
    if bound is None:
        bound = {device: nodes[0] for device, nodes in claims.items() if len(nodes) == 1}
    node_of = {device: bound[device] for device, nodes in sorted(claims.items()) if bound.get(device) in nodes}
    others = {device: [node for node in nodes if node != node_of.get(device)] for device, nodes in claims.items()}
    return Roster(node_of, {device: others[device] for device in sorted(others) if others[device]})


def strategy_of_nodes(
    questions: Sequence[Question], devices: int, roster: Roster, *, silent: frozenset[int] = frozenset(),
    stages: Stages | None = None, terms: SignedTerms | None = None,
) -> CollectOnce:  # fmt: skip
    """Return the strategy for the nodes that count; the others of so many devices are silent."""
    absent = frozenset(range(devices)) - set(roster.node_of)
    nodes = [roster.node_of.get(device, _NOWHERE) for device in range(devices)]
    return CollectOnce(questions, nodes, silent=silent | absent, stages=stages, terms=terms)


def wait_for_nodes(grid: Grid, minimum: int, *, seconds: float = NODES_SECONDS) -> list[int]:
    """Return the ids of the connected nodes once there are at least ``minimum``.

    ``Strategy.start`` on a Grid without nodes asks nobody and reports no error.

    Raises:
        TimeoutError: if there are fewer after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while True:
        nodes = sorted(grid.get_node_ids())
        if len(nodes) >= max(1, minimum):
            return nodes
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{len(nodes)} of {minimum} nodes are connected after {seconds:.0f} seconds")
        time.sleep(_POLL_SECONDS)


def introduce(grid: Grid, nodes: Sequence[int], *, timeout: float) -> dict[int, tuple[int, bool]]:
    """Return (device, whether its state is its own) by node id; nodes without an answer are left out."""
    # A reply names the message by a hash of it. Without a secret in it, one node could answer for another.
    asked = [Message(RecordDict(), node, WHOAMI_TYPE, group_id=secrets.token_hex(16)) for node in nodes]
    replies = grid.send_and_receive(asked, timeout=timeout)
    told = {reply.metadata.src_node_id: read_introduction(reply) for reply in replies}
    return {node: answer for node, answer in told.items() if answer is not None}
