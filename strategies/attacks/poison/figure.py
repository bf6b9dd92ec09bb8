"""Figure of ``ldpsim poison``: accuracy of honest people against the share of liars, a panel a method and budget.

Response lies are solid, input lies dashed, silence is grey, and what a defence leaves is thin. Where an attack has
another goal than accuracy, a panel beside it shows the measure of the goal, and the law's bound dotted. Each panel
has a legend of its own lines.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strategies.attacks.campaign import AttackRow
from strategies.attacks.liars.accounts import JOINING
from strategies.attacks.liars.attacks import ATTACKS, EVERY, SILENT
from strategies.attacks.picture import small_picture
from strategies.attacks.poison.options import NONE
from strategies.attacks.poison.rows import budget_in_words
from strategies.palette import MARKS, SERIES

# All attacks have eight colours: no picture has two attacks of one colour.
_SAME_COLOUR = {
    "extreme-bit": "extreme-feature", "group-mass": "degree-cap", "same-direction": "all-ones",
    **dict(zip(JOINING, ("flip-label", "degree-cap", "one-label", "mimic", "fakes"), strict=True)),
}  # fmt: skip
_OWN_COLOUR = [name for name in ATTACKS if name not in _SAME_COLOUR]
_STYLE = {name: (SERIES[_OWN_COLOUR.index(_SAME_COLOUR.get(name, name)) % len(SERIES)], MARKS[at % len(MARKS)])
          for at, name in enumerate(EVERY)}  # fmt: skip
_ACROSS, _DPI = 2, 120
_WIDE, _HIGH, _LEGEND_LINE = 4.1, 2.5, 0.16  # inches, of one panel
_TITLES = {"misclassify": "chosen people in the class", "connect": "chosen pairs kept", "influence": "degree rank",
           "inflate": "people predicted as the class", "hide": "own edges gone"}  # fmt: skip


def draw(rows: Sequence[AttackRow], path: Path, *, about: str) -> None:
    """Draw the figure as a small PNG: its panels two by two."""
    panels = _panels(rows)
    heights = [max(_height(panel) for panel in panels[at : at + _ACROSS]) for at in range(0, len(panels), _ACROSS)]
    down = heights or [_HIGH]
    with small_picture(path, inches=(_WIDE * _ACROSS, sum(down) + 0.3), dpi=_DPI) as figure:
        grid = {"height_ratios": down}
        axes = list(figure.subplots(len(down), _ACROSS, squeeze=False, gridspec_kw=grid).flat)
        for axis, panel in zip(axes, panels, strict=False):
            _panel(axis, *panel)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        figure.suptitle(f"{about}: honest people by the {_axis(rows)[0]}", fontsize=11)


def panel_pictures(rows: Sequence[AttackRow]) -> list[tuple[str, bytes]]:
    """Return title and PNG of each panel: a page stands them side by side, as many as it is wide."""
    found = []
    for panel in _panels(rows):
        drawn = io.BytesIO()
        with small_picture(drawn, inches=(_WIDE, _height(panel)), dpi=_DPI) as figure:
            _panel(figure.subplots(), *panel)
        found.append((panel[0], drawn.getvalue()))
    return found


def _height(panel: tuple[str, str, Sequence[AttackRow]]) -> float:
    """Return the inches of a panel and its legend, which has two columns."""
    lines = {(row["attack"], row["lie"], row["defence"]) for row in panel[2] if row["attack"] != NONE}
    return _HIGH + _LEGEND_LINE * (len(lines) + 2) / 2


def _panels(rows: Sequence[AttackRow]) -> list[tuple[str, str, list[AttackRow]]]:
    """Return (title, goal, rows) of each panel: the accuracy of each method and budget, and its other goals."""
    together: dict[tuple[str, float | None], list[AttackRow]] = {}
    for row in rows:
        together.setdefault((row["method"], row["epsilon"]), []).append(row)
    panels = []
    for (method, epsilon), group in together.items():
        title = " ".join(part for part in (method, budget_in_words(epsilon)) if part)
        if any(row["attack"] != NONE for row in group):
            panels.append((title, "accuracy", group))
        for goal in dict.fromkeys(row["goal"] for row in group if row["goal"] in _TITLES):
            same = [row for row in group if row["goal"] == goal and row["goal_value"] is not None]
            if same:
                panels.append((f"{title}: {_TITLES[goal]}", goal, same))
    return panels


def _panel(axis: Any, title: str, goal: str, rows: Sequence[AttackRow]) -> dict[str, Any]:
    """Draw one panel and return its lines by name."""
    lines: dict[str, Any] = {}
    shares = sorted({row["share"] for row in rows} | {0.0})
    at = {share: place for place, share in enumerate(shares)}  # even steps: small shares stay apart
    start = next((row["accuracy"] for row in rows if row["attack"] == NONE and row["defence"] == NONE), None)
    kinds = dict.fromkeys((row["attack"], row["lie"], row["defence"]) for row in rows if row["attack"] != NONE)
    for attack, lie, defence in kinds:
        same = [row for row in rows if (row["attack"], row["lie"], row["defence"]) == (attack, lie, defence)]
        points = {row["share"]: row["accuracy"] if goal == "accuracy" else row["goal_value"] for row in same}
        first = start if goal == "accuracy" else same[0]["goal_clean"]
        if goal == "accuracy" and defence != NONE:
            first = next((row["accuracy"] for row in rows if row["attack"] == NONE and row["defence"] == defence), None)
        if first is not None:
            points = {0.0: first, **points}
        x, y = [at[share] for share in points], list(points.values())
        (line,) = axis.plot(x, y, **_look(attack, lie, defence))
        parts = (attack, lie and f"({lie})", "" if defence == NONE else f"+ {defence}")
        name = " ".join(part for part in parts if part)
        lines[name] = line
    if goal == "inflate":
        bounds = {row["share"]: row["goal_clean"] + row["bound"] for row in rows
                  if row["bound"] is not None and row["lie"] == "response"}  # fmt: skip
        if bounds:
            bounds = {0.0: rows[0]["goal_clean"], **bounds}
            (line,) = axis.plot([at[share] for share in bounds], list(bounds.values()), color="#444444", linestyle=":",
                                linewidth=1.2)  # fmt: skip
            lines["bound of the estimated share"] = line
    axis.set_title(title, fontsize=9)
    axis.set_xticks(list(at.values()), [f"{100 * share:.3g}" for share in shares], fontsize=8)
    axis.set_xlabel(_axis(rows)[1], fontsize=8)
    axis.set_ylabel("accuracy of the honest (%)" if goal == "accuracy" else f"{_TITLES[goal]} (%)", fontsize=8)
    _frame(axis, [value for line in axis.get_lines() for value in line.get_ydata()])
    axis.grid(alpha=0.25)
    if lines:
        axis.legend(list(lines.values()), list(lines), loc="upper center", bbox_to_anchor=(0.45, -0.19), ncols=2,
                    frameon=False, fontsize=7, columnspacing=0.8, handlelength=2.2)  # fmt: skip
    return lines


def _axis(rows: Sequence[AttackRow]) -> tuple[str, str]:
    """Return the horizontal axis in words, for the title and for the axis."""
    if any(row.get("accounts") for row in rows):
        return "number of accounts that join", "accounts that join (% of the honest)"
    return "share of people who lie", "people who lie (%)"


def _frame(axis: Any, values: Sequence[float]) -> None:
    """Show the values and at least a fifth of the range from 0 to 1, so that noise does not look like damage."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = max(0.03, (0.2 - (high - low)) / 2)
    low, high = max(-0.03, low - room), min(1.04, high + room)
    step = 0.05 if high - low < 0.3 else 0.1 if high - low < 0.55 else 0.25
    ticks = [step * k for k in range(21) if low <= step * k <= high]
    axis.set_ylim(low, high)
    axis.set_yticks(ticks, [f"{100 * tick:.0f}" for tick in ticks], fontsize=8)


def _look(attack: str, lie: str, defence: str) -> dict[str, Any]:
    thin = {"linewidth": 0.8, "markersize": 3} if defence != NONE else {"linewidth": 1.5, "markersize": 4.5}
    if attack == SILENT:
        return {"color": "#8a8a8a", "marker": "", "linestyle": "-", **thin, "linewidth": 3, "alpha": 0.7, "zorder": 1}
    colour, mark = _STYLE[attack]
    return {"color": colour, "marker": mark, "linestyle": "--" if lie == "input" else "-", "markerfacecolor": "none",
            "zorder": 4 if lie == "input" else 3, **thin}  # fmt: skip
