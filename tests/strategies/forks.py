"""A process that runs code in forks of itself: what a whole run imports is loaded once, and not for each fork.

One JSON line in: what the work is; one line out: its exit code, negative for a signal.
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

    def ask(self, wanted: Any) -> int:
        """Return the exit code of the work that a line wants, negative for a signal."""
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def forks(module: str) -> Iterator[Forks]:
    """Start the process of a module, and end it."""
    command = [sys.executable, "-m", module]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    with warm.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Forks(process)
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
