"""The Flower ``ServerApp``: what the curator runs, on whatever Grid Flower gives it.

Three ways to be started, told apart by the run's configuration and the nodes' own word:

- ``job`` names a folder: run the collection written there (:mod:`strategies.flower_job`)
  and write what came in. This is how ``ldpsim run --engine flower`` uses Flower.
- Nothing is given and no node has a device of its own (``flwr run .`` on the simulation
  runtime): one device is enrolled for every node, and the whole simulation is run.
- Nodes have devices of their own (SuperNodes with ``state-dir`` in ``--node-config``):
  the curator enrols nobody. ``state-dir`` or ``facts`` tells it what is public.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from flwr.app import Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from devices.wire import WHOAMI_TYPE, read_introduction
from strategies.collect_once import Collected, CollectOnce, run_collection
from strategies.flower_job import Job, save_collected, save_failure

app = ServerApp()

NODES_SECONDS = 60.0
_POLL_SECONDS = 0.2
_FIRST = 8  # nodes asked to introduce themselves before a collection is timed
_NOWHERE = -1


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run what the configuration asks for."""
    run_on_grid(grid, context)


def run_on_grid(grid: Grid, context: Context) -> None:
    """Run a job, or everything, on the nodes of a Grid.

    Raises:
        ValueError: for a person's mistake, in one line.
        TimeoutError: where too few nodes connect.
    """
    if context.run_config.get("job"):
        run_job(grid, Path(str(context.run_config["job"])))
    else:
        from strategies.flower_alone import run_alone

        run_alone(grid, context)


def run_job(grid: Grid, folder: Path) -> None:
    """Run the collection in a job's folder and write what came in there."""
    try:
        job = Job.load(folder)
        save_collected(folder, collect_on_grid(grid, job))
    except (ValueError, TimeoutError) as error:
        save_failure(folder, str(error))
        raise


def collect_on_grid(grid: Grid, job: Job) -> Collected:
    """Run a collection on nodes that Flower manages, one device a node.

    Replies carry the device's public number, so where all devices are asked alike it does
    not matter which node is which. Where they are not, the nodes are asked first.
    Devices that no node stands for count as silent.

    Raises:
        TimeoutError: where too few nodes connect.
    """
    nodes = wait_for_nodes(grid, job.devices)
    # The first messages wait until the runtime is up; the collection's seconds should not.
    introduce(grid, nodes[:_FIRST], timeout=job.timeout)
    if job.alike:
        strategy = CollectOnce(job.questions, nodes)
    else:
        strategy = collection_of(job, introduce(grid, nodes, timeout=job.timeout))
    return run_collection(strategy, grid, timeout=job.timeout)


def collection_of(job: Job, known: dict[int, tuple[int, bool]]) -> CollectOnce:
    """Return the strategy for nodes that said which device they are; the other devices are silent."""
    node_of = {device: node for node, (device, _) in sorted(known.items(), reverse=True) if device < job.devices}
    absent = frozenset(range(job.devices)) - set(node_of)
    nodes = [node_of.get(device, _NOWHERE) for device in range(job.devices)]
    return CollectOnce(job.questions, nodes, silent=job.silent | absent)


def wait_for_nodes(grid: Grid, minimum: int, *, seconds: float = NODES_SECONDS) -> list[int]:
    """Return the ids of the connected nodes once there are at least ``minimum``.

    ``Strategy.start`` on a Grid without nodes asks nobody and calls it a success.

    Raises:
        TimeoutError: where there are fewer after ``seconds``.
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
    """Ask nodes which device they are: node id -> (device, whether its state is its own).

    A node that does not say is left out.
    """
    asked = [Message(RecordDict(), node, WHOAMI_TYPE) for node in nodes]
    replies = grid.send_and_receive(asked, timeout=timeout)
    told = {reply.metadata.src_node_id: read_introduction(reply) for reply in replies}
    return {node: answer for node, answer in told.items() if answer is not None}
