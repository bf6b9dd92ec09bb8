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

from devices.enrolment import State
from devices.tasks import Task
from strategies.federated_job import TrainingJob
from strategies.flower_processes import Flower, app_folder

SUPERNODES, ROUNDS = 4, 3
_SECONDS = 300.0


class Forwarder:
    """Forwards TCP connections on loopback to another port and counts the bytes each way.

    Args:
        port: Where to.
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


def measure_wire(state: State, task: Task, *, seed: int, nodes: int = SUPERNODES, rounds: int = ROUNDS) -> dict[str, Any]:
    """Run a few rounds in a deployment on loopback and return payload, wire bytes and their ratio.

    Args:
        state: Devices enrolled for this task; the first ``nodes`` of them train.
        task: The task.
        seed: Of the initial weights.
        nodes, rounds: The size of the deployment.

    Raises:
        FlowerFailed: where the deployment did not finish.
    """
    with tempfile.TemporaryDirectory(prefix="ldpsim-wire-") as name:
        folder = Path(name)
        TrainingJob(task, task.shape.initial(seed), nodes, rounds).save(folder)
        with Flower(simulation=False, log=folder / "flower.log") as flower:
            forwarder = Forwarder(flower.port)
            for device in range(nodes):
                home = str(state.folder.resolve())
                flower.start_supernode({"partition-id": device, "state-dir": home}, superlink=forwarder.port)
            config = {"job": str(folder)}
            run = flower.start_run(app_folder(flower.folder / "app", config), config)
            done = folder / "trained.json"
            flower.wait_until(done.exists, run, "the deployment brought no weights", seconds=_SECONDS)
            down, up = forwarder.downlink, forwarder.uplink
            forwarder.close()
        found = json.loads(done.read_text())
    payload = found["phases"]["training"]
    sent = payload["downlink_bytes"] + payload["uplink_bytes"]
    return {
        "supernodes": nodes, "rounds": rounds, "answered": found["answered"],
        "payload_bytes": {"downlink": payload["downlink_bytes"], "uplink": payload["uplink_bytes"]},
        "wire_bytes": {"downlink": down, "uplink": up},
        "overhead_factor": (down + up) / sent,
    }  # fmt: skip
