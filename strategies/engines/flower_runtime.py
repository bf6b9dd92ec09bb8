"""Grid of devices on Flower's own simulation runtime, started and stopped from Python.

It runs the ClientApp of the other engines under ``flwr run``. It is for comparison and slow: the runtime's work
grows with the square of the number of nodes. The ServerApp passes messages on
(:func:`ldpsim.strategies.server_app.pass_on`), over a socket in a folder that no other user enters.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from select import select
from typing import Any

from flwr.app import Error, Message

from ldpsim.devices.client_app import STATE
from ldpsim.strategies.engines.flower_processes import Flower, FlowerFailed, app_folder
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.engines.ray_session import own_folder

SOCKET = "LDPSIM_SOCKET"  # in the environment of Flower's processes: where the ServerApp gets its messages
TIMEOUT = 3600.0  # seconds in which all nodes must answer
_START_SECONDS = 120.0
_END_SECONDS = 20.0


class FlowerGrid(DirectGrid):
    """Grid of devices that Flower's runtime simulates, one node each.

    Args:
        size: Number of devices.
        flower: The runtime.
        run: The process of ``flwr run``.
        app: Connection to the ServerApp.
    """

    def __init__(self, size: int, flower: Flower, run: subprocess.Popen[bytes], app: Connection) -> None:
        super().__init__(size)
        self._flower, self._run_process, self._app = flower, run, app
        self._ask(size)

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Let the ServerApp send messages, at most one to a device, and yield the replies."""
        sent = {message.metadata.dst_node_id - 1: message for message in messages}
        heads = ((device, message.metadata, message.content) for device, message in sent.items())
        for device, payload in self._ask(
            [(device, h.message_type, h.group_id, content) for device, h, content in heads]
        ):
            yield Message(Error(*payload) if isinstance(payload, tuple) else payload, reply_to=sent[device])

    def _ask(self, asked: Any) -> Any:
        """Send something to the ServerApp and return its answer; FlowerFailed where its run ends before that."""
        answers = []

        def answered() -> bool:
            with suppress(EOFError, OSError):  # the log of the run says why
                if self._app.poll():
                    answers.append(self._app.recv())
            return bool(answers)

        with suppress(OSError):
            self._app.send(asked)
        failure = "Flower's run ended without an answer"
        self._flower.wait_until(answered, self._run_process, failure, seconds=TIMEOUT + _START_SECONDS)
        return answers[0]


@contextmanager
def flower_grid(folder: Path, devices: int, *, workers: int | None = None) -> Iterator[FlowerGrid]:
    """Start Flower's simulation runtime for the devices of a state folder, and always stop all of its processes.

    If the run fails, its log is kept and the error names it.

    Args:
        folder: The enrolled state folder.
        devices: Number of enrolled devices; each gets a simulated SuperNode.
        workers: Number of Ray actors; None for one per core.

    Raises:
        FlowerFailed: if the run does not start, or ends before the devices have answered.
    """
    actors = max(1, min(devices, workers or os.cpu_count() or 1))
    federation = f"num-supernodes={devices} client-resources-num-cpus=1 init-args-num-cpus={actors}"
    logs = Path(tempfile.mkdtemp(prefix="ldpsim-flower-"))
    with ExitStack() as cleaning:
        cleaning.callback(shutil.rmtree, logs, ignore_errors=True)
        try:
            with own_folder() as private, socket.socket(socket.AF_UNIX) as door:
                door.bind(f"{private}/messages")
                door.listen(1)
                places = {SOCKET: f"{private}/messages", STATE: str(folder.resolve())}
                with Flower(simulation=True, log=logs / "flower.log", environment=places) as flower:
                    run = flower.start_run(app_folder(flower.folder / "app", {}), {}, federation=federation)
                    failure = "Flower's run did not start"
                    flower.wait_until(lambda: bool(select([door], [], [], 0)[0]), run, failure, seconds=_START_SECONDS)
                    with Connection(door.accept()[0].detach()) as app:
                        yield FlowerGrid(devices, flower, run, app)
                    with suppress(subprocess.TimeoutExpired):  # Ray leaves processes behind if it has no time to end
                        run.wait(_END_SECONDS)
        except FlowerFailed:  # its text names the log
            cleaning.pop_all()
            raise
