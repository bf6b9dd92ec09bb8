"""Collection on Flower's own simulation runtime, started and stopped from Python.

It runs the same ClientApp and the same strategy as the other engines, under ``flwr run``. It is
for comparison and slow: the runtime's work grows with the square of the number of nodes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from ldpsim.curator.methods.base import Question
from ldpsim.devices.client_app import STATE
from ldpsim.devices.collector import SignedTerms
from ldpsim.strategies.engines.flower_job import FAILURE, JOB, RESULT, Job, load_collected, load_failure
from ldpsim.strategies.engines.flower_processes import Flower, FlowerFailed, app_folder
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.stages import Stages

TIMEOUT = 3600.0
_START_SECONDS = 120.0
_END_SECONDS = 20.0


def collect_with_flower(
    folder: Path,
    questions: Sequence[Question],
    *,
    devices: int,
    silent: frozenset[int] = frozenset(),
    workers: int | None = None,
    timeout: float = TIMEOUT,
    stages: Stages | None = None,
    terms: SignedTerms | None = None,
) -> Collected:
    """Ask the devices of a state folder through Flower's simulation runtime.

    The function starts a SuperLink and always stops it with all its processes. If the run
    fails, its logs are kept and the error names them.

    Args:
        folder: The enrolled state folder.
        questions: The queries, and the devices that each one is for.
        devices: Number of enrolled devices; each gets a simulated SuperNode.
        silent: Devices that never answer.
        workers: Number of Ray actors; None for one per core.
        timeout: Seconds to wait for replies.
        stages: Makes the questions of later stages; required for a query of several stages.
        terms: Signed terms that go with the questions.

    Raises:
        FlowerFailed: if the run brought no collection.
    """
    job_folder = Path(tempfile.mkdtemp(prefix="ldpsim-job-"))
    with ExitStack() as cleaning:
        cleaning.callback(shutil.rmtree, job_folder, ignore_errors=True)
        Job(tuple(questions), devices, silent, timeout, stages, terms).save(job_folder)
        try:
            return _run_job(job_folder, folder.resolve(), devices=devices, workers=workers, timeout=timeout)
        except FlowerFailed:  # its text names the log in the job's folder
            cleaning.pop_all()
            raise


def _run_job(folder: Path, state: Path, *, devices: int, workers: int | None, timeout: float) -> Collected:
    actors = max(1, min(devices, workers or os.cpu_count() or 1))
    federation = f"num-supernodes={devices} client-resources-num-cpus=1 init-args-num-cpus={actors}"
    log = folder / "flower.log"
    with Flower(simulation=True, log=log, environment={JOB: str(folder), STATE: str(state)}) as flower:
        run = flower.start_run(app_folder(flower.folder / "app", {}), {}, federation=federation)

        def ended() -> bool:
            return (folder / RESULT).exists() or (folder / FAILURE).exists()

        flower.wait_until(ended, run, "Flower's run ended without an answer", seconds=timeout + _START_SECONDS)
        # Ray leaves processes behind if it has no time to end them.
        with suppress(subprocess.TimeoutExpired):
            run.wait(_END_SECONDS)
        line = load_failure(folder)
        if line is not None:
            raise FlowerFailed(f"{line} (log: {log})")
        return load_collected(folder)
