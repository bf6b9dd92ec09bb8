"""Calibration: predicted probabilities against what is true, in ten bins, with the expected calibration error."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

BINS = 10
FEWEST = 20  # cases of a bin that is drawn
_COLUMNS = ("case", "kind", "predicted", "true", "count", "missed")


@dataclass(frozen=True)
class Calibration:
    """Bins of equal width over [0, 1]; empty bins are left out.

    Args:
        predicted: Mean predicted probability of each bin.
        true: Share of each bin that is true.
        count: Cases in each bin.
    """

    predicted: tuple[float, ...]
    true: tuple[float, ...]
    count: tuple[int, ...]

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of predicted and true over all cases."""
        distance = np.abs(np.subtract(self.predicted, self.true))
        return float(np.average(distance, weights=self.count)) if self.count else 0.0

    @property
    def expected(self) -> float:
        """Expected number of true cases."""
        return float(np.dot(self.predicted, self.count))

    @property
    def happened(self) -> float:
        """Number of true cases."""
        return float(np.dot(self.true, self.count))


def calibration(predicted: ArrayLike, true: ArrayLike) -> Calibration:
    """Put predicted probabilities into bins.

    Args:
        predicted: float (m,), in [0, 1].
        true: bool (m,).

    >>> found = calibration([0.02, 0.04, 0.95, 1.0], [False, True, True, True])
    >>> found.count, round(found.error, 2)
    ((2, 2), 0.25)
    """
    probability, happened = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    place = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    full = np.flatnonzero(count)
    mean, share = (np.bincount(place, weights=values, minlength=BINS)[full] / count[full]
                   for values in (probability, happened))  # fmt: skip
    return Calibration(tuple(mean.tolist()), tuple(share.tolist()), tuple(count[full].tolist()))


def write_bins(path: Path, case: str, kinds: Mapping[str, Calibration], *, missed: int = 0) -> None:
    """Write the bins of one case to a table, in place of its earlier ones.

    Args:
        path: The table.
        case: Name of the case.
        kinds: Kind (edges, classes) -> its bins.
        missed: True cases that no bin holds, of the first kind.
    """
    rows = [row for row in _read(path) if row["case"] != case]
    for place, (kind, found) in enumerate(kinds.items()):
        lost = missed if place == 0 else 0
        for mean, share, count in zip(found.predicted, found.true, found.count, strict=True):
            rows.append({"case": case, "kind": kind, "predicted": f"{mean:.5f}", "true": f"{share:.5f}",
                         "count": str(count), "missed": str(lost)})  # fmt: skip
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_bins(path: Path) -> dict[str, dict[str, tuple[Calibration, int]]]:
    """Return kind -> case -> bins, and the true cases that no bin holds; empty if there is no table."""
    grouped: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in _read(path):
        grouped.setdefault((row["kind"], row["case"]), []).append(row)
    found: dict[str, dict[str, tuple[Calibration, int]]] = {}
    for (kind, case), rows in grouped.items():
        means, shares = (tuple(float(row[name]) for row in rows) for name in ("predicted", "true"))
        bins = Calibration(means, shares, tuple(int(row["count"]) for row in rows))
        found.setdefault(kind, {})[case] = (bins, int(rows[0]["missed"]))
    return found


def _read(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def draw(panels: Mapping[str, Mapping[str, Calibration]], where: Path) -> None:
    """Draw a panel for edges, classes and so on: predicted against true, a line a case, a point for each full bin.

    Args:
        panels: Title -> name -> its calibration.
        where: Path of the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(panels), figsize=(4.2 * len(panels), 4.0), squeeze=False)
    for axis, (title, lines) in zip(axes[0], panels.items(), strict=True):
        axis.plot((0, 1), (0, 1), color="0.6", linestyle="--", linewidth=1)
        for name, found in lines.items():
            bins = zip(found.predicted, found.true, found.count, strict=True)
            points = [(mean, share) for mean, share, count in bins if count >= FEWEST]
            if points:
                axis.plot(*zip(*points, strict=True), marker="o", markersize=4, linewidth=1.2, label=name)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("predicted probability", fontsize=9)
        axis.set_ylabel("share that is true", fontsize=9)
        axis.set_xlim(0, 1)
        axis.set_ylim(0, 1)
        axis.grid(alpha=0.3)
        if axis.lines[1:]:
            axis.legend(fontsize=8)
    figure.tight_layout()
    where.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(where, dpi=90)
    pyplot.close(figure)
