"""Where messages go: one function, three engines.

``local``: a fleet in this process. ``ray``: batches to Ray actors, on this machine or a
cluster. ``flower``: Flower's own simulation runtime. The same ClientApp, strategy and
seed give byte-identical reports on all of them. ``auto`` is local until Ray pays.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from curator.methods.base import Question
from devices.client_app import release_states
from strategies.engines.grids import LocalGrid, RayGrid
from strategies.rounds.collect_once import Collected, CollectOnce, run_collection
from strategies.rounds.stages import Stages

# One process answers for about ten thousand devices a second; starting Ray and its actors
# takes several seconds (benchmarks/speed/bench_collection.py). On one machine it pays from here on.
RAY_PAYS_FROM = 100_000


def choose(engine: str, devices: int, ray_address: str | None) -> str:
    """Return the engine that ``auto`` means for this many devices."""
    if engine != "auto":
        return engine
    return "ray" if ray_address or devices >= RAY_PAYS_FROM else "local"


def collect(
    folder: Path,
    questions: Sequence[Question],
    *,
    devices: int,
    engine: str = "auto",
    workers: int | None = None,
    ray_address: str | None = None,
    silent: frozenset[int] = frozenset(),
    stages: Stages | None = None,
) -> Collected:
    """Ask the devices of a state folder and return what they said.

    Args:
        folder: The enrolled state folder.
        questions: What is asked, and of which devices.
        devices: How many devices are enrolled.
        engine: ``auto``, ``local``, ``ray`` or ``flower``.
        workers: For ``ray`` and ``flower``.
        ray_address: For ``ray``.
        silent: Devices that never answer.
        stages: Makes the questions of later stages, where a plan has some.

    Raises:
        ValueError: where the engine cannot be had.
    """
    chosen = choose(engine, devices, ray_address)
    if chosen == "flower":
        from strategies.engines.flower_runtime import collect_with_flower

        return collect_with_flower(folder, questions, devices=devices, silent=silent, workers=workers, stages=stages)
    strategy = CollectOnce(questions, range(1, devices + 1), silent=silent, stages=stages)
    with quiet_flower():
        if chosen == "local":
            try:
                return run_collection(strategy, LocalGrid(folder, devices))
            finally:
                release_states()
        grid = RayGrid(folder, devices, workers=workers, address=ray_address)
        try:
            return run_collection(strategy, grid)
        finally:
            grid.close()


@contextmanager
def quiet_flower() -> Iterator[None]:
    """Keep Flower's own log lines off the screen; warnings still come through."""
    logger = logging.getLogger("flwr")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
