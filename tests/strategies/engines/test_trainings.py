"""Trainings side by side: results, errors, and an end that waits for nothing."""

from __future__ import annotations

import threading

import pytest

from ldpsim.curator.steps import track
from ldpsim.strategies.engines.pool import Stopped, Trainings, side_by_side


def fails() -> int:
    raise ValueError("no label")


def test_an_error_in_the_block_stops_what_runs_at_its_next_step() -> None:
    begun, go_on, seen = threading.Event(), threading.Event(), []

    def training() -> None:
        for epoch in track(range(200), 200):
            seen.append(epoch)
            begun.set()
            go_on.wait()

    trainings = Trainings(2)
    running = trainings.start(training)
    begun.wait()
    trainings._stop.set()
    go_on.set()
    with pytest.raises(Stopped):
        running()
    trainings.close()
    assert len(seen) < 200
    with pytest.raises(KeyboardInterrupt), side_by_side(2) as others:
        others.start(training)
        raise KeyboardInterrupt
    assert threading.active_count() == 1 or not any(t.name.startswith("ThreadPool") for t in threading.enumerate())
