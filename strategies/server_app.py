"""Flower's ``ServerApp``: the curator's side, on the Grid that Flower gives it.

Its environment, the run's configuration and the nodes' answers decide what it does:

- ``LDPSIM_JOB`` in its environment names a folder: it runs the collection in this folder
  (:mod:`ldpsim.strategies.engines.flower_job`) and writes the result there. ``ldpsim run --engine flower`` uses Flower
  in this way. No configuration of a run can name a folder: whoever reaches a SuperLink writes it.
- No job, and no node has a device of its own (``flwr run .`` on the simulation runtime): it
  enrols one device for every node and runs the whole simulation.
- Nodes have devices of their own (SuperNodes with ``state-dir`` in ``--node-config``): it enrols
  nobody. ``facts`` in the run's configuration says what is public.
"""

from __future__ import annotations

import os
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

# Flower's simulation runtime runs this app in a thread and loads the ClientApp in another. It
# takes a module that is only half imported for a whole one ("Unable to load attribute app"), so
# the ClientApp must not be imported for the first time while this app runs.
import ldpsim.devices.client_app  # noqa: F401
from ldpsim.strategies.engines.flower_job import JOB, Job, save_collected, save_failure
from ldpsim.strategies.flower_app.roster import introduce, ready_nodes, roster_of, strategy_of_nodes
from ldpsim.strategies.flower_app.training_job import is_training, run_training
from ldpsim.strategies.rounds.collect_once import Collected, CollectOnce, run_collection
from ldpsim.strategies.rounds.replies import TooManyFailed

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the job or the simulation that the configuration names."""
    run_on_grid(grid, context)


def run_on_grid(grid: Grid, context: Context) -> None:
    """Run a job, or everything, on the nodes of a Grid.

    Raises:
        ValueError: for a mistake of the user, in one line.
        TimeoutError: if too few nodes connect.
    """
    if os.environ.get(JOB):
        run_job(grid, Path(os.environ[JOB]))
    else:
        from ldpsim.strategies.flower_app.alone import run_alone

        run_alone(grid, context)


def run_job(grid: Grid, folder: Path) -> None:
    """Run the collection or the training of a job's folder and write its result there."""
    try:
        if is_training(folder):
            run_training(grid, folder)
            return
        job = Job.load(folder)
        save_collected(folder, collect_on_grid(grid, job))
    except (ValueError, TimeoutError, TooManyFailed) as error:
        save_failure(folder, str(error))
        raise


def collect_on_grid(grid: Grid, job: Job) -> Collected:
    """Run a collection on nodes that Flower manages, one device a node.

    Replies carry the device's public number. If all devices get the same message, the server
    need not know the device of a node; otherwise it asks the nodes first. Devices without a node
    count as silent.

    Raises:
        TimeoutError: if too few nodes connect.
    """
    nodes = ready_nodes(grid, job.devices, timeout=job.timeout)
    if job.alike:
        strategy = CollectOnce(job.questions, nodes, roster=False, stages=job.stages, terms=job.terms)
    else:
        strategy = strategy_of_nodes(job, roster_of(introduce(grid, nodes, timeout=job.timeout)))
    return run_collection(strategy, grid, timeout=job.timeout)
