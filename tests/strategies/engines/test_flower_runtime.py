"""Flower's own simulation runtime: the same reports, the same refusals, and nothing left behind.

``make test`` has one run of it, a golden one (``test_outgoing_connections.py``). These are in ``make slow``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from ldpsim.curator.methods import Question
from ldpsim.devices.client_app import STATE
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.flower_app.app_folder import app_folder
from ldpsim.strategies.rounds.checkpoint import TrainingState, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions
from tests.flower_processes import MARK, Flower

pytestmark = [pytest.mark.flower, pytest.mark.slow]
Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]
ROOT = Path(__file__).resolve().parents[3]


SESSION = "LDPSIM_TEST_SESSION"


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark the processes of this test run: others may run beside it. One thread each is enough."""
    monkeypatch.setenv(SESSION, str(os.getpid()))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def marked() -> list[str]:
    """Return the living processes that any Flower of this test run started."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = {} if process.status() == psutil.STATUS_ZOMBIE else process.environ()
            if MARK in environment and environment.get(SESSION) == str(os.getpid()):
                found.append(" ".join(process.cmdline()))
        except (psutil.Error, OSError):
            continue
    return found


SCRIPT = '''
"""A curator who sends what a file says and writes down every answer."""
import json
import os
from pathlib import Path

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import ServerApp

from ldpsim import devices
from ldpsim.devices.wire import WHOAMI_TYPE, read_introduction

app = ServerApp()


@app.main()
def main(grid, context):
    folder = Path(os.environ["FOLDER"])
    nodes = list(grid.get_node_ids())
    told = grid.send_and_receive([Message(RecordDict(), node, WHOAMI_TYPE) for node in nodes])
    node_of = {read_introduction(reply)[0]: reply.metadata.src_node_id for reply in told}
    answers = [devices.__file__]
    for step in json.loads((folder / "steps.json").read_text()):
        sent = {}
        for device in step["devices"]:
            content = RecordDict()
            if step["query"] is not None:
                content["query"] = ConfigRecord({"query": step["query"].encode(), **step.get("extra", {})})
            message = Message(content, node_of[device], step["type"])
            sent.setdefault(device, []).append(message)
        replies = grid.send_and_receive([m for messages in sent.values() for m in messages], timeout=60)
        device_of = {node: device for device, node in node_of.items()}
        for reply in replies:
            device = device_of[reply.metadata.src_node_id]
            if reply.has_error():
                answers.append([step["name"], device, reply.error.code, reply.error.reason, None])
            else:
                record = reply.content["report"]
                answers.append([step["name"], device, record["device"], record["report"].hex(), record["replayed"]])
    (folder / "answers.json.part").write_text(json.dumps(answers))
    (folder / "answers.json.part").rename(folder / "answers.json")
'''


def table(ask: Ask) -> list[dict[str, object]]:
    """Return messages of every code; tests/devices/test_device.py has the whole table."""
    first, second = (ask(name)[0].query.to_bytes().decode() for name in ("first", "second"))
    larger = ask("third", 9.0)[0].query.to_bytes().decode()

    def step(name: str, query: str | None, kind: str = "query.report", **more: object) -> dict[str, object]:
        return {"name": name, "type": kind, "query": query, "devices": list(range(6)), **more}

    return [
        step("unknown field", first, extra={"more": 1}), step("unknown kind", first, "query.everything"),
        step("train", None, "train"), step("evaluate", None, "evaluate"), step("too much", larger),
        step("two at once", first, devices=[0, 0, 1, 1]), step("first", first), step("retry", first),
        step("other collection", second),
    ]  # fmt: skip


def test_every_row_of_the_table(tmp_path: Path, enrolled: Enrolled, ask: Ask) -> None:
    folder, twin = enrolled().folder, enrolled().folder
    places = {"FOLDER": str(tmp_path), STATE: str(folder)}
    (tmp_path / "steps.json").write_text(json.dumps(table(ask)))
    with Flower(simulation=True, log=tmp_path / "flower.log", environment=places) as flower:
        app = app_folder(flower.folder / "app", {})
        (app / "ldpsim" / "strategies" / "server_app.py").write_text(SCRIPT)
        run = flower.start_run(app, {}, federation="num-supernodes=6 client-resources-num-cpus=1 init-args-num-cpus=2")
        heard: dict[str, set[str]] = {}

        def answered() -> bool:
            for process in flower.processes():
                with suppress(psutil.Error):
                    for connection in process.net_connections("inet"):
                        if connection.status == psutil.CONN_LISTEN:
                            heard.setdefault(process.name(), set()).add(connection.laddr.ip.removeprefix("::ffff:"))
            return (tmp_path / "answers.json").exists()

        flower.wait_until(answered, run, "no answers", seconds=120)
        home = flower.folder
        assert home.stat().st_mode & 0o777 == 0o700 and list(home.glob("ray/session_*/sockets"))
        run.wait(30)
    where, *answers = json.loads((tmp_path / "answers.json").read_text())
    assert Path(where).is_relative_to(home), "the workers run the checkout, not the app that was sent"
    assert not home.exists() and marked() == []
    assert {"gcs_server", "raylet"} < set(heard) and set().union(*heard.values()) == {"127.0.0.1"}, heard
    rows: dict[str, dict[int, list[object]]] = {}
    for name, device, *answer in answers:
        rows.setdefault(name, {}).setdefault(device, []).append(answer)
    codes = {name: {answer[0] for given in row.values() for answer in given} for name, row in rows.items()}
    for name, code in {
        "unknown field": 4001, "unknown kind": 4001, "train": 4002, "evaluate": 4002, "too much": 4003,
        "other collection": 4004,
    }.items():  # fmt: skip
        assert codes[name] == {code}, name
    texts = {answer[1] for row in rows.values() for given in row.values() for answer in given if answer[2] is None}
    assert len(texts) == 4 and all(len(str(text)) < 80 for text in texts)  # one fixed text a code
    # two messages at once: one release, and the other reply gives the same bytes again
    for device in (0, 1):
        one, other = rows["two at once"][device]
        assert one[:2] == other[:2] and sorted([one[2], other[2]]) == [False, True]
    # what a fleet of the same devices says, byte for byte
    said = collect(twin, ask(), devices=40, engine="local").reports
    first = {device: bytes.fromhex(str(given[0][1])) for device, given in rows["first"].items()}
    assert first == {device: said[device] for device in range(6)}
    assert rows["retry"] == {device: [[device, report.hex(), True]] for device, report in first.items()}


TRAIN = '''
"""Strategies of others train the devices of a state folder, and the weights are written down."""
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ConfigRecord
from flwr.serverapp import ServerApp

from ldpsim.devices.federated.wire import WEIGHTS, weights_record
from ldpsim.devices.training_task import Task

app = ServerApp()


@app.main()
def main(grid, context):
    folder = Path(os.environ["FOLDER"])
    space = {}
    exec((folder / "strategies.py").read_text(), space)
    found = {}
    for name, strategy in space["STRATEGIES"].items():
        task = Task(name, *space["TASK"])
        start, config = weights_record(task.shape.initial(1)), ConfigRecord({"task": task.to_bytes()})
        result = strategy().start(grid, start, num_rounds=space["ROUNDS"], train_config=config)
        found[name] = result.arrays[WEIGHTS].numpy()
    np.savez(folder / "part.npz", **found)
    (folder / "part.npz").rename(folder / "weights.npz")
'''
STRATEGIES = """
import numpy as np
from flwr.serverapp.strategy import FedAvg, FedMedian

