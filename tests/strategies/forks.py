"""A process that runs code in forks of itself: what a whole run imports is loaded once, and not for each fork.

One JSON line in: ``{"code": TEXT, "args": [...]}``; one line out: the exit code, negative for a signal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import warm

ROOT = Path(__file__).resolve().parents[2]


class Forks:
    """The other side of the process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, code: str, *args: object) -> int:
        """Return the exit code of a Python program with these arguments, negative for a signal."""
        return self.ask({"code": code, "args": [str(arg) for arg in args]})

    def ask(self, wanted: Any) -> int:
        """Return the exit code of the work that a line wants."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def forks(module: str = "tests.strategies.forks") -> Iterator[Forks]:
    """Start the process of a module, and end it."""
    command = [sys.executable, "-m", module]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    with warm.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Forks(process)
        assert process.stdin is not None
        process.stdin.close()


def serve(work: Callable[[Any], int]) -> None:
    """Do the work of each line in a fork of its own, until the input ends; its exit code is the work's."""
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if not child:
            log = os.open(os.devnull, os.O_RDWR)
            os.dup2(log, 0)
            os.dup2(log, 1)
            code = 1
            try:
                code = work(wanted)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def main() -> None:
    """Serve until the input ends."""
    from ldpsim.strategies.runs import set_up, simulate

    assert set_up and simulate  # loaded for all forks
    serve(_program)


def _program(wanted: Any) -> int:
    sys.argv = ["-c", *wanted["args"]]
    exec(compile(wanted["code"], "<fork>", "exec"), {"__name__": "__main__"})
    return 0


if __name__ == "__main__":
    main()
