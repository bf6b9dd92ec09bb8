"""Failures in one line, with a traceback only where the program is at fault."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ldpsim.strategies import Refused, RunFailed
from ldpsim.strategies.engines.pool import Pool, WorkerDied
from ldpsim.strategies.experiments.sweep import Failed, failure, outcomes_of


def root(number: int) -> float:
    return float(number**0.5) if number >= 0 else int("x")


@pytest.mark.parametrize("error", [ValueError("no\n good"), Refused("no\n good"), RunFailed("no  good")])
def test_what_a_user_can_correct_is_one_line(error: Exception) -> None:
    assert failure(error) == Failed("no good")


def test_a_mistake_of_the_program_has_its_traceback() -> None:
    assert failure(KeyError()).line == "KeyError"
    assert failure(KeyError("a")).line == "KeyError: 'a'"
    assert "KeyError" in (failure(KeyError("a")).trace or "")
    assert failure(WorkerDied()) == Failed("its process died (out of memory, or killed)")


def test_a_task_that_fails_does_not_end_the_others() -> None:
    pool = Pool(ThreadPoolExecutor, 2)
    found = dict(outcomes_of(pool, root, [(0, 4), (1, -1), (2, 9)]))
    pool.close()
    assert (found[0], found[2]) == (2.0, 3.0)
    assert isinstance(found[1], Failed) and "invalid literal" in found[1].line and found[1].trace is None
