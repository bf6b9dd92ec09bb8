"""The Flower ``ServerApp``: what the curator runs, on whatever Grid Flower gives it.

Three ways to be started, told apart by the run's configuration and the nodes' own word:

- ``job`` names a folder: run the collection written there (:mod:`strategies.engines.flower_job`)
  and write what came in. This is how ``ldpsim run --engine flower`` uses Flower.
- Nothing is given and no node has a device of its own (``flwr run .`` on the simulation
  runtime): one device is enrolled for every node, and the whole simulation is run.
- Nodes have devices of their own (SuperNodes with ``state-dir`` in ``--node-config``):
  the curator enrols nobody. ``state-dir`` or ``facts`` tells it what is public.
"""

from __future__ import annotations

from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from strategies.engines.flower_job import Job, save_collected, save_failure
from strategies.flower_app.roster import collection_of, introduce, wait_for_nodes
from strategies.flower_app.training_job import is_training, run_training
from strategies.rounds.collect_once import Collected, CollectOnce, run_collection

app = ServerApp()

_FIRST = 8  # nodes asked to introduce themselves before a collection is timed


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
        from strategies.flower_app.alone import run_alone

        run_alone(grid, context)


def run_job(grid: Grid, folder: Path) -> None:
    """Run the collection (or the training) in a job's folder and write what came of it there."""
    try:
        if is_training(folder):
            run_training(grid, folder)
            return
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
        strategy = CollectOnce(job.questions, nodes, roster=False, stages=job.stages)
    else:
        strategy = collection_of(job, introduce(grid, nodes, timeout=job.timeout))
    return run_collection(strategy, grid, timeout=job.timeout)
