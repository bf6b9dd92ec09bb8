"""Charts of accuracy as Vega-Lite: points with their intervals, lines of methods, best null models and chance.

A point is a row of values ``x``, ``y``, ``low``, ``high``, ``null``, ``chance`` and ``name``; scores are in per cent.
One without an ``x`` is a line over the whole width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
