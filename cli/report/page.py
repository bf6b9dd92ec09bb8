"""The page of results: rows, the sentences about them, and the plotting library, in one file.

Charts are Vega-Lite. The library comes from the installed package ``vl-convert-python`` when the page is written, and
is compressed: the page's own script unpacks it. The Content-Security-Policy allows these two scripts, by their digests,
and nothing else. If text of a record got into the page unescaped, it would not run, and nothing can be fetched.
Vega interprets its expressions (``ast``), so ``eval`` stays forbidden.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from ldpsim.cli.report.gathered import Gathered
from ldpsim.cli.words import bytes_, count, difference, level, percent, plus_minus, points, seconds
from ldpsim.curator.methods.spec import TRUSTED
from ldpsim.curator.privacy.levels import level_term
from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically
from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.group_accuracy.group_rows import NO_GROUPS, group_rows, words_of_groups
from ldpsim.strategies.group_accuracy.section import FALSE_ALARM
from ldpsim.strategies.outputs.comparison import accuracy_interval, columns_of_devices, finding
from ldpsim.strategies.outputs.groups import ABOVE, Group, shown_cells, table_of
from ldpsim.strategies.outputs.shell import command_of
from ldpsim.strategies.outputs.sums import of_repeats
from ldpsim.strategies.palette import ON_WHITE, SERIES, SERIES_ON_DARK
from ldpsim.strategies.results.in_words import NOT_ASKED, NOT_HIDDEN, density_of, privacy_in_words
from ldpsim.strategies.results.levels_of_results import shown_levels
from ldpsim.strategies.results.rows import csv_text, data_frame
from ldpsim.strategies.results.verdict import NOT_TAKEN, NULLS, SHUFFLED, STANDINGS

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
CLAIMED = "claimed"  # a choice of the chart beside the levels
WHOLE, EDGE, OWNED = "user", "relationship", "central_node"
TRUST = {
    "untrusted curator": "reports only, nobody is trusted",
    "trusted curator": "a curator is trusted with what devices send",
    "none": "no protection: a reference on raw data",
}
_OTHERS = " and others"
_CLOSE_LINES = 2.5  # points between two lines of a chart that have labels of their own
_IN_CLEAR = {"relationship": "edges", "vector": "features"}


def write_page(path: Path, gathered: Gathered) -> None:
    """Write the page, completely or not at all; OSError if it cannot be written."""
    write_atomically(path, render(gathered), mode=PASSED_AROUND)


def render(gathered: Gathered) -> str:
    """Return the page of some results as text."""
    groups, made = gathered.groups, environment()
    rows = [row_of(group, cells) for group, cells in zip(groups, table_of(groups), strict=True)]
    panels = _panels(groups)
    charts = [chart(groups, data, kind, matched_level(gathered)) for kind in ("privacy", "bytes") for data in panels]
    figures = csv_text(data_frame([{"label": group.label, **group.row} for group in groups]))
    return made.get_template("page.html").render(
        rows=rows, panels=panels, results=len(gathered.records), levels=shown_levels(),
        columns=list(rows[0]["cells"]), headline=_headline(groups, panels),
        nulls={name: spec for name, spec in NULLS.items() if any(name in group.nulls for group in groups)},
        not_taken=NOT_TAKEN, no_groups=NO_GROUPS, false_alarm=FALSE_ALARM, standings=STANDINGS, above=ABOVE,
        failed=gathered.failed, left_out=gathered.left_out, finding=finding(groups, gathered.match),
        who=columns_of_devices(groups),
        other_people=differently_scored(groups), sums=[text(total.text) for total in gathered.sums],
        versions=sorted({text(record["ldpsim_version"]) for record in gathered.records.values()}),
        folders=[text(folder.name) for folder in gathered.records],
        figures=f"data:text/csv;charset=utf-8,{quote(figures, safe=',:;=/()@!*$|')}",
        **drawing_of(charts),
    )  # fmt: skip


def drawing_of(charts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what a template needs to draw Vega-Lite charts: chart N is drawn in the element ``chart-N``."""
    made = environment()
    assert made.loader is not None
    script = made.loader.get_source(made, "page.js")[0]
    return {"charts": as_json(charts), "script": script, "library": packed_library(),
            "policy": _policy(plotting_library(), script)}  # fmt: skip


