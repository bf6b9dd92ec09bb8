"""A figure for a paper: scores with their intervals over the option that varies, one line a method.

Its width is that of one column of a paper. Equal groups give equal bytes: no file has a date.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from ldpsim.strategies.outputs.seed_groups import BUDGETS, DATASET, OPTIONS, PEOPLE, SeedGroup, option_word, words_of
from ldpsim.strategies.outputs.untrusted import number
from ldpsim.strategies.palette import MARKS, SERIES

WIDTH = 3.35  # inches: a column of a page with two columns
_PANEL, _LEGEND_LINE = 2.1, 0.14  # inches
_GREY = "#555555"
_LOG_FROM = 16  # times the smallest value: from there on the axis is logarithmic
_MOST_TICKS = 8
_BESIDE, _MOST_BESIDE = 3.0, 12.0  # points between two intervals at one value, and between the first and the last
_LONG_NAME, _SHORT_LEGEND = 20, 2  # letters and lines: with such a name, or so few lines, the legend has one column
_STYLE = {"font.family": "DejaVu Sans", "font.size": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2,
          "axes.grid": True, "grid.alpha": 0.3, "grid.linewidth": 0.4, "xtick.major.width": 0.6,
          "ytick.major.width": 0.6, "legend.fontsize": 6.5, "pdf.fonttype": 42, "svg.hashsalt": "ldpsim"}  # fmt: skip

Groups = Sequence[SeedGroup]


def figure_bytes(groups: Groups, kind: Literal["svg", "pdf", "png"]) -> bytes:
    """Return the figure of groups as a file of this kind.

    Args:
        groups: At least one (:func:`ldpsim.strategies.outputs.seed_groups.seed_groups`).
        kind: The format; the PNG has 300 pixels an inch.
    """
    drawn = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with _drawn(groups) as figure:
        figure.savefig(drawn, format=kind, dpi=300, metadata=undated)
    return drawn.getvalue()


def varied_option(groups: Groups) -> str | None:
    """Return the option of the horizontal axis: of those with several numbers within a method a budget, else the one
    with the most values; None if there is none.
    """
    found: dict[str, int] = {}
    for key in groups[0].options:
        given = [(group, group.options[key]) for group in groups if group.options[key]]
        if any(_finite(value) is None for _, value in given):
            continue
        values: dict[tuple[str, str], set[str]] = {}
        for group, value in given:
            values.setdefault((group.method, group.data[0]), set()).add(value)
        if (most := max(map(len, values.values()), default=0)) > 1:
            found[key] = most
    return max(found, key=lambda key: (key in BUDGETS, found[key]), default=None)


def _finite(value: str) -> float | None:
    """Return the finite number that a text is; None for another text."""
    try:
        return number(float(value))
    except ValueError:
        return None


@contextmanager
def _drawn(groups: Groups) -> Iterator[Any]:
    """Offer the figure; its settings are matplotlib's defaults and those of this module, whatever the user's are."""
    from matplotlib import style
    from matplotlib.figure import Figure

    option = varied_option(groups)
    panels: dict[tuple[Any, ...], list[SeedGroup]] = {}
    for group in groups:
        panels.setdefault(group.data[:1] if option == PEOPLE else group.data, []).append(group)
    names = dict.fromkeys(_name(group, option) for group in groups)
    looks = {name: {"color": SERIES[place % len(SERIES)], "marker": MARKS[place % len(MARKS)]}
             for place, name in enumerate(names)}  # fmt: skip
    entries = list(looks) if option else []  # without an option the axis names them
    columns = 2 if len(entries) > _SHORT_LEGEND and max(map(len, entries)) < _LONG_NAME else 1
    height = _PANEL * len(panels) + _LEGEND_LINE * (-(-(len(entries) + 3) // columns) + 1)
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots(len(panels), 1, sharex=option is not None, squeeze=False)[:, 0]
        legend: dict[str, Any] = {}
        for axis, (data, inside) in zip(axes, panels.items(), strict=True):
            if len(panels) > 1:
                axis.set_title(" · ".join([str(data[0]), *(f"{size:,} people" for size in data[1:])]), fontsize=7)
            legend |= _panel(axis, inside, option, looks)
            axis.set_ylabel("Test accuracy (%)")
        if option is not None:
            _ticks(axes[-1], sorted(set(_places(groups, option).values())))  # all panels share them
        axes[-1].set_xlabel(_axis_name(option, logarithmic=axes[-1].get_xscale() == "log"))
        last = [name for name in (_INTERVAL, _NULL, _CHANCE) if name in legend]
        shown = [*(name for name in entries if name in legend), *last]
        if shown:
            figure.legend([legend[name] for name in shown], shown, loc="outside lower center", ncols=columns,
                          frameon=False, handlelength=2.6, columnspacing=1.2)  # fmt: skip
        yield figure


_INTERVAL, _NULL, _CHANCE = "95 % interval over runs", "best null model, same colour", "chance"


def _panel(axis: Any, groups: Groups, option: str | None, looks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Draw the groups of one data set, and return what the legend names."""
    from matplotlib.lines import Line2D

    legend: dict[str, Any] = {}
    lines: dict[str, list[SeedGroup]] = {}
    for group in groups:
        lines.setdefault(_name(group, option), []).append(group)
    places = _places(groups, option)
    if option is None:
        axis.set_xticks(range(len(lines)), list(lines), rotation=30, ha="right")
        axis.set_xlim(-0.5, len(lines) - 0.5)
    names = [name for name, inside in lines.items() if any(group.label in places for group in inside)]
    for name, inside in lines.items():
        look = looks[name]
        known = [group for group in inside if group.mean is not None]
        placed = [(place, group) for group in known if (place := places.get(group.label)) is not None]
        if placed:
            step = min(_BESIDE, _MOST_BESIDE / max(len(names) - 1, 1))
            beside = 0.0 if option is None else step * (names.index(name) - (len(names) - 1) / 2)
            legend[name] = _line(axis, placed, look, points_beside=beside)
        for group in known:
            if group.label not in places:
                level = _level(axis, group, look)
                legend.setdefault(name, level)
    if any(group.interval for group in groups):
        legend[_INTERVAL] = Line2D([], [], color=_GREY, linestyle="none", marker="|", markersize=8)
    if any(group.null is not None for group in groups):
        legend[_NULL] = Line2D([], [], color=_GREY, linestyle="--", linewidth=0.8)
    chances = [group.chance for group in groups if group.chance is not None]
    if chances:
        for chance in dict.fromkeys(round(100 * each, 1) for each in chances):
            legend[_CHANCE] = axis.axhline(chance, color=_GREY, linestyle=":", linewidth=1.0, zorder=4)
    axis.set_ylim(*_frame(groups))
    return legend


