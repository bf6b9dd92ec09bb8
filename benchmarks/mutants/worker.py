"""Process that runs test files in a copy of the checkout, one forked child for each mutant.

It imports the large libraries once, and nothing of the project: a child imports that anew, with the
mutant in place. It reads one job a line from its input, and writes one result a line to its output.

    python -m benchmarks.mutants.worker [LIBRARY...]      (in the folder of the copy)
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIBRARIES = (
    "torch", "torch_geometric", "numpy", "scipy.sparse", "scipy.optimize", "scipy.stats", "scipy.integrate", "pytest",
    "hypothesis", "mpmath", "networkx", "cryptography.fernet", "dp_accounting", "flwr.app", "flwr.serverapp",
    "flwr.clientapp", "sklearn", "rich", "pytest_timeout", "xdist", "apsw",
)  # fmt: skip
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0",
           "-m", "not slow and not deployment and not gpu and not wheel")  # fmt: skip
MEMORY = 8 << 30  # a mutant may ask for a matrix of any size
OUTPUT = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # Ray's store is one file of a third of the memory


def main() -> None:
    """Run the jobs of the input."""
    sys.dont_write_bytecode = True
    with contextlib.redirect_stdout(sys.stderr):
        for name in sys.argv[1:] or LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("benchmarks", "tests")]:
        del sys.modules[name]
    for line in sys.stdin:
        print(json.dumps(run(**json.loads(line))), flush=True)


def run(tests: list[str], limit: float, module: str | None = None, source: str = "") -> dict[str, Any]:
    """Run test files, with another text of a module for that time.

    Args:
        tests: The files, from the folder of the copy.
        limit: Seconds after which the child is ended.
        module: Path of the changed module; None runs the tests on the module as it is.
        source: Its text.

    Returns:
        ``code``, pytest's exit code (negative: the signal that ended it); ``late``, whether it was ended at
        the limit; ``seconds`` and ``cpu``; ``test``, the first test that failed; ``tail``, the last output.
    """
    kept = Path(module).read_text() if module else ""
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        log, failed = Path(scratch, "log"), Path(scratch, "failed")
        failed.touch()
        try:
            if module:
                Path(module).write_text(source)
            start = time.monotonic()
            child = os.fork()
            if not child:
                _test(tests, log, failed, Path(scratch, "tests"))
            status, usage, late = _wait(child, start + limit)
        finally:
            if module:
                Path(module).write_text(kept)
        return {
            "code": os.waitstatus_to_exitcode(status),
            "late": late,
            "seconds": round(time.monotonic() - start, 2),
            "cpu": round(usage.ru_utime + usage.ru_stime, 2),
            "test": failed.read_text(),
            "tail": log.read_text(errors="replace")[-800:],
        }


def _wait(child: int, end: float) -> tuple[int, resource.struct_rusage, bool]:
    """Wait for a child, end it when it is late, and end what it left behind."""
    late = False
    while True:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            break
        if not late and time.monotonic() > end:
            late = True
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    return status, usage, late


def _test(tests: list[str], log: Path, failed: Path, scratch: Path) -> None:
    """Run pytest in this child and leave."""
    code = 3
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
        file = os.open(log, os.O_WRONLY | os.O_CREAT)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, to in ((0, nothing), (1, file), (2, file)):
            os.dup2(to, number)
        import pytest

        class First:
            """Writes down the first test that fails."""

            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                if report.failed and not failed.read_text():
                    failed.write_text(report.nodeid)

        code = int(pytest.main([*OPTIONS, f"--basetemp={scratch}", *tests], plugins=[First()]))
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
