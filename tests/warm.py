"""Python processes that start in milliseconds: forks of one that has imported what the tests import.

A Python that imports torch, Flower and the accountants takes two to four seconds of processor time, and the tests
start hundreds. ``start`` makes the fork server of :mod:`multiprocessing` a fork of pytest's own process, before any
test runs and any thread of a test is there. Afterwards

- a pool that asks for spawned processes gets forks of that server, which have no state of a test either;
- :class:`Popen` and :func:`run` stand for those of :mod:`subprocess`, for ``python -c``, ``python -m`` and scripts.

A test about imports, options of Python or spawning itself starts real processes: with ``subprocess``, or with the
fixture ``real_processes``.
"""

from __future__ import annotations

import atexit
import importlib
import multiprocessing
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import context, forkserver, reduction, resource_tracker, util
from multiprocessing.connection import wait
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

first_context = multiprocessing.get_context
# Imported by the server when it is asked for the first time; in a run of all tests they are there.
LARGE = (
    "ldpsim.cli.main", "ldpsim.cli.run", "dp_accounting.pld", "dp_accounting.rdp", "ldpsim.strategies.runs.simulate",
    "ldpsim.strategies.runs.kinds.rounds", "ldpsim.strategies.runs.kinds.owner",
    "ldpsim.strategies.experiments.sweep", "ldpsim.strategies.experiments.compare",
)  # fmt: skip


class _Process(context.ForkServerProcess):
    """A process that has the caller's environment at its start, as a spawned one."""

    environment: Mapping[str, str] | None = None

    def start(self) -> None:
        self.environment = dict(os.environ if self.environment is None else self.environment)
        super().start()

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self.environment or {})
        tempfile.tempdir = None
        super().run()


class _Context(context.ForkServerContext):
    Process = _Process  # type: ignore[assignment]


WARM = _Context()


def start() -> None:
    """Fork the server, once; from now on a pool that asks for spawned processes gets forks of it."""
    if multiprocessing.get_context is _get_context:
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONWARNINGS", "ignore")  # of what killed processes leave
        resource_tracker.ensure_running()
    util.spawnv_passfds = _forked  # type: ignore[attr-defined]
    multiprocessing.get_context = _get_context  # type: ignore[assignment]
    forkserver.ensure_running()


_first_spawnv = util.spawnv_passfds  # type: ignore[attr-defined]


def _get_context(method: str | None = None) -> context.BaseContext:
    return WARM if method == "spawn" else first_context(method)


def _forked(path: bytes, args: Sequence[Any], passed: Sequence[int]) -> int:
    """Do what ``spawnv_passfds`` does; where it would start a fork server, start it as a fork of this process."""
    if "multiprocessing.forkserver" not in str(args[-1]):
        return int(_first_spawnv(path, args, passed))
    with warnings.catch_warnings():
        # A worker of pytest-xdist has a thread that waits for the next test. It holds no lock; its files are closed.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    try:
        for name in os.listdir("/proc/self/fd"):  # as a new program has it
            if (fd := int(name)) > 2 and fd not in passed and _closes(fd):
                os.close(fd)
        forkserver._forkserver._lock = threading.Lock()  # type: ignore[attr-defined] # the caller holds it
        select.select(passed, [], [])
        with suppress(ModuleNotFoundError):  # there is no PyTorch for this Python
            for module in LARGE:
                importlib.import_module(module)
        exec(args[-1], {})
    finally:
        os._exit(0)


def _closes(fd: int) -> bool:
    try:
        return not os.get_inheritable(fd)
    except OSError:  # the folder that was listed
        return False


class _Handle:
    """A file descriptor on its way into the new process."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __getstate__(self) -> Any:
        return reduction.DupFd(self.fd)

    def __setstate__(self, sent: Any) -> None:
        self.fd = sent.detach()


class Popen(subprocess.Popen[Any]):
    """A Python program in a fork; pipes, signals and exit codes are those of :class:`subprocess.Popen`.

    Of its options those about streams, ``cwd`` and ``env`` are known. Ctrl-C is not ignored.
    """

    def _execute_child(self, args: Any, *given: Any) -> None:
        cwd, env, ends = given[4], given[5], given[9:15]
        (_, *words) = map(os.fspath, args)
        streams = [_Handle(usual if end == -1 else end) for usual, end in enumerate((ends[0], ends[3], ends[5]))]
        self._process = WARM.Process(target=_program, args=(words, cwd and os.fspath(cwd), streams))
        self._process.environment = env
        self._process.start()
        self.pid, self._child_created = cast(int, self._process.pid), True
        for ours, theirs in ((ends[1], ends[0]), (ends[2], ends[3]), (ends[4], ends[5])):
            if ours != -1:
                os.close(theirs)
        if getattr(self, "_devnull", None) is not None:
            os.close(self._devnull)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            self.returncode = self._process.exitcode
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            if not wait([self._process.sentinel], timeout):
                raise subprocess.TimeoutExpired(self.args, cast(float, timeout))
            self._internal_poll()
        return cast(int, self.returncode)


def run(args: Sequence[Any], *, capture_output: bool = False, check: bool = False, **options: Any) -> Any:
    """Run a Python program in a fork to its end, as :func:`subprocess.run`."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(args, **options) as process:
        out, err = process.communicate()
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def _program(words: list[str], cwd: str | None, streams: list[_Handle]) -> None:
    """Be the program ``python WORDS``."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fd, number)
    for number in {stream.fd for stream in streams}:
        os.close(number)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.unraisablehook, threading.excepthook = sys.__unraisablehook__, threading.__excepthook__
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    atexit._clear()  # what pytest's process does at its end
    if cwd is not None:
        os.chdir(cwd)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    option, *rest = words
    sys.path[:0] = ["" if option in ("-c", "-m") else str(Path(option).parent), *filter(None, paths)]
    try:
        if option == "-m":
            sys.argv = rest
            sys.modules.pop(rest[0], None)
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        elif option == "-c":
            sys.argv = ["-c", *rest[1:]]
            sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(rest[0], "<string>", "exec"), sys.modules["__main__"].__dict__)
        else:
            sys.argv = words
            runpy.run_path(option, run_name="__main__")
    finally:
        atexit._run_exitfuncs()
