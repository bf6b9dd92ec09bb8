"""The page of ``ldpsim stress``: what is recovered over the times asked, the table, and all attacks behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ldpsim.cli.report.page import SCHEMA, SHAPES, cycled, drawing_of, environment
from ldpsim.cli.words import count
from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically
from ldpsim.strategies.attacks.adversaries.table import ADVERSARIES, PLAIN
from ldpsim.strategies.attacks.campaign import CampaignResult
from ldpsim.strategies.attacks.stress.summary import DEVICES, THEORY, WORDS, Summary, attacks_table, cell_text
from ldpsim.strategies.palette import SERIES

_ON_PAGE = tuple(f"var(--line-{place})" for place in range(len(SERIES)))


def write_page(path: Path, result: CampaignResult, summary: Summary) -> None:
    """Write the page, completely or not at all; OSError if it cannot be written."""
    attributes = [name for name, share in summary.no_reports.items() if share is not None]
    text = environment().get_template("stress.html").render(
        settings=result.settings, summary=summary, words=WORDS, devices=DEVICES, theory=THEORY, cell=cell_text,
        count=count, passed=result.passed, attacks=attacks_table(result.rows), attributes=attributes,
        descriptions={name: row.description for name, row in {**PLAIN, **ADVERSARIES}.items()
                      if any(row["adversary"] == name for row in result.rows)},
        failures=[(name, failed.line) for name, failed in result.failures],
        **drawing_of([chart(summary, name) for name in attributes]),
    )  # fmt: skip
    write_atomically(path, text, mode=PASSED_AROUND)


def chart(summary: Summary, attribute: str, colours: Sequence[str] = _ON_PAGE) -> dict[str, Any]:
    """Return the chart of an attribute as Vega-Lite: recovered share over times asked, a line a protection.

    Protections with equal figures have one line, with all their names.

    Args:
        summary: The shares.
        attribute: ``adjacency``, ``features`` or ``label``.
        colours: Of the lines, one after another.
    """
    lines = _lines(summary, attribute)
    domain = list(lines)
    values = [{"line": name, "asks": asks, "share": 100 * share, "tip": f"{name}\n{count(asks, 'question')}: "
               f"{100 * share:.1f} % of {WORDS[attribute]}"} for name, points in lines.items()
              for asks, share in points.items()]  # fmt: skip
    x = {"field": "asks", "type": "quantitative", "title": "times asked (log scale)",
         "scale": {"type": "log", "nice": False, "padding": 8, **_domain(summary.asks)},
         "axis": {"values": list(summary.asks), "format": ",d", "grid": False, "labelOverlap": "greedy"}}  # fmt: skip
    y = {"field": "share", "type": "quantitative", "title": f"{WORDS[attribute]} recovered (%)",
         "scale": {"domain": [0, 100]}, "axis": {"tickCount": 5}}  # fmt: skip
    colour = {"field": "line", "type": "nominal", "sort": None, "scale": cycled(domain, colours),
              "legend": {"columns": 1}}  # fmt: skip
    guess = 100 * (summary.no_reports[attribute] or 0.0)
    return {
        "$schema": SCHEMA,
        "description": f"{WORDS[attribute]} recovered over times asked",
        "width": "container",
        "height": 260,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"values": values},
        "layer": [
            {"mark": {"type": "rule", "aria": False, "strokeDash": [1, 3], "color": "#777"},
             "encoding": {"y": {"datum": guess}}},
            {"mark": {"type": "line", "aria": False, "strokeWidth": 2}, "encoding": {"x": x, "y": y, "color": colour}},
            {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
             "encoding": {"x": x, "y": y, "color": colour, "shape": {**colour, "scale": cycled(domain, SHAPES)},
                          "tooltip": {"field": "tip"}, "description": {"field": "tip"}}},
        ],
    }  # fmt: skip


def _domain(asks: Sequence[int]) -> dict[str, list[int]]:
    return {"domain": [asks[0], asks[-1]]} if len(asks) > 1 else {}


def _lines(summary: Summary, attribute: str) -> Mapping[str, dict[int, float]]:
    together: dict[tuple[tuple[int, float], ...], list[str]] = {}
    for name, cells in summary.shares.items():
        points = tuple((asks, share) for asks, shares in cells.items() if (share := shares[attribute]) is not None)
        together.setdefault(points, []).append(name)
    return {", ".join(names): dict(points) for points, names in together.items()}
