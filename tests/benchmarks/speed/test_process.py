"""Cost of a call in a process of its own: its memory and time, and not those of loading."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

from benchmarks.speed.process import MIB, beside, cost_of

pytestmark = pytest.mark.usefixtures("real_processes")


def filled(size: int) -> np.ndarray:
    """Return an array of so many MiB that is resident."""
    return np.ones(size * MIB, np.uint8)


def work(given: np.ndarray) -> tuple[int, str | None]:
    """Use 50 MiB more and half a second, and return the process and its number of threads."""
    more = filled(50)
    total, began = 0, os.times().user
    while os.times().user - began < 0.5:
        total += int(more[:1000].sum())
    return os.getpid(), os.environ.get("OMP_NUM_THREADS")


def test_loading_is_no_part_of_the_cost() -> None:
    cost = cost_of(partial(filled, 300), work)
    assert 40 < cost.above / MIB < 90 and cost.peak / MIB > 350
    assert 0.4 < cost.cpu < 2 and cost.cpu < cost.whole and cost.wall >= 0.4
    process, threads = cost.result
    assert process != os.getpid() and threads == "1"


def test_what_stands_beside_a_figure_names_cores_and_load() -> None:
    assert f"{os.cpu_count()} cores, load " in beside()
