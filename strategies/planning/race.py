"""Race of settings on the same made-up graphs: small ones for all, larger ones for those that may still be chosen.

A time limit ends the race: no run begins that would end after it, if its time grew with the number of people. What
was not run by then has no worth.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from strategies.engines.pool import NumberedTask, Pool
from strategies.experiments.failures import Failed, outcomes_of
from strategies.planning import worth as worths
from strategies.progress import Progress
from strategies.setup.options import RunOptions

Trialled = tuple[str, float]  # a method, and the budget in a search (0 outside one)


class Race:
    """Runs in miniature, with their accuracies.

    Args:
        pool: Workers.
        graphs: Number of people -> files of made-up graphs, smaller ones first; None for the people of the options.
        at_size: Returns the options of a setting among so many people.
        seconds: Time after which no run begins.
        progress: Told the phase and the share of it that is done.
    """

    def __init__(
        self, pool: Pool, graphs: Mapping[int, Sequence[Path | None]], at_size: Callable[[RunOptions, int], RunOptions],
        seconds: float, progress: Progress,
    ) -> None:  # fmt: skip
        self._pool, self.graphs, self._at_size = pool, graphs, at_size
        self._started, self._seconds, self._progress = time.perf_counter(), seconds, progress
        self._parts: Counter[int] = Counter()  # calls of `run` for each size
        self._took: dict[Trialled, tuple[int, float]] = {}  # people and seconds of the last run
        self.scores: dict[Trialled, dict[int, list[float]]] = {}
        self.failed: dict[Trialled, str] = {}
        self.runs = 0
        self.stopped = False

    @property
    def sizes(self) -> list[int]:
        """Numbers of people, rising."""
        return sorted(self.graphs)

    def run(
        self, settings: Mapping[Trialled, RunOptions], size: int, hopeful: Callable[[Trialled], bool] | None = None,
        graphs: int | None = None, share: float = 1.0,
    ) -> None:  # fmt: skip
        """Run each setting on the graphs of a size, all on the first one before any on the second.

        Args:
            settings: The settings; what was run before is not run again.
            size: Number of people.
            hopeful: Whether a setting shall be run on one more graph, by its scores so far; None: always.
            graphs: Number of graphs; None for all.
            share: Part of the time, counted from the start of the race, after which no run begins.
        """
        paths = self.graphs[size][:graphs]
        planned, seen = len(paths) * len(settings), 0
        self._parts[size] += 1
        phase = f"simulating {size:,} people" + (f", part {self._parts[size]}" if self._parts[size] > 1 else "")
        running: dict[int, tuple[Trialled, float]] = {}

        def tasks() -> Iterator[NumberedTask]:
            nonlocal seen
            for number, path in enumerate(paths):
                for key, options in settings.items():
                    seen += 1
                    if key in self.failed or len(self.scores.get(key, {}).get(size, ())) > number:
                        continue
                    if hopeful is not None and not hopeful(key):
                        continue
                    now = time.perf_counter()
                    if now - self._started + self._expected(key, size) > share * self._seconds:
                        self.stopped = True
                        continue
                    running[seen] = key, now
                    yield seen, worths.trial_of(self._at_size(options, size), path, number)

        self._progress(phase, 0.0)
        for number, found in outcomes_of(self._pool, worths.run_trial, tasks()):
            key, began = running[number]
            self.runs, self._took[key] = self.runs + 1, (size, time.perf_counter() - began)
            if isinstance(found, float):
                self.scores.setdefault(key, {}).setdefault(size, []).append(found)
            else:
                self.failed[key] = found.line if isinstance(found, Failed) else found
            self._progress(phase, min(1.0, seen / max(planned, 1)))
        self._progress(phase, 1.0)

    def _expected(self, key: Trialled, size: int) -> float:
        people, took = self._took.get(key, (size, 0.0))
        return took * size / people

    def mean(self, key: Trialled) -> float | None:
        """Return the mean accuracy of a setting on the small graphs, None if there is none."""
        values = self.scores.get(key, {}).get(self.sizes[0])
        return sum(values) / len(values) if values else None
