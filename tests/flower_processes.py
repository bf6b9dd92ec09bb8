"""Flower's own processes: started in a temporary folder, and always stopped.

``flwr run`` connects to a SuperLink. The SuperLink starts a SuperExec, which starts the run,
which (in a simulation) starts Ray. These processes do not end together, and each one is in a
session of its own, so no process group has them all. Therefore every process that is started
here has a mark in its environment. All processes with the mark, and their descendants, are
stopped at the end by process id.
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from ldpsim.strategies.engines.pool import own_environment, own_folder

MARK = "LDPSIM_FLOWER_PROCESS"
CONNECTION = "own"
_START_SECONDS = 60.0
_STOP_SECONDS = 5.0


class FlowerFailed(RuntimeError):
    """Failure of one of Flower's processes. The text names the log."""


class Flower:
    """SuperLink on loopback, with all processes started for it.

    Use it as a context manager. Its end always stops all processes and removes the folder.

    Args:
        simulation: Whether the SuperLink simulates its SuperNodes.
        log: File for the output of Flower's processes.
        environment: Further variables of all processes, those that run the app too.
    """

    def __init__(self, *, simulation: bool, log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.simulation = simulation
        self._more = dict(environment or {})
        self.log = log
        self.port = free_port()
        self._mark = secrets.token_hex(16)
        self._ray: dict[str, str] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def folder(self) -> Path:
        """Folder where Flower's processes run and keep their files, outside any checkout."""
        if self._folder is None:
            raise FlowerFailed("Flower's processes are not running")
        return Path(self._folder.name)

    def __enter__(self) -> Flower:
        self._folder = own_folder()
        self._ray = own_environment(self._folder.name)
        try:
            (self.folder / "config.toml").write_text(
                f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
                f'address = "127.0.0.1:{self.port}"\ninsecure = true\n'
            )
            command = ["flower-superlink", "--insecure", "--disable-runtime-dependency-installation"]
            command += ["--host", "127.0.0.1", "--port", str(self.port)]
            superlink = self.start(command + ["--simulation"] * self.simulation)
            self.wait_until(lambda: self._answers(self.port), superlink, "the SuperLink did not start")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start one of Flower's commands. Its output goes to the log."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [_executable(command[0]), *command[1:]],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent(),
            )
        self._processes.append(process)
        return process

    def start_supernode(self, node_config: Mapping[str, str | int]) -> subprocess.Popen[bytes]:
        """Start a SuperNode that connects to this SuperLink."""
        port = free_port()
        config = " ".join(f"{key}={json.dumps(value)}" for key, value in node_config.items())
        command = ["flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{self.port}"]
        return self.start([*command, "--host", "127.0.0.1", "--port", str(port), "--node-config", config])

    def start_run(
        self, app: Path, run_config: Mapping[str, Any], *, federation: str | None = None
    ) -> subprocess.Popen[bytes]:
        """Start ``flwr run`` on an app. It ends with the run."""
        handle, name = tempfile.mkstemp(suffix=".toml", dir=self.folder)
        with os.fdopen(handle, "w") as file:
            file.writelines(f"{key} = {json.dumps(value)}\n" for key, value in run_config.items())
        command = ["flwr", "run", str(app), CONNECTION, "--stream", "--run-config", name]
        return self.start(command + (["--federation-config", federation] if federation else []))

    def wait_until(
        self,
        done: Callable[[], bool],
        process: subprocess.Popen[bytes],
        failure: str,
        *,
        seconds: float = _START_SECONDS,
    ) -> None:
        """Wait until ``done()`` is true.

        Raises:
            FlowerFailed: if the process ends first, or the time is over.
        """
        deadline = time.monotonic() + seconds
        while not done():
            if process.poll() is not None and not done():
                raise FlowerFailed(f"{failure}{_last_words(self.log)}")
            if time.monotonic() > deadline:
                raise FlowerFailed(f"{failure} within {seconds:.0f} seconds{_last_words(self.log)}")
            time.sleep(0.05)

    def processes(self) -> list[psutil.Process]:
        """Return all living processes that were started here, with their descendants."""
        by_pid: dict[int, psutil.Process] = {}
        own = psutil.Process()
        for process in psutil.process_iter():
            try:
                # Only processes of this user: the environment of others cannot be read.
                if process == own or process.environ().get(MARK) != self._mark:
                    continue
                for member in (process, *process.children(recursive=True)):
                    by_pid[member.pid] = member
            except (psutil.Error, OSError):
                continue
        for started in self._processes:
            if started.poll() is None:
                by_pid.setdefault(started.pid, psutil.Process(started.pid))
        return [p for p in by_pid.values() if _alive(p)]

    def stop(self) -> None:
        """Stop all processes that were started here, and remove the folder."""
        try:
            for signal_name in ("terminate", "kill", "kill"):
                family = self.processes()
                for process in family:
                    with suppress(psutil.NoSuchProcess):
                        getattr(process, signal_name)()
                deadline = time.monotonic() + _STOP_SECONDS
                while time.monotonic() < deadline and any(_alive(process) for process in family):
                    time.sleep(0.02)
                for started in self._processes:
                    started.poll()
        finally:
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _environment(self) -> dict[str, str]:
        environment = {
            **os.environ,  # devices.NO_TELEMETRY is in it
            **self._more,
            MARK: self._mark,
            "FLWR_HOME": str(self.folder),
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            "PYTHONUNBUFFERED": "1",
            # Flower's processes start one another by name, and talk over loopback.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }
        environment.pop("RAY_ADDRESS", None)  # the runtime's Ray is its own, never a cluster of the person's
        return environment | self._ray

    def _answers(self, port: int) -> bool:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{port}/health", timeout=1) as response:
                return bool(response.status == 200)
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except OSError:
            return False


def free_port() -> int:
    """Return a loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _executable(name: str) -> str:
    beside = Path(sys.executable).parent / name
    path = str(beside) if beside.is_file() else shutil.which(name)
    if path is None:
        raise FlowerFailed(f"the command {name} was not found beside {sys.executable}; is flwr installed?")
    return path


def _alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _end_with_parent() -> Callable[[], None] | None:
    """Return a function that makes the kernel end a child when this process is killed (Linux only)."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)

    def before_exec() -> None:
        libc.prctl(1, int(signal.SIGTERM))  # PR_SET_PDEATHSIG

    return before_exec


def _last_words(log: Path, *, lines: int = 3) -> str:
    """Return the last lines of a log and its path, as part of one line."""
    try:
        text = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    words = " | ".join(text[-lines:])[-600:]
    return f"; the log {log} ends: {words}" if words else ""
