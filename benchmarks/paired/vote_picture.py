"""Picture of vote: accuracy against the loss of all that a person reports, and against the loss of a relationship.

Both axes are the product's own guarantee of the question, with public features set aside. A method without a bound
at a level stands in a strip at the right. What asks nobody is a level line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.paired.cells import NOBODY, PUBLIC, reader
from benchmarks.paired.measure import FEATURES_ALONE, STRONG_NULL
from benchmarks.paired.summary import Results
from benchmarks.paired.vote_cells import OTHER_TRUST, VOTE
from strategies.experiments.match_budgets import guarantee_before
from strategies.results.averages import mean, spread
from strategies.results.levels import held
from strategies.runs.set_up import set_up
from strategies.setup.run_setup import load_population

DATASET = "cora"
LEVELS = {"user": "epsilon of all that a person reports", "relationship": "epsilon of a relationship"}
STYLES: Mapping[str, tuple[str, str]] = {  # colour, mark
    VOTE: ("C3", "o"), "sbp": ("C5", "P"), "hogs": ("C0", "s"), "blink-soft": ("C1", "^"), "rgnn": ("C4", "v"),
    "lpgnn": ("C6", "<"), "fedavg-mlp": ("C8", ">"), "dp-fedavg": ("C9", "X"), "raw": ("0.2", "*"),
}  # fmt: skip
LINES = {STRONG_NULL: ("0.3", "--"), FEATURES_ALONE: ("0.5", ":"), "chance": ("0.7", ":")}
_METHODS = {"blink-soft": ("blink", {"variant": "soft"})}  # the others bear their method's name
_NO_BOUND = 2.0e5  # place of the strip on the axis of a person
_ENDS = {"user": (0.35, 6e5), "relationship": (0.5, 90)}
_STRIP = {"user": _NO_BOUND, "relationship": 55.0}


@dataclass(frozen=True)
class Point:
    """A method at one budget.

    Args:
        method: Name in the tables.
        losses: Loss at each level of :data:`LEVELS`; None without a bound. A level that is not asked is left out.
        values: Test accuracies in percent, one a seed.
    """

    method: str
    losses: Mapping[str, float | None]
    values: Sequence[float]


def losses(method: str, epsilon: float | None, *, public_features: bool = True) -> dict[str, float | None]:
    """Return what holds for a method's question on :data:`DATASET`, at each level; None for no bound."""
    name, settings = _METHODS.get(method, (method, {}))
    given: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    options = reader(method, name, DATASET, settings=settings, public_features=public_features, **given).options
    setup = set_up(options, population=load_population(replace(options)))
    made = guarantee_before(setup).to_dict()["holds"]
    found = {level: held(made, level) for level in LEVELS}
    rest = {level: entry["private_value"] for level, entry in found.items() if entry["private_value"] is not None}
    open_ = {level for level, entry in found.items() if public_features and entry["public"]} - rest.keys()
    return {level: rest.get(level, entry["value"]) for level, entry in found.items()
            if entry["status"] != "not asked" and level not in open_}  # fmt: skip


def points(results: Results) -> list[Point]:
    """Return all methods at the budgets that were run."""
    found = []
    for method in (VOTE, "sbp", "hogs", "blink-soft"):
        for place in results.places(PUBLIC):
            rows = results.of(place, method)
            if place[0] == DATASET and rows:
                found.append(Point(method, losses(method, float(place[2])), [row.test for row in rows.values()]))
    for method in ("rgnn", "lpgnn", "fedavg-mlp", "dp-fedavg"):
        rows = results.of((DATASET, OTHER_TRUST, ""), method)
        if rows:
            found.append(
                Point(method, losses(method, None, public_features=False), [row.test for row in rows.values()])
            )
    rows = results.of((DATASET, NOBODY, ""), "no noise")
    return [*found, Point("raw", dict.fromkeys(LEVELS), [row.test for row in rows.values()])]


def draw(found: Sequence[Point], levels: Mapping[str, float], where: Path) -> None:
    """Draw both panels.

    Args:
        found: The methods.
        levels: Accuracy in percent of what asks nobody, by name.
        where: Path of the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    known: dict[str, Any] = {}
    for axis, (level, words) in zip(axes, LEVELS.items(), strict=True):
        for name, value in levels.items():
            colour, style = LINES[name]
            known[name] = axis.axhline(value, color=colour, linestyle=style, linewidth=1.2)
        axis.axvspan(_STRIP[level] / 1.45, _ENDS[level][1], color="0.93", zorder=0)
        unbound = [name for name in STYLES if any(p.method == name and p.losses.get(level, 1) is None for p in found)]
        for name, (colour, mark) in STYLES.items():
            own = [point for point in found if point.method == name and level in point.losses]
            place = _STRIP[level] * 1.16 ** (unbound.index(name) - len(unbound) / 2 + 0.5) if name in unbound else 0.0
            line = sorted((place if p.losses[level] is None else p.losses[level], mean(p.values), spread(p.values) or 0)
                          for p in own)  # fmt: skip
            if line:
                x, y, wide = zip(*line, strict=True)
                known[name] = axis.errorbar(x, y, yerr=wide, color=colour, marker=mark, markersize=6, capsize=2,
                                            linewidth=1.6 if name == VOTE else 1.1)  # fmt: skip
        axis.set_xscale("log")
        axis.set_xlim(*_ENDS[level])
        axis.text(0.985, 0.02, "no\nbound", transform=axis.transAxes, fontsize=7, ha="right", color="0.3")
        axis.set_xlabel(words, fontsize=9)
        axis.grid(alpha=0.3)
        axis.tick_params(labelsize=8)
    axes[0].set_ylabel("test accuracy, %", fontsize=9)
    axes[0].set_ylim(0, 100)
    axes[0].set_title("Cora, public features: all that a person reports", fontsize=10)
    axes[1].set_title("the same runs: a relationship", fontsize=10)
    axes[1].set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    axes[0].set_xticks([1, 4, 16, 100, 1000, 10000], ["1", "4", "16", "100", "1,000", "10,000"])
    ordered = {name: known[name] for name in (*STYLES, *LINES) if name in known}
    figure.legend(ordered.values(), ordered.keys(), loc="lower center", ncols=6, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    where.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(where, dpi=100)
    pyplot.close(figure)
