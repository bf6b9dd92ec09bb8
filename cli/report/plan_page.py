"""Page of a plan: one self-contained file without a script. Numbered points, a Pareto front and a table.

A point is a method at its setting: the loss at the plan's level to the right, the accuracy of its rehearsal upwards,
and the bytes of a device as its area. A bar goes from it to the accuracy that asking nobody gives. Where all have the
same loss, the bytes are to the right. Methods that no other one beats in both stand on the front.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpsim.cli.report.page import environment
from ldpsim.cli.words import NONE, bytes_, epsilon, guessed, percent, planned_loss, short_time, size
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically
from ldpsim.strategies.estimate.load import MEMORY_ERROR, TIME_ERROR
from ldpsim.strategies.planning.files import rehearsal
from ldpsim.strategies.planning.listed import GROUPS
from ldpsim.strategies.planning.plan import Plan
from ldpsim.strategies.planning.rows import PlanRow
from ldpsim.strategies.results.levels import at_the_level
from ldpsim.strategies.results.shown_nulls import NULLS

_LEFT, _RIGHT, _OPEN = 4.0, 84.0, 94.0  # per cent of the width: the axis, and the place of what is not bounded
_NEAR = 4.0  # per cent: points that are nearer stand side by side


@dataclass(frozen=True)
class Point:
    """One point of the figure; places in per cent of the frame, from the left and from the top.

    ``at`` is its true place from the left, and ``x`` the one at which it is drawn, beside other points.
    """

    number: int
    row: PlanRow
    x: float
    at: float
    y: float
    nobody: float
    radius: float
    front: bool

    @property
    def moved(self) -> bool:
        """Whether it is drawn beside its place."""
        return abs(self.x - self.at) > 0.1


def write_plan_page(path: Path, made: Plan) -> None:
    """Write the page, completely or not at all."""
    write_atomically(path, render_plan(made, path.parent), mode=PASSED_AROUND)


def render_plan(made: Plan, folder: Path = Path()) -> str:
    """Return the page as text; ``folder`` is that of the plan's files."""
    shown = made.shown
    found = points_of(shown)
    numbers = {point.row.name: point for point in found}
    cost = cost_of([point.row for point in found])
    places = sorted({cost(point.row) for point in found if 0 < cost(point.row) < math.inf})
    by_bytes = cost is bytes_of
    front = sorted((point for point in found if point.front), key=lambda point: point.at)
    return environment().get_template("plan.html").render(
        plan=made,
        facts=made.facts,
        points=found,
        front=" ".join(f"{point.at:.2f},{point.y:.2f}" for point in front),
        ticks=_ticks(places, bytes_ if by_bytes else epsilon),
        by_bytes=by_bytes,
        open=any(not math.isfinite(cost(point.row)) for point in found),
        groups=[(GROUPS[group], group.replace(" ", "-"),
                 [_line(row, numbers.get(row.name)) for row in shown if row.listed.group == group])
                for group in dict.fromkeys(row.listed.group for row in shown)],
        folded=[_line(row, None) for row in made.folded],
        level=at_the_level(made.wishes.level),
        rehearsal=made.rehearsal,
        data=made.like.name,
        choice=None if made.choice is None else _line(made.choice, numbers.get(made.choice.name)),
        others=[_line(row, numbers.get(row.name)) for row in made.others],
        memory_error=MEMORY_ERROR,
        time_error=TIME_ERROR,
        command=None if made.choice is None else rehearsal(made, made.choice, folder),
        dash=NONE,
        percent=percent,
    )  # fmt: skip


def points_of(rows: Sequence[PlanRow]) -> list[Point]:
    """Return a point for each row that was simulated, in the order of the rows; crowded ones stand side by side."""
    shown = [row for row in rows if row.worth is not None]
    cost = cost_of(shown)
    bounded = [cost(row) for row in shown if 0 < cost(row) < math.inf]
    low, high = (min(bounded), max(bounded)) if bounded else (1.0, 1.0)
    largest = max((row.figures["bytes_per_device"] for row in shown), default=1.0) or 1.0
    taken: list[tuple[float, float]] = []
    made = []
    for number, row in enumerate(shown, 1):
        assert row.worth is not None
        at, y = across(cost(row), low, high), _up(row.worth.test)
        x = _beside(at, y, taken)
        taken.append((x, y))
        radius = 9 + 13 * math.sqrt(row.figures["bytes_per_device"] / largest)
        made.append(
            Point(number, row, x, at, y, _up(row.worth.nobody or row.worth.test), radius, _on_front(row, shown, cost))
        )
    return made


