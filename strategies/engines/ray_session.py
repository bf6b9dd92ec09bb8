"""Ray: started on this machine, or attached to a cluster, in one place.

A Ray that is started here takes connections of this machine alone, with a token that no other user knows, and keeps its
files in a folder that no other user enters. A cluster is its owner's: nothing of it is changed.

Ray reports no usage statistics: :data:`devices.NO_TELEMETRY` is in the environment before
Ray is imported here.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ldpsim.strategies.engines.usage import note_ended, note_ending

START_SECONDS = 120.0  # in which Ray must bring the workers up
# A socket's path has at most 103 bytes on macOS and 107 on Linux; those of Ray need 68 of them below its folder.
_LONGEST_FOLDER = 35


class RayFailed(RuntimeError):
    """Ray brings no worker, or loses one after the other."""


def started(ray: Any, asked: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the references to workers' first answers that are there in :data:`START_SECONDS`, and the late ones."""
    return ray.wait(asked, num_returns=len(asked), timeout=START_SECONDS) if asked else ([], [])


def all_of(ray: Any, asked: list[Any]) -> list[Any]:
    """Return the references to workers' first answers, when all are there.

    Raises:
        RayFailed: where Ray does not start all of them in :data:`START_SECONDS`.
    """
    done, late = started(ray, asked)
    if late:
        raise RayFailed(f"Ray started {len(done)} of {len(asked)} workers in {START_SECONDS:.0f} seconds")
    return done


def own_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder for this user alone, whose path is short enough for Ray's sockets."""
    made = tempfile.TemporaryDirectory(prefix="ldpsim-", ignore_cleanup_errors=True, dir=os.environ.get("RAY_TMPDIR"))
    if len(os.fsencode(made.name)) > _LONGEST_FOLDER:
        made.cleanup()
        made = tempfile.TemporaryDirectory(prefix="ldpsim-", ignore_cleanup_errors=True, dir="/tmp")
    return made


def own_environment(folder: str) -> dict[str, str]:
    """Return the variables with which a Ray is this user's alone.

    Args:
        folder: Where it keeps its files (:func:`own_folder`).
    """
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # "No cluster of several machines": its sockets are then on loopback, on every system.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_TMPDIR": folder,
    }


@contextmanager
def _reading(ray: Any, variables: Mapping[str, str]) -> Iterator[None]:
    """Start Ray inside with these variables: it has read them when it was imported, or for the session before."""
    raylet, constants = ray._raylet, ray._private.ray_constants
    before, clustered = {name: os.environ.get(name) for name in variables}, constants.ENABLE_RAY_CLUSTER
    try:
        os.environ.update(variables)
        constants.ENABLE_RAY_CLUSTER = clustered and not variables
        raylet.AuthenticationTokenLoader.instance().reset_cache()
        raylet.Config.initialize("")
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = clustered
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@dataclass(frozen=True)
class Machine:
    """A machine of a Ray cluster.

    Args:
        cores: Number of its cores.
        host, port: Address at which its Ray takes connections.
    """

    cores: int
    host: str
    port: int

    def is_gone(self) -> bool:
        """Return whether it refuses a connection. One that does not answer at all is left to Ray, which knows later."""
        try:
            socket.create_connection((self.host, self.port), timeout=1).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        return False


class RaySession:
    """Ray for as long as it is needed; a Ray that ran before stays as it is.

    Args:
        workers: Number of cores of a Ray that is started here; None for all.
        address: Address of a cluster; None for a Ray of our own on this machine, whatever other Ray runs here.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # ends a warning about a future default
        import ray

        self.ray: Any = ray
        self._started = not ray.is_initialized()
        if self._started:
            # Ray's own handler of SIGTERM aborts the process: nothing would say what is kept of the run.
            before = signal.getsignal(signal.SIGTERM)
            # Without "local" Ray joins a cluster that `ray start` or RAY_ADDRESS names, which nobody chose here.
            address = address or "local"
            own = address == "local"
            self._folder = own_folder() if own else None
            with _reading(ray, own_environment(self._folder.name) if self._folder else {}):
                ray.init(address=address, num_cpus=workers if own else None, include_dashboard=False,
                         log_to_driver=False, logging_level=logging.ERROR)  # fmt: skip
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)

    @property
    def cores(self) -> int:
        """Number of cores that Ray has, at least 1."""
        return int(self.ray.cluster_resources().get("CPU", 1))

    @property
    def machines(self) -> dict[str, Machine]:
        """The machines that are there and have cores, by Ray's id."""
        return {
            node["NodeID"]: Machine(cores, node["NodeManagerAddress"], node["NodeManagerPort"])
            for node in self.ray.nodes()
            if node["Alive"] and (cores := int(node["Resources"].get("CPU", 0)))
        }

    @staticmethod
    def on(machine: str) -> Any:
        """Return the option of an actor or a task that binds it to a machine, by Ray's id."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(machine, soft=False)

    @property
    def lost(self) -> tuple[type[Exception], ...]:
        """Errors that Ray raises for a worker, a machine or a reply that is lost."""
        errors = self.ray.exceptions
        return errors.RayActorError, errors.ObjectLostError, errors.ActorUnschedulableError, errors.NodeDiedError

    def get(self, reference: Any) -> Any:
        """Return an answer; an error of the worker's own is raised as it was there."""
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None

    def close(self) -> None:
        """Shut Ray down if it was started here."""
        if self._started:
            before = note_ending()
            self.ray.shutdown()
            note_ended(before)
            self._started = False
            if self._folder is not None:
                self._folder.cleanup()
