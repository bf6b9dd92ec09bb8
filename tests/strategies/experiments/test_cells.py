"""The runner of cells: what is done does not run, one that fails ends no other, and its reason is one line."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ldpsim.strategies import Refused, RunFailed
from ldpsim.strategies.engines.pool import Pool, WorkerDied
from ldpsim.strategies.experiments.cells import Failed, failure, measure_all


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


def test_cells_that_are_done_do_not_run_and_one_that_fails_ends_no_other() -> None:
    pool, kept, shares = Pool(ThreadPoolExecutor, 2), dict[str, float](), list[float | None]()
    outcomes = measure_all({"a": 4, "b": -1, "c": 9, "d": 16}, root, pool, done={"d": "before"}, keep=kept.__setitem__,
                         progress=lambda phase, share: shares.append(share))  # fmt: skip
    pool.close()
    bad = outcomes.pop("b")
    assert list(outcomes.items()) == [("a", 2.0), ("c", 3.0), ("d", "before")]
    assert isinstance(bad, Failed) and "invalid literal" in bad.line and bad.trace is None
    assert kept == {"a": 2.0, "c": 3.0} and shares == [0.25, 0.5, 0.75, 1.0]


def test_an_interrupt_says_what_is_kept(tmp_path: Path) -> None:
    pool = Pool(ThreadPoolExecutor, 1)

    def stop(name: str, outcome: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        measure_all({"a": 4, "b": 9}, root, pool, keep=stop, folder=tmp_path)
    pool.close()
    assert stopped.value.__notes__ == [f"1 of 2 cells are finished and kept in {tmp_path}; the same command goes on"]