def row_of(group: Group, cells: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of the page: a group of results that differ in their seeds alone, and what is said of it."""
    first = group.records[0]
    opened = [words for name, words in _IN_CLEAR.items() if group.levels[name]["status"] == "unprotected"]
    badge = f"{' and '.join(opened)} in clear" if opened else ""
    repeated, alone = of_repeats(first), len(group.records) == 1
    return {
        "group": group,
        "label": group.label,
        "cells": cells,
        "trust": TRUST[first["privacy"]["trust"]],
        "badge": "in clear to the curator" if badge and first["privacy"]["trust"] == "trusted curator" else badge,
        "levels": {name: {**group.levels[name], "words": level(group.levels[name])} for name in shown_levels()},
        "claimed": text(first["privacy"]["claimed"]["statement"] or "nothing"),
        "why": [text(reason) for reason in first["privacy"]["why_they_differ"]],
        "in_words": text("; ".join(
            f"{each.subject}: {each.word}{f' ({each.detail})' if each.word == NOT_HIDDEN else ''}"
            for each in privacy_in_words(first) if each.word != NOT_ASKED)),
        "repeated": text(repeated.text) if repeated and alone else "",
        "served": group_rows(first) if alone else [],
        "seeded": any(record.get("simulation_seeded") is True for record in group.records),
        "commands": [command_of(record) for record in group.records],
    }  # fmt: skip


def _panels(groups: Sequence[Group]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the data sets: name, title, number of populations, the share of pairs that are edges."""
    panels: dict[tuple[str, int], dict[str, Any]] = {}
    for data in dict.fromkeys(group.data for group in groups):
        records = [record for group in groups if group.data == data for record in group.records]
        panels[data] = {"name": data[0], "title": f"{data[0]}, {data[1]:,} people", "people": f"{data[1]:,} people",
                        "populations": list({text(record["dataset"]["digest"]): None for record in records}),
                        "density": percent(density_of(records[0]["dataset"]))}  # fmt: skip
    return panels


def _headline(groups: Sequence[Group], panels: Mapping[Any, Mapping[str, Any]]) -> dict[str, str]:
    """Return the title and the first sentences: what is compared, on whom, and the mean of what."""
    compared = count(len({group.method for group in groups}), "method")
    if len(groups) > len({(group.method, group.data) for group in groups}):
        compared += f", {count(len(groups), 'configuration')}"
    about, n = " and ".join(dict.fromkeys(name for name, _ in panels)), max(group.row["n"] for group in groups)
    title = f"{compared} on {count(len(panels), 'data set')}"
    if len(panels) == 1:
        (panel,) = panels.values()
        drawn, people = len(panel["populations"]), panel["people"]
        title = f"{about}: {compared} on {f'the same {people}' if drawn == 1 else f'{drawn} populations of {people}'}"
    means = f"Accuracy is the mean of up to {n} scores (n); ± is their standard deviation." if n > 1 else ""
    return {"title": title, "about": about, "means": means}


def matched_level(gathered: Gathered) -> str:
    """Return the level at which a comparison made losses equal; empty without one."""
    return str(gathered.match["level"]) if gathered.match else ""


def chart(
    groups: Sequence[Group], data: tuple[str, int], kind: str, matched: str, *, switch: bool = True
) -> dict[str, Any]:
    """Return a chart of accuracy as Vega-Lite; a group without a figure is a dashed line over the whole width.

    Args:
        groups: The groups of the page.
        data: The data set.
        kind: ``privacy``, with a choice among the claim and the levels, or ``bytes``.
        matched: A level at which losses are equal: the switch offers it, and the chart opens at another one, because
            all points would have one place on its axis; empty for none.
        switch: Whether a switch colours by who is trusted, where groups differ in it.
    """
    groups = [group for group in groups if group.data == data and group.mean is not None]
    bounded = {name for name in shown_levels() for group in groups if group.loss(name)}
    levels = list(dict.fromkeys(filter(None, [WHOLE, EDGE, matched, *sorted(bounded & {OWNED})])))
    opening = next((name for name in levels if name in bounded - {matched}), matched or WHOLE)
    values = []
    for group in groups:
        interval = accuracy_interval(group)
        ends = {name: None if interval is None else 100 * getattr(interval, name) for name in ("low", "high")}
        values.append({
            "name": group.line, "trusted": _name_and_trust(group), "tip": _tip(group),
            "y": 100 * (group.mean or 0.0), "bytes": group.bytes or None,
            **ends, **{name: group.loss(name) or None for name in levels}, CLAIMED: group.row["claimed"] or None,
        })  # fmt: skip
    bytes_only = kind == "bytes"
    selection: dict[str, Any] = {"name": "shown", "value": "bytes" if bytes_only else opening}
    if not bytes_only:
        labels = [*(level_term(name) for name in levels), "as claimed"]
        selection["bind"] = {"input": "radio", "name": "Epsilon for", "options": [*levels, CLAIMED], "labels": labels}
    title = "bytes a device, both ways (log scale)" if bytes_only else "epsilon (log scale)"
    x = {"field": "x", "type": "quantitative", "title": title,
         "scale": {"type": "log", "padding": 14, "nice": False},
         "axis": {"format": "~s" if bytes_only else ",.3~r", "tickCount": 5, "labelOverlap": "greedy"}}  # fmt: skip
    y = {"type": "quantitative", "title": "Test accuracy (%)", "scale": {"zero": False}}
    colour, shape, switches = _series(groups, switch=switch)
    at, simpler = {"calculate": "datum[shown]", "as": "x"}, _simpler_models(groups)
    at_colour = [at, *({"calculate": "datum[colour]", "as": "series"} for _ in switches)]
    with_loss = [*at_colour, {"filter": "datum.x !== null"}]
    tip = {"tooltip": {"field": "tip"}, "description": {"field": "tip"}}
    return {
        "$schema": SCHEMA,
        "description": f"Test accuracy against {'bytes' if bytes_only else 'privacy'}, {data[0]}",
        "width": "container",
        "height": 300,
        "autosize": {"type": "fit", "contains": "padding", "resize": True},
        "params": [selection, *switches],
        "data": {"values": values},
        "layer": [
            {"data": {"values": simpler}, "mark": {"type": "rule", "aria": False, "strokeWidth": 1, "color": "#888"},
             "encoding": {"y": {**y, "field": "y"}}},
            {"mark": {"type": "rule", "aria": False, "strokeDash": [6, 3]},
             "transform": [*at_colour, {"filter": "datum.x === null"}],
             "encoding": {"y": {**y, "field": "y"}, "color": colour}},
            {"mark": {"type": "line", "aria": False, "strokeWidth": 1.5}, "transform": with_loss,
             "encoding": {"x": x, "y": {**y, "field": "y"}, "color": colour,
                          "detail": {"field": "name", "type": "nominal"}}},
            {"mark": {"type": "rule", "aria": False, "strokeWidth": 1}, "transform": with_loss,
             "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour}},
            *({"data": {"values": simpler},
               "mark": {"type": "text", "aria": False, "align": "left", "baseline": "bottom", "dx": 3, "dy": -2,
                        "fontSize": 11, **paint},
               "encoding": {"x": {"value": 0}, "y": {**y, "field": "y"}, "text": {"field": "name"}}}
              for paint in ({"stroke": "var(--paper)", "strokeWidth": 4}, {"fill": "var(--soft)"})),
            {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 1}, "transform": with_loss,
             "encoding": {"x": x, "y": {**y, "field": "y"}, "color": colour, "shape": shape, **tip}},
        ],
    }  # fmt: skip


def _series(groups: Sequence[Group], *, switch: bool) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Return colour and shape of the groups' series, and a switch of colours where groups differ in who is trusted.

    A series has a name. With the switch it is a name or, as ``NAME (WHO)``, the same name in the colour of who is
    trusted. Colour and shape have one field and one domain in both, so that Vega-Lite draws one legend for them.
    """
    names = list(dict.fromkeys(group.line for group in groups))
    trusts = [word for word in TRUSTED if any(group.row["trusted"] == word for group in groups)]
    colours = {name: place for place, name in enumerate(names)}
    shapes, field, legend, switches = dict(colours), "name", {}, list[dict[str, Any]]()
    if switch and len(trusts) > 1:
        by_trust = sorted(groups, key=lambda group: trusts.index(group.row["trusted"]))
        colours |= {_name_and_trust(group): trusts.index(group.row["trusted"]) for group in by_trust}
        shapes |= {_name_and_trust(group): shapes[group.line] for group in by_trust}
        field, of_trust = "series", json.dumps(list(dict.fromkeys(map(_name_and_trust, by_trust))))
        # Vega moves the entries to fit their new texts only when the number of columns changes too.
        legend = {"legend": {"values": {"expr": f"colour === 'trusted' ? {of_trust} : {json.dumps(names)}"},
                             "columns": {"expr": "width < 500 ? 1 : colour === 'trusted' ? 2 : 3"}}}  # fmt: skip
        switches.append({"name": "colour", "value": "name",
                         "bind": {"input": "radio", "name": "Colour by", "options": ["name", "trusted"],
                                  "labels": ["method", "who is trusted"]}})  # fmt: skip
    on_page = [f"var(--line-{place})" for place in range(len(SERIES))]
    colour, shape = ({"field": field, "type": "nominal", "sort": None, "scale": _scale(places, kinds), **legend}
                     for places, kinds in ((colours, on_page), (shapes, SHAPES)))  # fmt: skip
    return colour, shape, switches


def _name_and_trust(group: Group) -> str:
    return f"{group.line} ({group.row['trusted']})"


def _scale(places: Mapping[str, int], series: Sequence[str]) -> dict[str, Any]:
    """Return a scale of Vega-Lite that gives each name the colour or shape at its place in a series, which repeats."""
    return {"domain": list(places), "range": [series[place % len(series)] for place in places.values()]}


def cycled(names: Sequence[str], series: Sequence[str]) -> dict[str, Any]:
    """Return a scale of Vega-Lite that gives each name one of a series of colours or shapes, from the start again."""
    return _scale({name: place for place, name in enumerate(names)}, series)


def _simpler_models(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return the lines of simpler models: the best figure of each over methods that protect.

    Of close lines the best has a label. A simpler model of a reference reads the true data, so that it is no bar for a
    method.
    """
    groups = [group for group in groups if group.records[0]["privacy"]["trust"] != "none"] or groups
    best = {name: max((100 * group.nulls[name]["test"] for group in groups if name in group.nulls), default=None)
            for name in NULLS if not name.startswith(SHUFFLED)}  # fmt: skip
    lines = list[dict[str, Any]]()
    for name, value in sorted(((name, value) for name, value in best.items() if value is not None),
                              key=lambda item: -item[1]):  # fmt: skip
        if lines and lines[-1]["y"] - value < _CLOSE_LINES:
            lines[-1]["name"] = lines[-1]["name"].removesuffix(_OTHERS) + _OTHERS
        else:
            lines.append({"y": value, "name": f"{NULLS[name].heading} {value:.1f}"})
    return lines


def _tip(group: Group) -> str:
    """Return the words of a point: all figures of the group."""
    cells = shown_cells(group, shown_levels())
    return "\n".join(f"{heading}: {cell}" if heading != "method" else cell for heading, cell in cells.items())


def differently_scored(groups: Sequence[Group]) -> str:
    """Name the groups that were scored on other people than the first one of their data set; empty without any."""
    first: dict[tuple[str, int], set[str]] = {}
    others = []
    for group in groups:
        scored = {text(digest) for record in group.records for digest in record["dataset"]["scored_sha256"]}
        if not scored & first.setdefault(group.data, scored):
            others.append(group.label)
    return ", ".join(others)


@cache
def plotting_library() -> str:
    """Return Vega and Vega-Lite as one script that sets ``window.vegaEmbed``, from the installed package."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


@cache
def packed_library() -> str:
    """Return :func:`plotting_library` as the page carries it: zlib's format, in base 64."""
    return base64.b64encode(zlib.compress(plotting_library().encode(), 9)).decode()


def as_json(value: Any) -> str:
    """Return JSON for use inside a script element: no character in it can end the element."""
    written = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return written


@cache  # a template is compiled once
def environment() -> Environment:
    """Return the templates and the filters of all pages."""
    made = Environment(
        loader=PackageLoader("ldpsim.cli.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.globals |= {"policy": _policy(), "series": SERIES, "series_on_dark": SERIES_ON_DARK, "on_white": ON_WHITE}
    made.filters |= {"points": points, "plus_minus": plus_minus, "bytes": bytes_, "seconds": seconds,
                     "difference": difference, "served": words_of_groups, "line": text}  # fmt: skip
    return made


def _policy(*scripts: str) -> str:
    """Return the policy of a page: it fetches nothing, and runs these scripts alone."""
    digests = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts]
    allowed = f"script-src {' '.join(digests)}; " if scripts else ""
    return f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:; " \
           "base-uri 'none'; form-action 'none'"  # fmt: skip
