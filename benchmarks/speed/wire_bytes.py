"""Bytes on the wire: a small federated training between real SuperNodes and a SuperLink, on loopback.

Every other figure counts payloads as encoded. Here SuperNodes reach their SuperLink through
a forwarder in this process that counts what passes in either direction, gRPC framing,
protobuf, node registration, polling and all, so that the two can be set side by side.
"""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ldpsim.devices.enrolment.state import State
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.flower_job import JOB
from ldpsim.strategies.engines.flower_processes import Flower, app_folder
from ldpsim.strategies.flower_app.training_job import TrainingJob

SUPERNODES, ROUNDS = 4, 6
_SECONDS = 300.0


class Forwarder:
    """Forwarder of TCP connections on loopback that counts the bytes each way.

    Args:
        port: Target port.
    """

    def __init__(self, port: int) -> None:
        self.target = port
        self.uplink = self.downlink = 0
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                for source, sink, up in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._copy, args=(source, sink, up), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket, up: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                with self._lock:
                    self.uplink += len(data) * up
                    self.downlink += len(data) * (not up)
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Accept no more connections."""
        self._server.close()


def measure_wire(
    state: State, task: Task, *, seed: int, nodes: int = SUPERNODES, rounds: int = ROUNDS
) -> dict[str, Any]:
    """Run two small deployments on loopback, of 1 and of ``rounds`` rounds, and set wire bytes beside payload.

    Args:
        state: Devices enrolled for this task; the first ``nodes`` of them train.
        task: The task.
        seed: Of the initial weights.
        nodes, rounds: The size of the larger deployment; at least 2 rounds.

    Returns:
        ``start``: wire bytes of the smaller one less a round (the app's own download, registration);
        ``overhead_factor``: wire over payload of the rounds that the larger one has more.

    Raises:
        FlowerFailed: where a deployment did not finish.
    """
    short, long = (_deploy(state, task, seed, nodes, number) for number in (1, rounds))
    more = {way: long["wire"][way] - short["wire"][way] for way in _WAYS}
    payload = {way: long["payload"][way] - short["payload"][way] for way in _WAYS}
    per_round = {way: more[way] / (rounds - 1) for way in _WAYS}
    return {
        "supernodes": nodes, "rounds": rounds, "wire_bytes": long["wire"], "payload_bytes": long["payload"],
        "start": {way: round(short["wire"][way] - per_round[way]) for way in _WAYS},
        "overhead_factor": sum(more.values()) / sum(payload.values()),
        "overhead_factor_by_way": {way: more[way] / payload[way] for way in _WAYS},
    }  # fmt: skip


_WAYS = ("downlink", "uplink")


def _deploy(state: State, task: Task, seed: int, nodes: int, rounds: int) -> dict[str, dict[str, int]]:
    with tempfile.TemporaryDirectory(prefix="ldpsim-wire-") as name:
        folder = Path(name)
        TrainingJob(task, task.shape.initial(seed), nodes, rounds).save(folder)
        with Flower(simulation=False, log=folder / "flower.log", environment={JOB: name}) as flower:
            forwarder = Forwarder(flower.port)
            for device in range(nodes):
                home = str(state.folder.resolve())
                flower.start_supernode({"partition-id": device, "state-dir": home}, superlink=forwarder.port)
            run = flower.start_run(app_folder(flower.folder / "app", {}), {})
            done = folder / "trained.json"
            flower.wait_until(done.exists, run, "the deployment brought no weights", seconds=_SECONDS)
            wire = {"downlink": forwarder.downlink, "uplink": forwarder.uplink}
            forwarder.close()
        payload = json.loads(done.read_text())["phases"]["training"]
    return {"wire": wire, "payload": {way: payload[f"{way}_bytes"] for way in _WAYS}}
