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
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ldpsim.strategies.engines.usage import note_ended, note_ending

# A socket's path has at most 103 bytes on macOS and 107 on Linux; those of Ray need 68 of them below its folder.
_LONGEST_FOLDER = 35


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

    def close(self) -> None:
        """Shut Ray down if it was started here."""
        if self._started:
            before = note_ending()
            self.ray.shutdown()
            note_ended(before)
            self._started = False
            if self._folder is not None:
                self._folder.cleanup()
