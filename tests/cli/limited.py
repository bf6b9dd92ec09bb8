"""A process that runs commands in forks of itself, each under a limit of CPU time and of memory.

A limit of CPU time does not depend on what else the machine does.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.strategies.forks import Forks, forks, serve

SECONDS = 40  # of CPU time, all commands of a fork together
MEMORY = 2 << 30  # bytes of address space beside that of the process


def answer(value: float, rng: Any) -> bool:
    """Answer as a randomiser that says nothing about its value."""
    return bool(rng.random() < 0.5)


@contextmanager
def limited() -> Iterator[Limited]:
    """Start the process, and end it."""
    with forks("tests.cli.limited") as process:
        yield Limited(process)


class Limited:
    """Runs commands one after another in one fork."""

    def __init__(self, process: Forks) -> None:
        self.process = process

    def run(self, commands: Sequence[Sequence[str]], folder: Path) -> tuple[int, list[tuple[int, str]]]:
        """Return the exit code of the fork, and code and standard error of each command that came to its end.

        Args:
            commands: Words after ``ldpsim``.
            folder: Where they run; what they write there is the caller's to remove.
        """
        found = folder / "found.jsonl"
        code = self.process.ask({"commands": [list(words) for words in commands], "folder": str(folder)})
        lines = found.read_text().splitlines() if found.exists() else []
        return code, [(entry[0], entry[1]) for entry in map(json.loads, lines)]


def _work(wanted: Any) -> int:
    os.chdir(wanted["folder"])
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    command = _command()
    with Path("found.jsonl").open("a") as found:
        for words in wanted["commands"]:
            said = io.StringIO()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                try:
                    command.main(args=words, prog_name="ldpsim")
                    code: Any = 0
                except SystemExit as stop:
                    code = stop.code
            found.write(json.dumps([int(code or 0), said.getvalue()]) + "\n")
            found.flush()
    return 0


@cache
def _command() -> Any:
    from typer.main import get_command

    from ldpsim.cli.main import app

    return get_command(app)


def main() -> None:
    """Serve until the input ends."""
    import pandas
    import torch

    from ldpsim.strategies.attacks.poison import campaign as poison
    from ldpsim.strategies.attacks.stress import campaign as stress
    from ldpsim.strategies.engines import pool
    from ldpsim.strategies.experiments import compare, sweep, tune
    from ldpsim.strategies.planning import plan
    from ldpsim.strategies.runs import prepare, simulate
    from ldpsim.strategies.runs.kinds import owner, rounds

    pandas.Series([""])  # the allocator of its texts reserves a gigabyte of addresses, half of what a fork has
    torch.set_num_threads(1)  # a fork has no other threads
    start = pool.processes
    for name, module in list(sys.modules.items()):
        if name.startswith("ldpsim.strategies.") and getattr(module, "processes", None) is start:
            module.processes = lambda *_, **__: start(1, here=True)  # type: ignore[attr-defined] # a start takes seconds
    assert all((compare, sweep, tune, plan, rounds, owner, prepare, simulate, poison, stress))  # loaded for all forks
    _command()
    serve(_work)


if __name__ == "__main__":
    assert sys.argv
    main()