def _beside(at: float, y: float, taken: Sequence[tuple[float, float]]) -> float:
    """Return the free place in the frame that is nearest to ``at``; ``at`` itself if there is none."""
    places = [at + sign * step * _NEAR for step in range(20) for sign in (1, -1)]
    for x in places:
        inside = _LEFT / 2 <= x <= (100 - _LEFT / 2 if at > _RIGHT else _RIGHT + _NEAR)
        if inside and not any(abs(x - other) < _NEAR and abs(y - above) < 2 * _NEAR for other, above in taken):
            return x
    return at


def cost_of(rows: Sequence[PlanRow]) -> Callable[[PlanRow], float]:
    """Return what stands to the right: the loss at the plan's level, or bytes where all bounded losses are the same."""
    losses = [row.loss for row in rows if 0 < row.loss < math.inf]
    return bytes_of if len(losses) > 1 and max(losses) <= min(losses) * 1.02 else lambda row: row.loss


def bytes_of(row: PlanRow) -> float:
    """Return the bytes of a device; infinite where the loss at the plan's level is not bounded."""
    return max(1.0, float(row.figures["bytes_per_device"])) if math.isfinite(row.loss) else math.inf


def across(value: float, low: float, high: float) -> float:
    """Return the place of a loss on a logarithmic axis, in per cent from the left; what is not bounded has its own."""
    if not math.isfinite(value):
        return _OPEN
    if high <= low * 1.02:
        return (_LEFT + _RIGHT) / 2
    return _LEFT + (_RIGHT - _LEFT) * math.log(max(value, low) / low) / math.log(high / low)


def _up(share: float) -> float:
    return 100 - 100 * share


def _on_front(row: PlanRow, rows: Sequence[PlanRow], cost: Callable[[PlanRow], float]) -> bool:
    """Return whether no other row is at least as accurate at a cost that is no larger, and better in one of them."""
    assert row.worth is not None
    return not any(
        other.worth is not None
        and cost(other) <= cost(row) * (1 + 1e-6)
        and other.worth.test >= row.worth.test
        and (cost(other) < cost(row) * (1 - 1e-6) or other.worth.test > row.worth.test)
        for other in rows
    )


def _ticks(values: Sequence[float], word: Callable[[float], str]) -> list[tuple[float, str]]:
    """Return place and word of the smallest and the largest value, and of one between them."""
    if not values:
        return []
    low, high = values[0], values[-1]
    if high <= low * 1.02:
        return [(across(low, low, high), word(low))]
    middle = float(f"{math.sqrt(low * high):.1g}")
    return [(across(value, low, high), word(value)) for value in (low, middle, high)]


def _line(row: PlanRow, point: Point | None) -> dict[str, Any]:
    """Return a row of the table in words."""
    entry, figures = row.at_level, row.figures
    holds: Mapping[str, Any] = figures["holds"]
    return {
        "number": None if point is None else point.number,
        "front": point is not None and point.front,
        "method": row.name,
        "asks": row.asks,
        "budget": row.shown_budget,
        "held": planned_loss(entry),
        "public": row.private_only,
        "central": entry["level"] == "central_node",
        "guess": guessed(entry["best_guess"]) if "best_guess" in entry else NONE,
        "bytes": bytes_(figures["bytes_per_device"]),
        "seconds": NONE if figures["seconds"] is None else short_time(figures["seconds"]),
        "memory": NONE if figures["memory_bytes"] is None else size(figures["memory_bytes"]),
        "machines": figures["machines"],
        "worth": row.worth,
        "nobody": ""
        if row.worth is None or row.worth.nobody is None
        else f"{percent(row.worth.nobody)}, {NULLS[row.worth.null].heading}",
        "why": row.why,
        "levels": [(LEVELS[name].words, _held(level)) for name, level in holds.items()],
    }


def _held(entry: Mapping[str, Any]) -> str:
    return epsilon(entry["value"]) if entry["status"] == "bounded" else str(entry["status"])
