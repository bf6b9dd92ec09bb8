"""Runs in threads of one process own their open devices; trainings side by side stop when nobody waits."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from ldpsim.curator.steps import track
from ldpsim.strategies.runs.nulls import side_by_side
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions


def result(seed: int) -> tuple[int, float, str]:
    options = RunOptions(method="rr", clients=100, out=None, reference=False, nulls=False, groups=False,
                         settings={"epochs": "5"}, seed=seed)  # fmt: skip
    record = simulate(options).record
    return record["devices"]["reported"], record["accuracy"]["test"], record["devices"]["refused"]


def test_runs_at_once_have_the_results_that_they_have_alone() -> None:
    """One run closed the ledgers of another before: a crash, or LEDGER_DAMAGED."""
    alone = [result(seed) for seed in (0, 1)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(result, [0, 1] * 4)) == alone * 4
    assert [reported for reported, *_ in alone] == [100, 100]


def test_an_error_in_the_block_stops_what_runs_at_its_next_step() -> None:
    begun, go_on, seen = threading.Event(), threading.Event(), []

    def training() -> None:
        for epoch in track(range(200), 200):
            seen.append(epoch)
            begun.set()
            go_on.wait(5)

    with pytest.raises(KeyboardInterrupt), side_by_side(2) as start:
        running = start(training)
        begun.wait()
        threading.Timer(0.1, go_on.set).start()
        raise KeyboardInterrupt
    with pytest.raises(CancelledError):
        running()
    assert len(seen) < 200


def test_the_thread_that_waits_does_what_no_other_has_begun() -> None:
    go_on = threading.Event()
    with side_by_side(2) as start:
        busy, own = start(lambda: go_on.wait(30)), start(threading.get_ident)
        assert own() == threading.get_ident()
        go_on.set()
        assert busy()
