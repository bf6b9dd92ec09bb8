"""Figure of a stress test: recovery by number of asks, beside theory.

It has one panel for each attribute and one for the edges. A line is a protection, under the
adversary that recovered most. What this device does not cover is a line of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.curator.attacks.edges import expected_named
from ldpsim.curator.attacks.recovery import bit_recovery, label_recovery
from ldpsim.strategies.attacks.campaign import AttackRow, CampaignResult
from ldpsim.strategies.attacks.picture import small_picture
from ldpsim.strategies.attacks.stress.protections import REAL
from ldpsim.strategies.palette import SERIES

TITLES = {"adjacency": "neighbour lists", "features": "features", "label": "labels"}
# Dark to light, solid to dotted: the lines differ in grey too.
STYLES: dict[str, dict[str, Any]] = {
    "none": {"color": SERIES[1], "marker": "o", "linestyle": "-", "markersize": 7, "markerfacecolor": "none"},
    "context-state": {"color": SERIES[3], "marker": "x", "linestyle": "--", "markersize": 6},
    "refuse": {"color": SERIES[0], "marker": "s", "linestyle": "-", "markersize": 6, "markerfacecolor": "none"},
    "replay": {"color": SERIES[2], "marker": "+", "linestyle": "--", "markersize": 7},
    "pinned": {"color": SERIES[5], "marker": "^", "linestyle": ":", "markersize": 6, "markerfacecolor": "none"},
}
UNCOVERED = "#888888"
WORDS = {
    "none": "no protection",
    "context-state": "guard in Flower's Context.state",
    "refuse": "this device, policy refuse",
    "replay": "this device, policy replay",
    "pinned": "this device, collector pinned",
}


def worst(
    rows: Sequence[AttackRow], protection: str, attribute: str, *, covered: bool | None = None
) -> dict[int, AttackRow]:
    """Return, by number of asks, the row of the adversary that recovered most; ``covered`` None: of all of them."""
    found: dict[int, AttackRow] = {}
    for row in rows:
        if (row["protection"], row["attribute"]) == (protection, attribute) and covered in (None, row["covered"]):
            kept = found.get(row["asks"])
            if kept is None or row["recovered"] > kept["recovered"]:
                found[row["asks"]] = row
    return dict(sorted(found.items()))


def lines(result: CampaignResult, attribute: str) -> Iterator[tuple[str, dict[str, Any], dict[int, AttackRow]]]:
    """Yield label, style and rows of each line: of this device, what it covers and what it does not are two."""
    for protection in result.settings["protections"]:
        for covered in (True, False) if protection in REAL else (None,):
            found = worst(result.rows, protection, attribute, covered=covered)
            label, style = WORDS[protection], STYLES[protection]
            if covered is False:
                label, style = f"{label}: not covered", {**style, "color": UNCOVERED, "linestyle": ":"}
            if found:
                yield label, style, found


def draw_campaign(result: CampaignResult, path: Path) -> None:
    """Draw the figure as a small PNG."""
    attributes = [name for name in TITLES if any(row["attribute"] == name for row in result.rows)]
    with small_picture(path, inches=(8.6, 6.4), dpi=110) as figure:
        axes = list(figure.subplots(2, 2).flat)
        for axis, attribute in zip(axes, attributes, strict=False):
            _recovery(axis, result, attribute)
        for axis in axes[len(attributes) : 3]:
            axis.set_axis_off()
        _edges(axes[3], result)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), frameon=False, fontsize=9)
        settings = result.settings
        figure.suptitle(
            f"{settings['dataset']}, {settings['nodes']:,} people, epsilon {settings['epsilon_bit']:g} a value: "
            "what a curator who asks again recovers", fontsize=11,
        )  # fmt: skip


def _asks(result: CampaignResult) -> list[int]:
    most = max(result.settings["asks"])
    asks = np.unique(np.round(np.geomspace(1, most, 60)).astype(int)) if most > 1 else np.array([1])
    return list(map(int, asks + (1 - asks % 2)))  # odd: an even number is no better than the odd one before it


def _theory(result: CampaignResult, attribute: str, rows: Sequence[AttackRow]) -> tuple[list[int], list[float]]:
    asks = _asks(result)
    if attribute == "label":
        return asks, [label_recovery(rows[0]["one_query_bound"], result.settings["classes"], t) for t in asks]
    right = 1 / (1 + math.exp(-result.settings["epsilon_bit"]))
    if abs(rows[0]["one_query_bound"] - right) < 1e-6:
        return asks, [float(bit_recovery(right, t)) for t in asks]
    # features inside their range are recovered less well than those at its ends: take theory from the rows
    known = {row["asks"]: row["theory"] for row in rows}
    return sorted(known), [known[t] for t in sorted(known)]


def _recovery(axis: Any, result: CampaignResult, attribute: str) -> None:
    rows = [row for row in result.rows if row["attribute"] == attribute]
    bound, curve = rows[0]["one_query_bound"], _theory(result, attribute, rows)
    axis.plot(*curve, color="#999999", linewidth=5, alpha=0.5, label="theory, an answer every time", zorder=0)
    axis.axhline(bound, color="#666666", linewidth=1, linestyle=":", label="theory, one answer")
    axis.axhline(rows[0]["constant_guess"], color="#222222", linewidth=1, linestyle="-.", label="one guess for all")
    for label, style, found in lines(result, attribute):
        axis.plot(list(found), [row["recovered"] for row in found.values()], linewidth=1.2, label=label, **style)
    axis.set_title(f"{TITLES[attribute]} recovered", fontsize=10)
    _frame(axis, result, "right guesses (%)")


def _edges(axis: Any, result: CampaignResult) -> None:
    density = next((row["prior_precision"] for row in result.rows if row["prior_precision"] is not None), None)
    if density is None:
        axis.set_axis_off()
        return
    flip = 1 / (1 + math.exp(result.settings["epsilon_bit"]))
    asks = np.unique(np.round(np.geomspace(1, max(result.settings["asks"]), 60)).astype(int))
    recall = [expected_named(flip, 2 * int(t), density)[0] for t in asks]
    axis.plot(asks, recall, color="#999999", linewidth=5, alpha=0.5, zorder=0)
    axis.axhline(recall[0], color="#666666", linewidth=1, linestyle=":")
    for _, style, found in lines(result, "adjacency"):
        axis.plot(list(found), [row["edge_recall"] for row in found.values()], linewidth=1.2, **style)
    axis.set_title("edges named by the best guess", fontsize=10)
    _frame(axis, result, "edges named (%)")


def _frame(axis: Any, result: CampaignResult, named: str) -> None:
    axis.set_xscale("log")
    axis.set_xlabel("times asked (log scale)", fontsize=9)
    axis.set_ylabel(named, fontsize=9)
    axis.set_ylim(-0.03, 1.04)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25", "50", "75", "100"], fontsize=8)
    marks = [result.settings["asks"][-1]]
    for mark in reversed(result.settings["asks"]):
        if mark * 2 <= marks[-1]:  # a nearer mark would overlap its neighbour
            marks.append(mark)
    axis.set_xticks(marks, [f"{mark:,}" for mark in marks], fontsize=8)
    axis.minorticks_off()
    axis.grid(alpha=0.25)
