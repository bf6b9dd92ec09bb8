"""Fixtures that every package's tests share, and the tests that stay together when several processes run them."""

from __future__ import annotations

import gc
import importlib.metadata
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests import warm

# A file in which one of these stands starts servers: Ray, Flower's runtime, PostgreSQL or a browser.
SERVERS = re.compile(r"\b(ray_here|mark\.flower|mark\.deployment|postgres_server|mlflow_server|def browser)\b")
RAY = re.compile(r"\bray_here\b")  # the one that all tests share


# A file system in memory. Every release waits for the disk (fsync), and the tests make hundreds of thousands of them.
MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes


def pytest_configure(config: pytest.Config) -> None:
    """Put temporary folders into memory where there is room and nobody names another place; Ray stays outside.

    No property test depends on the clock. Entry points are read once in a process: each reading opens the files of two
    hundred packages, and a look at all methods reads them. Ray gives its workers a low priority by default: beside the
    tests of other processes they would hardly run, and the worker of pytest that waits for them would end last.
    """
    os.environ.setdefault("RAY_worker_niceness", "0")
    importlib.metadata.entry_points = cache(importlib.metadata.entry_points)
    gc.disable()  # until everything is imported and collected
    settings.register_profile("ldpsim", deadline=None)
    settings.load_profile("ldpsim")
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ.setdefault("RAY_TMPDIR", tempfile.gettempdir())
        os.environ["TMPDIR"], tempfile.tempdir = str(MEMORY), None


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """Make the command line's commands once in this process: each of a thousand calls would build them anew."""
    import typer.main
    import typer.testing

    made = cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(typer.main, "get_command", made)
        patched.setattr(typer.testing, "_get_command", made)
        yield


@cache
def starts_servers(path: Path) -> bool:
    """Return whether the tests of a file start servers, which is read in its text."""
    return SERVERS.search(path.read_text()) is not None


@cache
def place(path: Path) -> int:
    """Return the place of a file in a worker: 0 for servers, 1 for Ray, 2 for all others.

    Files with servers come first, because together they take the longest. Those with Ray are the last of them: its
    processes use the processor even when nobody asks them anything, and they stay to the end.
    """
    return 2 if not starts_servers(path) else int(RAY.search(path.read_text()) is not None)


class ByFile(LoadFileScheduling):
    """A schedule of pytest-xdist in which one worker gets all files that start servers, and the others go by file.

    The tests of a file share fixtures, caches and imports. The mark ``xdist_group`` is not used: pytest-xdist 3.8
    ignores it under pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return "servers" if starts_servers(self.config.rootpath / file) else file

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """Return how many tests of a worker are left. It is given a new file when two are: older files have none."""
        return super()._pending_of(dict(islice(reversed(workload.items()), 4)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return one worker more than there are cores: the worker with the servers waits most of its time."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # pytest-xdist reads it
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    """Give ``--dist loadfile`` our schedule; another choice on the command line stays."""
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that start servers first in a worker."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place(item.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Leave the keywords out of a worker's report that a test passed: forty words, thrice a test.

    Nobody reads them at the other end, and a sixth of the time of an empty test was spent on them.
    """
    report = yield
    if report.passed and hasattr(item.config, "workerinput"):
        report.keywords = {}
    return report


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was imported and collected out of the garbage collector's sight, and fork the server of processes.

    What is there stays to the end, and each full collection would walk through two million objects.
    """
    gc.freeze()
    gc.enable()
    if session.config.getoption("collectonly") or not session.items:
        return
    if "ldpsim.strategies.engines.collect" in sys.modules:
        sys.modules["ldpsim.strategies.engines.collect"].leave_old_objects_alone()
    warm.start()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the real data sets; without it tests skip, but fail in CI."""
    folder = os.environ.get("LDPSIM_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    what = f"LDPSIM_DATA={folder} is no folder" if folder else "LDPSIM_DATA is not set"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(f"{what}: the tests on real data cannot run")
    pytest.skip(f"{what}: this test needs the real data sets")


@pytest.fixture(scope="session")
def ray_here() -> Iterator[None]:
    """One Ray for all tests: starting it takes seconds."""
    from ldpsim.strategies.engines import pool

    session = pool.RaySession(2)
    yield
    session.close()


@pytest.fixture
def real_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spawn the processes of pools, which takes seconds, instead of forking them (:mod:`tests.warm`)."""
    monkeypatch.setattr(multiprocessing, "get_context", warm.first_context)


@pytest.fixture
def cells_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run cells of sweeps and comparisons here: a worker's start takes seconds. One by one: torch's seed is global."""
    from ldpsim.strategies.engines.pool import processes
    from ldpsim.strategies.experiments import sweep

    monkeypatch.setattr(sweep, "processes", lambda workers: processes(1, here=True))
