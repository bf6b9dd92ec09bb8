"""Ray: started on this machine, or attached to a cluster, in one place.

Ray reports no usage statistics: :data:`devices.NO_TELEMETRY` is in the environment before
Ray is imported here.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import Any

from strategies.engines.cpu_time import note_ended, note_ending


class RaySession:
    """Ray for as long as it is needed; a Ray that ran before stays as it is.

    Args:
        workers: Number of cores of a Ray that is started here; None for all.
        address: Address of a cluster; None for this machine.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # ends a warning about a future default
        import ray

        self.ray: Any = ray
        self._started = not ray.is_initialized()
        if self._started:
            # Ray's own handler of SIGTERM aborts the process: nothing would say what is kept of the run.
            before = signal.getsignal(signal.SIGTERM)
            ray.init(address=address, num_cpus=None if address else workers, include_dashboard=False,
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
