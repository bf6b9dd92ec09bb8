"""Flower's own processes: started in a folder of their own, and always stopped.

``flwr run`` talks to a SuperLink, the SuperLink starts a SuperExec, which starts the run,
which (in a simulation) starts Ray. They do not end with one another, and each is a
session of its own, so that no process group holds them all. Every process started here
therefore carries a mark in its environment; whatever carries it, or descends from one
that does, is stopped at the end, by its process id.
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
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

MARK = "LDPSIM_FLOWER_PROCESS"
CONNECTION = "own"
PACKAGES = ("devices", "curator", "strategies")
_SUFFIXES = {".py", ".toml"}
_START_SECONDS = 60.0
_STOP_SECONDS = 5.0
# Ray's sockets lie 68 characters below this folder, and a socket's path has at most 107.
_RAY_FOLDER_LENGTH = 39


class FlowerFailed(RuntimeError):
    """One of Flower's processes did not do what it should; the text names the log."""


class Flower:
    """A SuperLink of our own, on loopback, and every process started with it.

    Use it as a context manager: leaving it, in whatever way, stops all its processes and
    removes its folder.

    Args:
        simulation: Whether the SuperLink simulates its SuperNodes.
        log: File that takes what Flower's processes print.
    """

    def __init__(self, *, simulation: bool, log: Path) -> None:
        self.simulation = simulation
        self.log = log
        self.port = free_port()
        self._mark = secrets.token_hex(16)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def folder(self) -> Path:
        """Where Flower's processes run and keep their files: outside any checkout."""
        if self._folder is None:
            raise FlowerFailed("Flower's processes are not running")
        return Path(self._folder.name)

    def __enter__(self) -> Flower:
        self._folder = tempfile.TemporaryDirectory(prefix="ldpsim-", ignore_cleanup_errors=True)
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
        """Start one of Flower's commands; its output goes to the log."""
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

    def start_supernode(
        self, node_config: Mapping[str, str | int], *, superlink: int | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a SuperNode that connects to this SuperLink, or to a port of loopback that leads there."""
        port = free_port()
        config = " ".join(f"{key}={json.dumps(value)}" for key, value in node_config.items())
        command = ["flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{superlink or self.port}"]
        return self.start([*command, "--host", "127.0.0.1", "--port", str(port), "--node-config", config])

    def start_run(
        self, app: Path, run_config: Mapping[str, Any], *, federation: str | None = None
    ) -> subprocess.Popen[bytes]:
        """Start ``flwr run`` on an app; it ends when the run has ended."""
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
        """Wait until something is done.

        Raises:
            FlowerFailed: where the process ends first, or it takes too long.
        """
        deadline = time.monotonic() + seconds
        while not done():
            if process.poll() is not None and not done():
                raise FlowerFailed(f"{failure}{_last_words(self.log)}")
            if time.monotonic() > deadline:
                raise FlowerFailed(f"{failure} within {seconds:.0f} seconds{_last_words(self.log)}")
            time.sleep(0.05)

    def processes(self) -> list[psutil.Process]:
        """Return all living processes that were started here, descendants included."""
        found: dict[int, psutil.Process] = {}
        own = psutil.Process()
        for process in psutil.process_iter():
            try:
                # Only our own: another's environment cannot be read, and is none of ours.
                if process == own or process.environ().get(MARK) != self._mark:
                    continue
                for member in (process, *process.children(recursive=True)):
                    found[member.pid] = member
            except (psutil.Error, OSError):
                continue
        for started in self._processes:
            if started.poll() is None:
                found.setdefault(started.pid, psutil.Process(started.pid))
        return [p for p in found.values() if _alive(p)]

    def stop(self) -> None:
        """Stop everything that was started here, and remove the folder."""
        try:
            for signal_name in ("terminate", "kill", "kill"):
                family = self.processes()
                for process in family:
                    try:
                        getattr(process, signal_name)()
                    except psutil.NoSuchProcess:
                        continue
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
            **os.environ,
            MARK: self._mark,
            "FLWR_HOME": str(self.folder),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            "PYTHONUNBUFFERED": "1",
            # Flower's processes start one another by name, and talk over loopback.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }
        environment.pop("RAY_ADDRESS", None)  # the runtime's Ray is its own, never a cluster of the person's
        if len(str(self.folder)) <= _RAY_FOLDER_LENGTH:
            environment["RAY_TMPDIR"] = str(self.folder)  # Ray's files go with the folder
        return environment

    def _answers(self, port: int) -> bool:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{port}/health", timeout=1) as response:
                return bool(response.status == 200)
        except (OSError, urllib.error.URLError):
            return False


def app_folder(folder: Path, config: Mapping[str, Any]) -> Path:
    """Make a Flower app of the installed packages, from a checkout or a wheel alike.

    Args:
        folder: Where to make it; must not exist.
        config: The app's configuration with its defaults.
    """
    folder.mkdir(parents=True)
    for package in PACKAGES:
        source = Path(__file__).resolve().parents[2] / package
        for path in sorted(source.rglob("*")):
            if path.is_file() and path.suffix in _SUFFIXES:
                target = folder / package / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    lines = [
        "[project]",
        'name = "ldpsim"',
        'version = "0.0.0"',  # an app for one run
        'description = "Reports under local differential privacy"',
        'license = "Apache-2.0"',
        "[tool.flwr.app]",
        'publisher = "ldpsim"',
        "[tool.flwr.app.components]",
        'serverapp = "strategies.server_app:app"',
        'clientapp = "devices.client_app:app"',
        "[tool.flwr.app.config]",
        *(f"{key} = {json.dumps(value)}" for key, value in config.items()),
    ]
    (folder / "pyproject.toml").write_text("\n".join(lines) + "\n")
    return folder


def free_port() -> int:
    """Return a port of loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _executable(name: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise FlowerFailed(f"the command {name} was not found beside {sys.executable}; is flwr installed?")
    return found


def _alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _end_with_parent() -> Callable[[], None] | None:
    """Have the kernel end a child when this process is killed outright (Linux only)."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)

    def before_exec() -> None:
        libc.prctl(1, int(signal.SIGTERM))  # PR_SET_PDEATHSIG

    return before_exec


def _last_words(log: Path, *, lines: int = 3) -> str:
    """Return the end of a log as part of one line, and where all of it is."""
    try:
        text = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    told = " | ".join(text[-lines:])[-600:]
    return f"; the log {log} ends: {told}" if told else ""
