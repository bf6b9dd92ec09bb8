"""CPU seconds and peak memory of the phases of a run, in the process that makes it (Linux)."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from typing import Any

from ldpsim.strategies.engines.usage import forget_peak, peak_rss

MIB = 1 << 20


@dataclass
class Phase:
    """Cost of one phase.

    Args:
        cpu: CPU seconds, user and system, of the process and its finished children.
        wall: Wall seconds.
        peak: Largest resident set, in MiB.
    """

    cpu: float = 0.0
    wall: float = 0.0
    peak: float = 0.0


class Phases:
    """Costs by phase; an instance is a progress callback of a run.

    >>> phases = Phases("start")
    >>> phases("train", None)
    >>> list(phases.done())
    ['start', 'train']
    """

    def __init__(self, first: str) -> None:
        self.costs: dict[str, Phase] = {}
        self._name, self._before = first, self._now()
        forget_peak()

    @staticmethod
    def _now() -> tuple[float, float]:
        return sum(os.times()[:4]), time.perf_counter()

    def __call__(self, phase: str, share: float | None) -> None:
        """Begin a phase, unless it is the present one."""
        if phase != self._name:
            self._end()
            self._name = phase

    def _end(self) -> None:
        entry, now = self.costs.setdefault(self._name, Phase()), self._now()
        entry.cpu += now[0] - self._before[0]
        entry.wall += now[1] - self._before[1]
        entry.peak = max(entry.peak, peak_rss() / MIB)
        forget_peak()
        self._before = now

    def done(self) -> dict[str, dict[str, Any]]:
        """End the present phase and return all of them."""
        self._end()
        return {name: asdict(entry) for name, entry in self.costs.items()}
