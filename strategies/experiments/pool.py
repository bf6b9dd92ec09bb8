"""Many tasks at once, in processes of this machine or on Ray; one that dies takes no other with it.

A task is a module-level function and one argument. It has one thread, because there are as
many workers as cores. Workers end with the process that started them, however that ends:
what it had begun is not finished behind its back.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait as wait_for
from typing import Any

DIED = "its process died (out of memory, or killed)"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Task = tuple[int, Any]


@dataclass(frozen=True)
class Failed:
    """Why a task has no outcome.

    Args:
        line: One line.
        trace: The traceback, where the failure was no mistake of a person.
    """

    line: str
    trace: str | None = None


def failure(error: BaseException) -> Failed:
    """Return the line for an exception, and its traceback unless a person can mend it."""
    from strategies.runs.run import Refused, RunFailed

    line = " ".join(str(error).split())
    if isinstance(error, (ValueError, Refused, RunFailed)):
        return Failed(line or type(error).__name__)
    trace = "".join(traceback.format_exception(error))
    return Failed(f"{type(error).__name__}: {line}" if line else type(error).__name__, trace)


class Pool:
    """Workers for tasks.

    Args:
        start: Makes an executor of so many workers.
        workers: How many tasks run at once.
    """

    def __init__(self, start: Callable[[int], Executor], workers: int) -> None:
        self._start = start
        self.workers = workers
        self._executor: Executor | None = None

    def each(self, function: Callable[[Any], Any], tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Yield (number, outcome) as tasks end; :class:`Failed` where there is no outcome.

        Where a process dies, nobody can say which of the tasks in flight it was: each of
        them runs again with nothing beside it, and fails if it loses its process once more.
        """
        waiting, suspects = iter(tasks), list[Task]()
        while True:
            lost: list[Task] = []
            yield from self._until_broken(function, waiting, self.workers, lost)
            suspects += lost
            if not lost:
                break
        for task in suspects:
            lost = []
            yield from self._until_broken(function, iter([task]), 1, lost)
            yield from ((number, Failed(DIED)) for number, _ in lost)

    def _until_broken(
        self, function: Callable[[Any], Any], tasks: Iterator[Task], at_once: int, lost: list[Task]
    ) -> Iterator[tuple[int, Any]]:
        """Yield what ends; ``lost`` gets the tasks that were in flight when a process died."""
        self._executor = self._executor or self._start(self.workers)
        flying: dict[Future[Any], Task] = {}
        while True:
            for task in () if lost else islice(tasks, at_once - len(flying)):
                try:
                    flying[self._executor.submit(function, task[1])] = task
                except BrokenProcessPool:
                    lost.append(task)
                    break
            if not flying:
                break
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                task = flying.pop(future)
                error = future.exception()
                if error is None:
                    yield task[0], future.result()
                elif isinstance(error, BrokenProcessPool):
                    lost.append(task)
                else:
                    yield task[0], failure(error)
        if lost:
            self.close()

    def close(self, *, now: bool = False) -> None:
        """Let the workers go; ``now``: without waiting for what they are at."""
        if self._executor is not None:
            self._executor.shutdown(wait=not now, cancel_futures=True)
            self._executor = None


@contextmanager
def processes(workers: int | None) -> Iterator[Pool]:
    """Offer processes of this machine, None for one a core. They are killed where the block is left by an error."""
    # torch and Flower start threads: a forked child could hang in their locks.
    spawn = multiprocessing.get_context("spawn")
    pool = Pool(lambda count: ProcessPoolExecutor(count, spawn, start_worker), workers or os.cpu_count() or 1)
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    others = set(multiprocessing.active_children())
    os.environ.update(_ONE_THREAD)  # libraries read it when a worker imports them
    try:
        yield pool
        pool.close()
    except BaseException:
        pool.close(now=True)
        for child in set(multiprocessing.active_children()) - others:
            child.kill()
        raise
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def start_worker() -> None:
    """Prepare a process: one thread, and gone with its parent or on Ctrl-C without a word."""
    from curator.learning.threads import limit_threads

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    limit_threads(1)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _die_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)


@contextmanager
def on_ray(workers: int | None, address: str | None) -> Iterator[Pool]:
    """Offer Ray's workers: of a cluster, or of this machine, where Ray is started and stopped again."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # ends a warning about a future default
    import ray

    own = not ray.is_initialized()
    if own:
        ray.init(address=address, num_cpus=None if address else workers, include_dashboard=False, log_to_driver=False,
                 logging_level=logging.ERROR)  # fmt: skip
    try:
        count = workers or int(ray.cluster_resources().get("CPU", 1))
        yield Pool(lambda _: _RayExecutor(ray), count)
    finally:
        if own:
            ray.shutdown()


class _RayExecutor(Executor):
    """Ray's tasks as futures; Ray itself tells which task lost its process."""

    def __init__(self, ray: Any) -> None:
        # A lost task is not tried again by Ray: it might be the one that takes all memory.
        self._task = ray.remote(num_cpus=1, max_retries=0)(_in_ray_worker)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a task."""
        future: Future[Any] = self._task.remote(fn, *args, **kwargs).future()
        return future


def _in_ray_worker(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    from curator.learning.threads import limit_threads

    limit_threads(1)
    return function(*args, **kwargs)
