"""Rounds of dp-fedavg and ldp-fedavg on four SuperNodes, beside the same devices on the local engine.

About a minute: ``make deployment``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import GaussianUpdate, Task
from ldpsim.strategies.engines.flower import Flower, app_folder
from ldpsim.strategies.engines.grids import LocalGrid
from tests.fleets import release_states
from tests.strategies.flower_app.training_app.server_app import trained

pytestmark = pytest.mark.deployment
APP = Path(__file__).with_name("training_app")
PEOPLE, ROUNDS = 12, 2
NOISE = GaussianUpdate.from_epsilon(2.0, clip=0.5, delta=1e-5)
TASKS = {
    "dp-fedavg": Task("dp", "own", 20, 3, 3, 0.3, 2),
    "ldp-fedavg": Task("ldp", "own", 20, 3, 3, 0.3, 2, noise=NOISE),
}
DEVICES = {"dp-fedavg": [0, 1], "ldp-fedavg": [2, 3]}


def test_rounds_with_noise_at_the_server_and_on_the_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    people = generate(PEOPLE, d=20, classes=3, seed=2, mean_degree=2.0, words=6)
    jobs, local, folders = [], {}, {}
    for name, task in TASKS.items():
        policy = policy_for_training(task, people.facts, answers=ROUNDS)
        twin, folders[name] = (tmp_path / f"{name}-{copy}" for copy in ("twin", "state"))
        for folder in (twin, folders[name]):
            enrol(folder, people, policy, seed=4).close()
        nodes = [device + 1 for device in DEVICES[name]]
        local[name] = trained(LocalGrid(twin, PEOPLE), nodes, name, task)
        release_states()
        jobs.append({"name": name, "task": task.to_bytes().decode(), "devices": DEVICES[name]})
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    with Flower(simulation=False, log=tmp_path / "flower.log", environment={"FOLDER": str(tmp_path)}) as flower:
        for name, devices in DEVICES.items():
            for device in devices:
                flower.start_supernode({"partition-id": device, "state-dir": str(folders[name])})
        app = app_folder(flower.folder / "app", {})
        shutil.copyfile(APP / "server_app.py", app / "ldpsim" / "strategies" / "server_app.py")
        run = flower.start_run(app, {})
        flower.wait_until((tmp_path / "done").exists, run, "the training brought no weights", seconds=500)
    for name, devices in DEVICES.items():
        assert np.array_equal(np.load(tmp_path / f"{name}.npy"), local[name])
        assert not np.array_equal(local[name], TASKS[name].shape.initial(1))
        state = State(folders[name])
        assert [device for device in range(PEOPLE) if state.ledger(device).answers(device)] == devices
