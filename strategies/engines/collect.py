"""One collection on one of two engines.

``local`` and ``ray`` are a fleet in this process, which alone reads, decides, commits and replies. ``local`` draws
reports in this process too, or in one for each core where there are many devices. ``ray`` draws them in Ray's workers,
on this machine or a cluster; they need no folder of the devices. The same strategy and seed give byte-identical reports
on both, and under Flower's runtime (``flwr run .``). ``auto`` is ``ray`` where a cluster is named, else ``local``.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from flwr.serverapp import Grid

from ldpsim.curator.methods.base import Question
from ldpsim.curator.reports.question import number_of_recipients
from ldpsim.devices.curator_key import SignedTerms
from ldpsim.devices.enrolment.state import SHARD
from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies.engines.grids import DirectGrid, LocalGrid
from ldpsim.strategies.engines.pool import available_cores, on_ray, processes
from ldpsim.strategies.rounds.collect_once import Collected, CollectOnce, run_collection

# A process takes one to two seconds to start, in which this one would answer for 20,000 devices.
PROCESSES_PAY_FROM = 50_000


def choose(engine: str, ray_address: str | None) -> str:
    """Return the engine that ``auto`` means: ``ray`` where a cluster is named."""
    if engine != "auto":
        return engine
    return "ray" if ray_address else "local"


@dataclass(frozen=True, eq=False)
class Connection:
    """An open Grid, and the node of each device.

    Args:
        grid: The Grid.
        nodes: Flower's node id of every device, by the device's public number.
        engine: Name of the engine behind it.
        absent: Devices without a node: they count as silent.
        timeout: Seconds after which a device that has not answered is silent.
        terms: Signed terms that go with every question, in place of those that are given with it.
    """

    grid: Grid
    nodes: Sequence[int]
    engine: str
    absent: frozenset[int] = frozenset()
    timeout: float = 3600.0
    terms: SignedTerms | None = None

    def ask(
        self, questions: Sequence[Question], *, dropouts: frozenset[int] = frozenset(),
        terms: SignedTerms | None = None, facts: PublicFacts | None = None,
    ) -> Collected:  # fmt: skip
        """Ask the devices, once, and return their reports; see :class:`CollectOnce` for the arguments."""
        strategy = CollectOnce(questions, self.nodes, dropouts=dropouts | self.absent, terms=self.terms or terms,
                               facts=facts)  # fmt: skip
        return run_collection(strategy, self.grid, timeout=self.timeout)


# Opens the Grid of the devices of a state folder: their folder, how many they are, how many of them are asked.
Connect = Callable[[Path, int, int], AbstractContextManager[Connection]]


@contextmanager
def open_connection(
    folder: Path, devices: int, asked: int, *, engine: str = "auto", workers: int | None = None,
    ray_address: str | None = None,
) -> Iterator[Connection]:  # fmt: skip
    """Open the Grid of the devices of a state folder on an engine, ``asked`` of which are asked (:func:`grid_for`)."""
    opened = grid_for(folder, devices, engine=engine, workers=workers, ray_address=ray_address, total=asked)
    with quiet_flower(), _old_objects_left_alone(), opened as grid:
        yield Connection(grid, range(1, devices + 1), choose(engine, ray_address))


def collect(
    folder: Path,
    questions: Sequence[Question],
    *,
    devices: int,
    engine: str = "auto",
    workers: int | None = None,
    ray_address: str | None = None,
    dropouts: frozenset[int] = frozenset(),
    terms: SignedTerms | None = None,
    facts: PublicFacts | None = None,
) -> Collected:
    """Ask the devices of a state folder and return their reports; for benchmarks and tests, which have no run.

    A run asks by :func:`ldpsim.strategies.runs.asking.ask`.

    Args:
        folder: The enrolled state folder.
        questions: The queries, and the devices that each one is for.
        devices: Number of enrolled devices.
        engine: ``auto``, ``local`` or ``ray``.
        workers: Number of processes or Ray's workers; None for one per core.
        ray_address: Address of a Ray cluster (``ray``).
        dropouts: Devices that never answer.
        terms: Signed terms that go with the questions.
        facts: Sizes, ranges and domains. The reports are then decoded as they come
            (``Collected.decoded``); None keeps their bytes.
    """
    asked = number_of_recipients(questions, devices)
    with open_connection(folder, devices, asked, engine=engine, workers=workers, ray_address=ray_address) as connection:
        return connection.ask(questions, dropouts=dropouts, terms=terms, facts=facts)


_for_good = False


def leave_old_objects_alone() -> None:
    """Keep the garbage collector from objects that are there already, to the end of the process."""
    global _for_good
    gc.freeze()
    _for_good = True


@contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """Keep the garbage collector from objects that are there already.

    The many small objects of a collection make it look at all objects of the process, which takes as long as the
    answers of several hundred devices. Where this was done for good, it stays so: the end here would undo it.
    """
    if _for_good:
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def grid_for(
    folder: Path, devices: int, *, engine: str, workers: int | None, ray_address: str | None, total: int | None = None
) -> Iterator[DirectGrid]:
    """Open the Grid of the devices of a state folder.

    Args:
        folder, devices, engine, workers, ray_address: As for :func:`collect`.
        total: Number of devices that are asked, so few of which may not be worth further processes; None for all.
    """
    if choose(engine, ray_address) == "ray":
        with (
            on_ray(workers, ray_address, retries=3, prepare=None) as pool,
            closing(LocalGrid(folder, devices, pool)) as grid,
        ):
            yield grid
        return
    if (count := worker_processes(devices if total is None else total, workers)) > 1:
        with processes(count - 1, prepare=None) as pool, closing(LocalGrid(folder, devices, pool)) as grid:
            yield grid
        return
    with closing(LocalGrid(folder, devices)) as grid:
        yield grid


def worker_processes(devices: int, wanted: int | None) -> int:
    """Return how many processes draw the reports of a state folder; 1: this process itself.

    Args:
        devices: Number of devices that are asked.
        wanted: ``--workers``; None for one per core.
    """
    if devices < PROCESSES_PAY_FROM or multiprocessing.parent_process() is not None:
        return 1  # a worker of another pool has one core
    return min(wanted or available_cores(), -(-devices // SHARD))


_quiet = ContextVar("quiet", default=False)


def _is_shown(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or not _quiet.get()


@contextmanager
def quiet_flower() -> Iterator[None]:
    """Hide Flower's own log lines in this thread; warnings are still shown."""
    logging.getLogger("flwr").addFilter(_is_shown)
    before = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(before)
