"""Charts of accuracy as Vega-Lite: points with their intervals, lines of methods, best null models and chance.

A point is a row of values ``x``, ``y``, ``low``, ``high``, ``null``, ``chance`` and ``name``; scores are in per cent.
One without an ``x`` is a line over the whole width.

A LaTeX table and a figure for a paper: one row, or one point, for each group of results.

The figure is a Vega-Lite specification, drawn by the library that also draws the charts of a page. Its width is that
of one column of a paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ldpsim.strategies.foreign_text import number, text
from ldpsim.strategies.outputs.groups import BUDGETS, DATASET, OPTIONS, PEOPLE, Group, option_word
from ldpsim.strategies.palette import SERIES
from ldpsim.strategies.results.in_words import level_term, shown_levels
from ldpsim.strategies.results.numbers import epsilon, points

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")


def accuracy_layers(
    title: str,
    *,
    colours: Sequence[str],
    names: Sequence[str],
    nominal: bool = False,
    scale: Mapping[str, Any] | None = None,
    axis: Mapping[str, Any] | None = None,
    tooltip: str = "",
) -> list[dict[str, Any]]:
    """Return the layers of a chart of accuracy.

    Args:
        title: Name of the horizontal axis.
        colours: Colours of the lines, in the order of their names.
        names: Names of the lines.
        nominal: Whether ``x`` is a name.
        scale, axis: More of the horizontal axis.
        tooltip: Field with the words of a point; empty for none.
    """
    x: dict[str, Any] = {"field": "x", "type": "nominal" if nominal else "quantitative", "title": title,
                         "axis": {"grid": True, **(axis or {})}}  # fmt: skip
    x |= {"sort": None} if nominal else {"scale": {"padding": 14, "nice": False, **(scale or {"zero": False})}}
    y = {"type": "quantitative", "title": "Test accuracy (%)", "scale": {"zero": False}}
    name = {"field": "name", "type": "nominal", "sort": None}
    domain = list(names)
    colour = {**name, "scale": {"domain": domain, "range": [colours[at % len(colours)] for at in range(len(domain))]}}
    shape = {**name, "scale": {"domain": domain, "range": [SHAPES[at % len(SHAPES)] for at in range(len(domain))]}}
    point: dict[str, Any] = {"x": x, "y": {**y, "field": "y"}, "color": colour, "shape": shape}
    if tooltip:
        point |= {"tooltip": {"field": tooltip}, "description": {"field": tooltip}}
    placed = [{"filter": "datum.x !== null"}]
    return [
        {"mark": {"type": "rule", "aria": False, "strokeDash": [1, 3], "color": "#777"},
         "encoding": {"y": {**y, "field": "chance", "aggregate": "max"}}},
        {"mark": {"type": "rule", "aria": False, "strokeDash": [6, 3]}, "transform": [{"filter": "datum.x === null"}],
         "encoding": {"y": {**y, "field": "y"}, "color": colour}},
        {"mark": {"type": "line", "aria": False, "strokeWidth": 1.5}, "transform": placed,
         "encoding": {"x": x, "y": {**y, "field": "y"}, "color": colour}},
        {"mark": {"type": "rule", "aria": False, "strokeWidth": 1}, "transform": placed,
         "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour}},
        {"mark": {"type": "tick", "aria": False, "thickness": 2, "size": 14, "orient": "horizontal"},
         "transform": placed, "encoding": {"x": x, "y": {**y, "field": "null"}, "color": colour}},
        {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 1}, "transform": placed, "encoding": point},
    ]  # fmt: skip


WIDTH, HEIGHT = 240, 150  # points of 1/72 inch; 240 are a column of a page with two columns
_LEVELS = 2  # compared levels that have a column; summary.csv of a sweep has all of them
_SIGNS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "ε": r"$\varepsilon$", "±": r"$\pm$", "–": "--", "…": r"\ldots{}",
    "[": "{[}", "*": "{*}",  # after the end of a row they would be its options
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def escaped(words: str) -> str:
    r"""Return words as LaTeX prints them.

    >>> escaped("a_b & 5 % of ε")
    'a\\_b \\& 5 \\% of $\\varepsilon$'
    """
    return "".join(_SIGNS.get(sign, sign) for sign in text(words))


def latex_table(groups: Sequence[Group], *, command: str, version: str) -> str:
    """Return a ``tabular`` of the package booktabs. Scores are in per cent.

    Args:
        groups: At least one.
        command, version: What wrote the table; a comment names them.
    """
    from pandas import DataFrame

    frame = DataFrame([_cells(group, any(each.collections > 1 for each in groups)) for group in groups])
    aligned = "".join("l" if frame[name].str.match("[A-Za-z]").any() else "r" for name in frame.columns)
    head = [
        f"% ldpsim {text(version)}: {text(command)}",
        r"% Needs \usepackage{booktabs}. Of n scores: mean, sample standard deviation, and from three runs on the 95 %",
        "% interval of the mean over runs by Student's t. Best null model: the largest mean. Holds: the largest loss",
        "% of one collection. All collections: those of the same people, whose losses add.",
    ]
    frame.columns = frame.columns.map(escaped)
    return "\n".join([*head, frame.to_latex(index=False, escape=False, column_format=aligned)])


def _cells(group: Group, summed: bool) -> dict[str, str]:
    """Return the columns of a row in LaTeX; ``summed``: also the sum over all collections of the same people."""
    interval, mean = group.interval, group.mean
    sd, null = group.row["sd"], group.row["best_null_mean"]
    spread = "" if sd is None else rf" \pm {points(sd)}"
    named = [("holds", group.levels, True), *([("all collections", group.together, False)] if summed else [])]
    held = {f"{title}: {level_term(level)}": _held(levels[level], one)
            for title, levels, one in named for level in shown_levels(_LEVELS)}  # fmt: skip
    return {
        "method": escaped(group.method),
        **{"data set" if name == DATASET else option_word(name): escaped(value) or "--"
           for name, value in group.options.items()},
        "n": str(len(group.scores)),
        "test score (%)": "--" if mean is None else f"${points(mean)}{spread}$",
        "95 % interval over runs (%)": "--" if interval is None else f"{points(interval.low)}--{points(interval.high)}",
        "best null model (%)": escaped(points(null)),
        **held,
    }  # fmt: skip


def _held(entry: Mapping[str, Any], one: bool) -> str:
    if entry["status"] != "bounded":
        return escaped(entry["status"])
    return escaped(epsilon(((one and entry.get("of_one")) or entry)["value"]))


def figure_bytes(groups: Sequence[Group], kind: Literal["svg", "pdf"]) -> bytes:
    """Return the figure of groups as a file of this kind: scores with their 95 % intervals, one line a method."""
    import vl_convert

    specification = figure_spec(groups)
    if kind == "svg":
        return str(vl_convert.vegalite_to_svg(specification)).encode()
    return bytes(vl_convert.vegalite_to_pdf(specification))


def figure_spec(groups: Sequence[Group]) -> dict[str, Any]:
    """Return the figure as Vega-Lite: scores over the option that varies, a panel for each data set."""
    option = varied_option(groups)
    titles = {group.data: " · ".join([group.data[0], f"{group.data[1]:,} people"]) for group in groups}
    values = [
        {
            "panel": titles[group.data] if option != PEOPLE else group.data[0],
            "name": group.line if option in BUDGETS else " ".join([group.method, *_others(group, option)]),
            "x": group.label if option is None else float(group.options[option]) if group.options[option] else None,
            "y": 100 * (group.mean or 0.0),
            "low": None if group.interval is None else 100 * group.interval.low,
            "high": None if group.interval is None else 100 * group.interval.high,
            "null": None if group.row["best_null_mean"] is None else 100 * group.row["best_null_mean"],
            "chance": None if group.row["chance"] is None else 100 * group.row["chance"],
        }
        for group in groups
        if group.mean is not None
    ]
    names = list(dict.fromkeys(str(value["name"]) for value in values))
    layers = accuracy_layers(_axis_name(option), nominal=option is None, colours=SERIES, names=names)
    return {
        "$schema": SCHEMA,
        "data": {"values": values},
        "facet": {"row": {"field": "panel", "type": "nominal", "title": None, "header": {"labelFontSize": 7}}},
        "spec": {"width": WIDTH, "height": HEIGHT, "layer": layers},
        "config": {"font": "DejaVu Sans", "axis": {"labelFontSize": 7, "titleFontSize": 7, "titleFontWeight": "normal"},
                   "legend": {"labelFontSize": 7, "orient": "bottom", "columns": 3, "title": None}},
    }  # fmt: skip


def varied_option(groups: Sequence[Group]) -> str | None:
    """Return the option of the horizontal axis: of those with several numbers within a method a budget, else the one
    with the most values; None if there is none.
    """
    most: dict[str, int] = {}
    for key in groups[0].options:
        values: dict[tuple[str, str], set[str]] = {}
        for group in groups:
            if group.options[key]:
                values.setdefault((group.method, group.data[0]), set()).add(group.options[key])
        if all(_is_number(value) for several in values.values() for value in several):
            most[key] = max(map(len, values.values()), default=0)
    varied = {key: count for key, count in most.items() if count > 1}
    return max(varied, key=lambda key: (key in BUDGETS, varied[key]), default=None)


def _is_number(value: str) -> bool:
    try:
        return number(float(value)) is not None
    except ValueError:
        return False


def _others(group: Group, option: str | None) -> list[str]:
    return [f"{option_word(key)} {value}" for key, value in group.options.items()
            if value and key not in (option, DATASET, PEOPLE)]  # fmt: skip


def _axis_name(option: str | None) -> str:
    if option is None:
        return "Method"
    if option == PEOPLE:
        return "Number of people"
    if option in BUDGETS:
        return f"Privacy budget {option_word(option)} (no unit)"
    return f"{option_word(option)} ({f'option {OPTIONS[option].option}' if option in OPTIONS else 'setting'})"
