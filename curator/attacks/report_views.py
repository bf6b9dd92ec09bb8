"""Views of the reports of an unknown randomiser: what an event may be about.

A report is turned into a tuple of plain values. A view is the whole tuple, one coordinate, or
several coordinates together. A coordinate of many different numbers is cut into bins, at the
quantiles of the reports that may choose the event.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_COORDINATES = 64
BINS = 32
_PLAIN = 256  # largest number of different values of a coordinate that is not cut into bins
Flat = tuple[Hashable, ...]


def flattened(report: Any) -> Flat:
    """Return a report as a tuple of plain hashable values; nested sequences and arrays are laid out in order.

    Raises:
        ValueError: for a report that cannot be counted.

    >>> flattened((np.array([0, 1]), "a"))
    (0, 1, 'a')
    """
    if isinstance(report, np.ndarray) and report.dtype != object and report.dtype.kind != "f":
        return tuple(report.ravel().tolist())
    if isinstance(report, np.ndarray | np.generic):
        report = report.tolist()
    if isinstance(report, list | tuple):
        return tuple(value for part in report for value in flattened(part))
    if isinstance(report, Mapping):
        return flattened(sorted(report.items(), key=repr))
    if isinstance(report, set):
        return (frozenset(report),)
    if isinstance(report, float) and np.isnan(report):
        return ("nan",)  # NaN differs from itself
    try:
        hash(report)
    except TypeError:
        raise ValueError(f"a report of type {type(report).__name__} cannot be counted: give --event") from None
    return (report,)


@dataclass(frozen=True)
class Views:
    """Coordinates that reports have in common, and the limits of the bins of those with many values.

    Args:
        width: Number of coordinates; 0 where reports differ in length or have too many.
        limits: Coordinate -> limits between its bins.
    """

    width: int
    limits: dict[int, NDArray[np.float64]]

    def column(self, reports: Sequence[Flat], place: int) -> list[Hashable]:
        """Return one coordinate of each report, as its bin where it is cut."""
        values = [report[place] for report in reports]
        if place not in self.limits:
            return values
        return np.searchsorted(self.limits[place], np.asarray(values, float), side="right").tolist()

    def joint(self, reports: Sequence[Flat], places: Sequence[int]) -> list[Hashable]:
        """Return several coordinates of each report together; without places the whole report, uncut."""
        if not places:
            return list(reports)
        return list(zip(*(self.column(reports, place) for place in places), strict=True))

    def words(self, places: Sequence[int], event: frozenset[Hashable], *, most: int = 4) -> str:
        """Return an event in words."""
        if places:
            values = [", ".join(self._value(p, v) for p, v in zip(places, outcome, strict=True))  # type: ignore[call-overload]
                      for outcome in islice(sorted(event, key=repr), most)]  # fmt: skip
            about = "report" if self.width == 1 else f"coordinate {', '.join(map(str, places))} of the report"
        else:
            values = [value_in_words(outcome) for outcome in islice(sorted(event, key=repr), most)]
            about = "report"
        more = f" or {len(event) - most} others" if len(event) > most else ""
        return f"{about} is {' or '.join(values)}{more}"

    def _value(self, place: int, value: Any) -> str:
        if place not in self.limits:
            return value_in_words(value)
        limits = self.limits[place]
        if value == 0:
            return f"below {limits[0]:.6g}"
        if value == len(limits):
            return f"at least {limits[-1]:.6g}"
        return f"in [{limits[value - 1]:.6g}, {limits[value]:.6g})"


def views_of(reports: Sequence[Flat]) -> Views:
    """Return the views of reports; only reports that may choose the event belong here."""
    lengths = {len(report) for report in reports}
    width = lengths.pop() if len(lengths) == 1 else 0
    if not 0 < width <= MOST_COORDINATES:
        return Views(0, {})
    limits = {}
    for place in range(width):
        values = [report[place] for report in reports]
        if len(set(values)) > _PLAIN and all(isinstance(value, int | float) for value in values):
            found = np.unique(np.quantile(np.asarray(values, float), np.linspace(0, 1, BINS + 1)[1:-1]))
            limits[place] = found
    return Views(width, limits)


def value_in_words(value: Any) -> str:
    """Return a value in few words; a row of bits as 0110."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, tuple) and value and all(isinstance(bit, int | float) and bit in (0, 1) for bit in value):
        return "".join(str(int(bit)) for bit in value)
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
