"""Means, spreads and paired differences of measured rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan

from benchmarks.paired.cells import NOBODY, PUBLIC
from benchmarks.paired.measure import FEATURES_ALONE
from benchmarks.paired.rows import Row
from strategies.results.averages import Interval, gain, mean, spread
from strategies.results.outcome import Score

NOT_RUN = "not run"
FEWEST = 3  # seeds of a difference
Place = tuple[str, str, str]  # data set, setting, budget


@dataclass(frozen=True)
class Results:
    """Rows by place and method.

    Args:
        rows: The rows; of several with one place, method and seed the last one counts.
    """

    rows: Sequence[Row] = field(repr=False)

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, str, str, str], dict[int, Row]]:
        found: dict[tuple[str, str, str, str], dict[int, Row]] = {}
        for row in self.rows:
            if not isnan(row.test):
                found.setdefault((row.dataset, row.setting, row.budget, row.method), {})[row.seed] = row
        return found

    def of(self, place: Place, method: str) -> Mapping[int, Row]:
        """Return a method's rows by seed.

        What needs no question has the same rows at every budget. Features alone are no null model of a setting in
        which they are private.
        """
        dataset, setting, budget = place
        found = self._by_place.get((dataset, setting, budget, method))
        if found is None and (setting == PUBLIC or method != FEATURES_ALONE):
            found = self._by_place.get((dataset, NOBODY, "", method))
        return found or {}

    def accuracy(self, place: Place, method: str) -> float | None:
        """Return the mean test accuracy in percent; None without a row."""
        return mean([row.test for row in self.of(place, method).values()])

    def shown(self, place: Place, method: str) -> str:
        """Return mean, spread and number of seeds as text."""
        values = [row.test for row in self.of(place, method).values()]
        if not values:
            return NOT_RUN
        wide = spread(values)
        return f"{mean(values):.1f}" + ("" if wide is None else f" ± {wide:.1f}") + f" ({len(values)})"

    def difference(self, place: Place, method: str, other: str) -> Interval | None:
        """Return how many points a method is above another one, over the seeds that both have.

        None with fewer than three such seeds, whose interval says nothing.
        """
        return difference(self.of(place, method), self.of(place, other))

    def over_best(self, place: Place, method: str, others: Iterable[str]) -> tuple[str, Interval | None]:
        """Return the other with the highest mean, and the difference to it."""
        known = {name: found for name in others if (found := self.accuracy(place, name)) is not None}
        if not known:
            return "", None
        best = max(known, key=lambda name: known[name])
        return best, self.difference(place, method, best)

    def places(self, setting: str) -> list[Place]:
        """Return the places of a setting in the order of the rows."""
        return list(
            dict.fromkeys((row.dataset, row.setting, row.budget) for row in self.rows if row.setting == setting)
        )

    def seconds(self, place: Place, method: str) -> float | None:
        """Return the mean CPU seconds of a method's work."""
        return mean([row.cpu for row in self.of(place, method).values()])


def difference(ours: Mapping[int, Row], theirs: Mapping[int, Row]) -> Interval | None:
    """Return the difference of two methods in points with Student's 95 % interval over their common seeds."""
    seeds = sorted(ours.keys() & theirs.keys())
    if len(seeds) < FEWEST:
        return None
    found = gain([Score(ours[seed].test / 100) for seed in seeds], [Score(theirs[seed].test / 100) for seed in seeds])
    return None if found is None else Interval(100 * found.value, 100 * found.low, 100 * found.high)


def in_words(found: Interval | None) -> str:
    """Return a difference and its interval as text.

    >>> in_words(Interval(1.25, -0.5, 3.0)), in_words(None)
    ('+1.2 [-0.5, 3.0]', 'not run')
    """
    return NOT_RUN if found is None else f"{found.value:+.1f} [{found.low:.1f}, {found.high:.1f}]"