from ldpsim.devices.federated.wire import WEIGHTS, weights_record

PEOPLE, ROUNDS, TASK = 6, 3, ("own", 30, 4, 3, 0.3, 3)
ALL = {"fraction_evaluate": 0.0, "min_train_nodes": PEOPLE, "min_available_nodes": PEOPLE}


class Largest(FedAvg):
    def aggregate_train(self, server_round, replies):
        rows = [reply.content["arrays"].pop(WEIGHTS).numpy() for reply in replies]
        return weights_record(np.max(rows, axis=0)), None


STRATEGIES = {"FedAvg": lambda: FedAvg(**ALL), "FedMedian": lambda: FedMedian(**ALL), "Largest": lambda: Largest(**ALL)}
"""


def test_strategies_of_others_end_with_the_weights_of_the_simulated_grid(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec(STRATEGIES, space)
    people, tasks = space["PEOPLE"], {name: Task(name, *space["TASK"]) for name in space["STRATEGIES"]}
    population = generate(people, d=30, classes=3, seed=2, words=6)
    policy = policy_for_training(tasks["FedAvg"], population.facts, answers=99)
    state = enrol(tmp_path / "state", population, policy, seed=4)
    (tmp_path / "strategies.py").write_text(STRATEGIES)
    places = {"FOLDER": str(tmp_path), STATE: str(state.folder)}
    with Flower(simulation=True, log=tmp_path / "flower.log", environment=places) as flower:
        app = app_folder(flower.folder / "app", {})
        (app / "ldpsim" / "strategies" / "server_app.py").write_text(TRAIN)
        nodes = f"num-supernodes={people} client-resources-num-cpus=1 init-args-num-cpus=2"
        run = flower.start_run(app, {}, federation=nodes)
        flower.wait_until((tmp_path / "weights.npz").exists, run, "no weights", seconds=180)
        run.wait(30)
    with np.load(tmp_path / "weights.npz") as there:
        for name, make in space["STRATEGIES"].items():
            grid = TrainingGrid(LocalGrid(state.folder, people), train=lambda number: range(1, people + 1))
            start = TrainingState(tasks[name].shape.initial(1))
            here = run_rounds(make(), grid, start, tasks[name].to_bytes(), rounds=space["ROUNDS"])
            assert np.abs(here - there[name]).max() < 1e-6 and np.abs(here - start.weights).max() > 1e-3


def test_three_thousand_devices_send_the_bytes_of_the_local_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``flwr run .`` as people start it: Ray's actors are the nodes, one for each person."""
    monkeypatch.setenv("LDPSIM_HOME", str(tmp_path))
    federation = "num-supernodes=3000 client-resources-num-cpus=1 init-args-num-cpus=2"
    with Flower(simulation=True, log=tmp_path / "flower.log") as flower:
        flower.start_run(ROOT, {"method": "rr", "settings": "epochs=1"}, federation=federation).wait(1200)
    (result,) = tmp_path.glob("flwr/run-*/*/result.json")
    there = json.loads(result.read_text())
    options = RunOptions(method="rr", settings={"epochs": "1"}, reference=False, nulls=False, groups=False, out=None)
    here = simulate(options).record
    assert (there["engine"], here["engine"]) == ("flower", "local")
    assert there["devices"] == here["devices"] and there["devices"]["reported"] == 3000
    assert (there["config_hash"], there["privacy"]) == (here["config_hash"], here["privacy"])
    assert marked() == []
