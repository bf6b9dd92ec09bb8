"""Pools of workers for many tasks: this process itself, processes of this machine, or Ray.

A task is a module-level function and one argument. Each worker has one thread, because there
are as many workers as cores. Workers end with the process that started them, however it ends,
so nothing goes on in the background. A worker that dies ends only its own task.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from itertools import islice
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
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
            try:
                with _reading(ray, own_environment(self._folder.name) if self._folder else {}):
                    ray.init(address=address, num_cpus=workers if own else None, include_dashboard=False,
                             log_to_driver=False, logging_level=logging.ERROR)  # fmt: skip
            except BaseException:
                self.close()
                raise
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


_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

NumberedTask = tuple[int, Any]


class WorkerDied(RuntimeError):
    """Error of a task whose process ended without a result."""

    def __init__(self) -> None:
        super().__init__("its process died (out of memory, or killed)")


class Pool:
    """Workers for tasks.

    Args:
        start: Function that returns an executor with a number of workers.
        workers: Number of tasks that run at a time.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> pool = Pool(ThreadPoolExecutor, 2)
    >>> list(pool.in_order(len, ["one", "three"]))
    [3, 5]
    >>> pool.close()
    """

    def __init__(self, start: Callable[[int], Executor], workers: int) -> None:
        self._start = start
        self.workers = workers
        self._executor: Executor | None = None

    def each(self, function: Callable[[Any], Any], tasks: Iterable[NumberedTask]) -> Iterator[tuple[int, Future[Any]]]:
        """Yield (number, finished future) as tasks end.

        If a process dies, all unfinished tasks lose their process. Each of them runs once more,
        alone. If its process dies again, its future holds :class:`WorkerDied`.
        """
        waiting, suspects = iter(tasks), list[NumberedTask]()
        while True:
            lost: list[NumberedTask] = []
            yield from self._until_broken(function, waiting, self.workers, lost)
            suspects += lost
            if not lost:
                break
        for task in suspects:
            lost = []
            yield from self._until_broken(function, iter([task]), 1, lost)
            for number, _ in lost:
                died: Future[Any] = Future()
                died.set_exception(WorkerDied())
                yield number, died

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Future[Any]:
        """Start a task. One that loses its process fails, and the next one gets new processes."""
        self._executor = self._executor or self._start(self.workers)
        try:
            return self._executor.submit(function, argument)
        except BrokenProcessPool:
            self.close()
            return self.submit(function, argument)

    def in_order(self, function: Callable[[Any], Any], arguments: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in the order of the arguments; raise the error of a task in its place."""
        finished: dict[int, Future[Any]] = {}
        following = 0
        for number, future in self.each(function, enumerate(arguments)):
            finished[number] = future
            while following in finished:
                yield finished.pop(following).result()
                following += 1

    def _until_broken(
        self, function: Callable[[Any], Any], tasks: Iterator[NumberedTask], at_once: int, lost: list[NumberedTask]
    ) -> Iterator[tuple[int, Future[Any]]]:
        """Yield finished tasks; add the unfinished ones to ``lost`` if a process dies."""
        self._executor = self._executor or self._start(self.workers)
        running: dict[Future[Any], NumberedTask] = {}
        while True:
            for task in () if lost else islice(tasks, at_once - len(running)):
                try:
                    running[self._executor.submit(function, task[1])] = task
                except BrokenProcessPool:
                    lost.append(task)
                    break
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    lost.append(task)
                else:
                    yield task[0], future
        if lost:
            self.close()

    def close(self, *, now: bool = False) -> None:
        """Shut down. ``now=True`` does not wait for running tasks."""
        if self._executor is not None:
            self._executor.shutdown(wait=not now, cancel_futures=True)
            self._executor = None


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_torch_thread() -> None:
    """Keep torch to one thread in this process."""
    from ldpsim.curator.linear.threads import limit_threads

    limit_threads(1)


@contextmanager
def processes(
    workers: int | None, *, tasks: int | None = None, here: bool = False,
    prepare: Callable[[], object] | None = one_torch_thread,
) -> Iterator[Pool]:  # fmt: skip
    """Offer a pool of processes of this machine. If the block ends with an error, they are killed.

    Args:
        workers: Number of processes; None for one per core that this process may use.
        tasks: Number of tasks: there are no more processes than that. None: not known.
        here: Whether a single worker is this process itself. It needs no start, and dies with its task.
        prepare: Called once in each process before its first task, but not in this one. The default imports torch,
            which takes seconds; None for tasks that do not use it.
    """
    count = workers or available_cores()
    if tasks is not None:
        count = max(1, min(count, tasks))
    if here and count == 1:
        yield Pool(lambda _: _HereExecutor(), 1)
        return
    pool = Pool(lambda number: ProcessPoolExecutor(number, _Spawn(), _start_worker, (prepare,)), count)
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


class _Worker(SpawnProcess):
    """A process that does not run the main script again: tasks are functions of modules.

    Python imports the main script in each new process. A script without a main guard would start everything anew there.
    """

    def start(self) -> None:
        """Start the process."""
        script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = script


class _Spawn(SpawnContext):
    """Spawned processes, not forked ones: a fork copies locks of torch's and Flower's threads, and SQLite's files."""

    Process = _Worker


def _start_worker(prepare: Callable[[], object] | None) -> None:
    """Prepare a process; it ends with its parent, and without a message on Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()
    if prepare is not None:
        prepare()


def _die_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)


@contextmanager
def on_ray(
    workers: int | None, address: str | None, *, retries: int = 0,
    prepare: Callable[[], object] | None = one_torch_thread,
) -> Iterator[Pool]:  # fmt: skip
    """Offer a pool of Ray's workers.

    Args:
        workers: Number of tasks that run at a time; None for one per core of Ray.
        address: Address of a cluster; None for this machine.
        retries: Number of times that Ray starts a task again if its process dies. A task that
            may need all memory should have none.
        prepare: Called before each task, as for :func:`processes`.
    """
    with closing(RaySession(workers, address)) as session:
        count = workers or session.cores
        yield Pool(lambda _: _RayExecutor(session.ray, retries, prepare), count)


class _HereExecutor(Executor):
    """Executor of this process: a task runs when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a task; an interrupt is not its error."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class _RayExecutor(Executor):
    """Executor of Ray's tasks; Ray reports which task lost its process."""

    def __init__(self, ray: Any, retries: int, prepare: Callable[[], object] | None) -> None:
        self._prepare = prepare
        self._task = ray.remote(num_cpus=1, max_retries=retries)(_in_ray_worker)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a task."""
        future: Future[Any] = self._task.remote(self._prepare, fn, *args, **kwargs).future()
        return future


def _in_ray_worker(
    prepare: Callable[[], object] | None, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    if prepare is not None:
        prepare()
    return function(*args, **kwargs)
