"""Runs in threads of one process: each owns its open devices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

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
