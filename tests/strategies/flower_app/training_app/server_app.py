"""App whose server trains in rounds on SuperNodes, with the strategies and tasks of dp-fedavg and ldp-fedavg.

Put over ``strategies/server_app.py`` in a Flower app by ``test_deployment_training.py``. No command of the product does
this: in a deployment a device answers once.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated import TrainingPlan, strategy_for
from ldpsim.strategies.flower_app.alone import introduce, wait_for_nodes
from ldpsim.strategies.rounds.checkpoint import Standing, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from ldpsim.strategies.seeded import seeded

app = ServerApp()
SETTINGS = {"dp-fedavg": {"clip": "0.5", "noise_multiplier": "1.0"}, "ldp-fedavg": {"clip": "0.5"}}


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train each task on the nodes of its devices, and write the weights."""
    folder = Path(os.environ["FOLDER"])
    jobs = json.loads((folder / "jobs.json").read_text())
    nodes = wait_for_nodes(grid, sum(len(job["devices"]) for job in jobs))
    device_of = {node: device for node, (device, _) in introduce(grid, nodes, timeout=200).items()}
    for job in jobs:
        chosen = sorted(node for node, device in device_of.items() if device in job["devices"])
        np.save(
            folder / f"{job['name']}.npy", trained(grid, chosen, job["name"], Task.from_bytes(job["task"].encode()))
        )
    (folder / "done").touch()


def trained(grid: Grid, nodes: list[int], name: str, task: Task) -> np.ndarray:
    """Return the weights after two rounds of a method."""
    method = find(name).from_settings(SETTINGS[name])
    strategy = strategy_for(method, TrainingPlan(task, Budget(epsilon=4.0), nodes, len(nodes), 1))
    with seeded(7):  # of what Flower draws; the noise has the seed of the plan
        return run_rounds(strategy, TrainingGrid(grid, train=lambda number: nodes), Standing(task.shape.initial(1)),
                          task.to_bytes(), rounds=2)  # fmt: skip
