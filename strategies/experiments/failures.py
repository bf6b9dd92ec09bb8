"""Failures of a sweep's tasks, in one line each: one cell that fails does not end the others."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ldpsim.strategies.engines.pool import NumberedTask, Pool, WorkerDied


@dataclass(frozen=True)
class Failed:
    """Reason why a task has no result.

    Args:
        line: The reason in one line.
        trace: The traceback; None if the user can correct the cause.
    """

    line: str
    trace: str | None = None


Failures = Sequence[tuple[str, Failed]]  # name of a task, and its reason


def failure(error: BaseException) -> Failed:
    """Return the line for an exception, and its traceback unless the user can correct the cause."""
    from ldpsim.strategies.runs.run import Refused, RunFailed

    line = " ".join(str(error).split())
    if isinstance(error, (ValueError, Refused, RunFailed, WorkerDied)):
        return Failed(line or type(error).__name__)
    trace = "".join(traceback.format_exception(error))
    return Failed(f"{type(error).__name__}: {line}" if line else type(error).__name__, trace)


def outcomes_of(pool: Pool, function: Callable[[Any], Any], tasks: Iterable[NumberedTask]) -> Iterator[tuple[int, Any]]:
    """Yield (number, result) as tasks end, :class:`Failed` for a task without a result."""
    for number, future in pool.each(function, tasks):
        error = future.exception()
        yield number, future.result() if error is None else failure(error)
