"""Roster of the connected nodes and their devices.

Flower's node id is never an identity: each node is asked for the number of its device.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from devices.wire import WHOAMI_TYPE, read_introduction
from strategies.engines.flower_job import Job
from strategies.rounds.collect_once import CollectOnce

NODES_SECONDS = 60.0
_POLL_SECONDS = 0.2
_NOWHERE = -1
_FIRST = 8  # nodes of the first messages


def strategy_of_nodes(job: Job, known: dict[int, tuple[int, bool]]) -> CollectOnce:
    """Return the strategy for nodes with a known device; the other devices are silent."""
    node_of = {device: node for node, (device, _) in sorted(known.items(), reverse=True) if device < job.devices}
    absent = frozenset(range(job.devices)) - set(node_of)
    nodes = [node_of.get(device, _NOWHERE) for device in range(job.devices)]
    return CollectOnce(job.questions, nodes, silent=job.silent | absent, stages=job.stages, collector=job.collector)


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


def ready_nodes(grid: Grid, minimum: int, *, timeout: float) -> list[int]:
    """Return the connected nodes after some of them answered.

    The first messages wait until the runtime is up; later work can be timed without that.
    """
    nodes = wait_for_nodes(grid, minimum)
    introduce(grid, nodes[:_FIRST], timeout=timeout)
    return nodes


def introduce(grid: Grid, nodes: Sequence[int], *, timeout: float) -> dict[int, tuple[int, bool]]:
    """Return (device, whether its state is its own) by node id; nodes without an answer are left out."""
    asked = [Message(RecordDict(), node, WHOAMI_TYPE) for node in nodes]
    replies = grid.send_and_receive(asked, timeout=timeout)
    told = {reply.metadata.src_node_id: read_introduction(reply) for reply in replies}
    return {node: answer for node, answer in told.items() if answer is not None}