def _frame(groups: Groups) -> tuple[float, float]:
    """Return both ends of the vertical axis: all that is drawn has room, and no score is outside 0 to 100."""
    shown = [value for group in groups for value in (group.mean, group.null, group.chance) if value is not None]
    shown += [end for group in groups if group.interval for end in (group.interval.low, group.interval.high)]
    low, high = 100 * min(shown, default=0.0), 100 * max(shown, default=1.0)
    room = 0.05 * (high - low) or 2.0
    return max(low - room, -2.0), min(high + room, 102.0)


def _line(
    axis: Any, placed: Sequence[tuple[float, SeedGroup]], look: Mapping[str, Any], *, points_beside: float
) -> Any:
    """Draw means with intervals, and the best null model of each as a dashed line (a dash for a single point).

    Intervals of several lines at one value stand side by side: ``points_beside`` is the distance to the value.
    """
    from matplotlib.transforms import ScaledTranslation

    placed = sorted(placed, key=lambda each: each[0])
    x, y = [place for place, _ in placed], [100 * float(group.mean or 0.0) for _, group in placed]
    ends = [(100 * group.interval.low, 100 * group.interval.high) if group.interval else (mean, mean)
            for mean, (_, group) in zip(y, placed, strict=True)]  # fmt: skip
    errors = [[mean - low for mean, (low, _) in zip(y, ends, strict=True)],
              [high - mean for mean, (_, high) in zip(y, ends, strict=True)]]  # fmt: skip
    moved = axis.transData + ScaledTranslation(points_beside / 72, 0, axis.figure.dpi_scale_trans)
    drawn = axis.errorbar(
        x, y, yerr=errors, **look, markersize=3.5, capsize=2, elinewidth=0.8, transform=moved, zorder=3
    )
    nulls = [(place, 100 * group.null) for place, group in placed if group.null is not None]
    if nulls:
        marker = {"marker": "_", "markersize": 12} if len(nulls) == 1 else {}
        axis.plot(*zip(*nulls, strict=True), color=look["color"], linestyle="--", linewidth=0.8, zorder=2, **marker)
    return drawn


def _level(axis: Any, group: SeedGroup, look: Mapping[str, Any]) -> Any:
    """Draw a method that has no value of the option as a line over the whole width, its interval as a band."""
    if group.interval:
        axis.axhspan(100 * group.interval.low, 100 * group.interval.high, color=look["color"], alpha=0.1, linewidth=0)
    if group.null is not None:
        axis.axhline(100 * group.null, color=look["color"], linestyle="--", linewidth=0.8)
    return axis.axhline(100 * float(group.mean or 0.0), color=look["color"], linewidth=1.2)


def _places(groups: Groups, option: str | None) -> dict[str, float]:
    """Return the place of each group on the horizontal axis, by its label; one without a value has none."""
    if option is None:
        names = list(dict.fromkeys(_name(group, option) for group in groups))
        return {group.label: float(names.index(_name(group, option))) for group in groups}
    return {group.label: float(group.options[option]) for group in groups if group.options[option]}


def _ticks(axis: Any, values: Sequence[float]) -> None:
    """Set scale, ends and ticks of the axis of an option; the values have room beside them for intervals."""
    low, high = values[0], values[-1]
    if low > 0 and high >= _LOG_FROM * low:
        axis.set_xscale("log")
        room = (high / low) ** 0.07
        axis.set_xlim(low / room, high * room)
    else:
        room = 0.07 * (high - low) or 0.5
        axis.set_xlim(low - room, high + room)
    if len(values) <= _MOST_TICKS:
        axis.set_xticks(values, [f"{value:g}" for value in values])
        axis.set_xticks([], minor=True)


def _name(group: SeedGroup, option: str | None) -> str:
    """Return the name of a line: the method, and the options that are neither on an axis nor over a panel."""
    others = {key: value for key, value in group.options.items() if value and key not in (option, DATASET, PEOPLE)}
    return " ".join([group.method, *words_of(others, others)])


def _axis_name(option: str | None, *, logarithmic: bool) -> str:
    if option is None:
        return "Method"
    unit = "log scale" if logarithmic else ""
    if option == PEOPLE:
        return ", ".join(filter(None, ["Number of people", unit]))
    if option in BUDGETS:
        return f"Privacy budget {option_word(option)} ({unit or 'no unit'})"
    kind = f"option {OPTIONS[option].option}" if option in OPTIONS else "setting"
    return f"{option_word(option)} ({', '.join(filter(None, [kind, unit]))})"
