"""Cost of one call in a fresh process of one thread, and the line about the machine that stands beside a figure."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psutil

from ldpsim.strategies.engines.usage import forget_peak, peak_rss

MIB = 1 << 20
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, order=True)
class Cost:
    """Cost of a call.

    Args:
        cpu, wall: Seconds of the call.
        whole: CPU seconds of its process, with imports and the loading of the data.
        above: Peak memory of the call above that before it, in bytes.
        peak: Peak memory, in bytes.
        result: What the call returned.
    """

    cpu: float
    wall: float
    whole: float
    above: int
    peak: int
    result: Any


def cost_of(load: Callable[[], Any], work: Callable[[Any], Any]) -> Cost:
    """Measure ``work(load())``, without the cost of ``load``, in a process of its own; memory needs Linux."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(_cost, load, work).result()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _cost(load: Callable[[], Any], work: Callable[[Any], Any]) -> Cost:
    given = load()
    gc.collect()
    with suppress(OSError, AttributeError):  # what the loading has freed would be used again, and so not be counted
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    forget_peak()
    before, wall, cpu = resident(), time.perf_counter(), time.process_time()
    result = work(given)
    cpu, wall, peak = time.process_time() - cpu, time.perf_counter() - wall, peak_rss()
    return Cost(cpu, wall, time.process_time(), peak - before, peak, result)


def resident() -> int:
    """Return the resident memory of this process now, in bytes."""
    return int(psutil.Process().memory_info().rss)


def beside() -> str:
    """Return what stands beside a figure: cores, load and Python."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
