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

from ldpsim.cli.report.gather import Gathered
from ldpsim.cli.words import (
    ABOVE,
    bytes_,
    claim,
    count,
    difference,
    epsilon,
    level,
    method_names,
    null_points,
    percent,
    plus_minus,
    points,
    seconds,
)
from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically
from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.group_accuracy.section import FALSE_ALARM, NO_GROUPS, group_rows, words_of_groups
from ldpsim.strategies.outputs.groups import Group
from ldpsim.strategies.outputs.paper import SCHEMA, accuracy_layers
from ldpsim.strategies.outputs.rows import csv_text, data_frame
from ldpsim.strategies.outputs.rows import row_of as flat_row
from ldpsim.strategies.outputs.shell import command_of
from ldpsim.strategies.outputs.sums import of_repeats
from ldpsim.strategies.palette import SERIES, SERIES_ON_DARK
from ldpsim.strategies.results.in_words import (
    CLOSE,
    NOT_ASKED,
    NOT_HIDDEN,
    at_the_level,
    compared_loss,
    density_of,
    privacy_in_words,
    shown_levels,
)
from ldpsim.strategies.results.verdict import NOT_TAKEN, NULLS, STANDINGS

CLAIMED, WHOLE = "claimed", "user"  # a view of the switches, and the level of a whole record
TRUST = {
    "untrusted curator": "reports only, nobody is trusted",
    "trusted curator": "a curator is trusted with what devices send",
    "none": "no protection: a reference on raw data",
}
_SAME = 1e-6  # relative: losses that differ by rounding only are equal
_IN_CLEAR = {"relationship": "edges", "vector": "features"}


def write_page(path: Path, gathered: Gathered) -> None:
    """Write the page, completely or not at all; OSError if it cannot be written."""
    write_atomically(path, render(gathered), mode=PASSED_AROUND)


def render(gathered: Gathered) -> str:
    """Return the page of some results as text."""
    groups = gathered.groups
    panels = _panels(groups)
    rows = [row_of(group, number, list(panels).index(group.data)) for number, group in enumerate(groups)]
    chosen = _opening_level(groups, gathered.match["level"] if gathered.match else None)
    views = {CLAIMED: _claimed_view(), **{name: _view(groups, name) for name in shown_levels()}}
    charts = {view: [_chart(rows, place, view, words["title"]) for place in range(len(panels))]
              for view, words in views.items()}  # fmt: skip
    both_ways = "bytes a device, down and up (log scale)"
    charts["bytes"] = [_chart(rows, place, "bytes", both_ways) for place in range(len(panels))]
    data = {"level": chosen, "views": views, "charts": charts,
            "words": [row["views"] for row in rows]}  # fmt: skip
    frames = {
        "groups": data_frame([{"label": row["label"], **row["group"].row} for row in rows]),
        "results": data_frame([flat_row(record, folder.name) for folder, record in gathered.records.items()]),
    }
    made = environment()
    assert made.loader is not None
    script = f'"use strict";\n(() => {{\n{made.loader.get_source(made, "page.js")[0]}}})();\n'
    return made.get_template("page.html").render(
        rows=rows, panels=list(panels.values()), results=len(gathered.records), views=views, chosen=chosen,
        headline=_headline(rows, list(panels.values())), levels=shown_levels(),
        nulls={name: spec for name, spec in NULLS.items() if any(name in group.nulls for group in groups)},
        not_taken=NOT_TAKEN, no_groups=NO_GROUPS, false_alarm=FALSE_ALARM, standings=STANDINGS, above=ABOVE,
        trust=list(dict.fromkeys(row["trust"] for row in rows)), failed=gathered.failed, left_out=gathered.left_out,
        verdict=verdict(groups, gathered.match), other_people=_differently_scored(rows),
        sums=[text(asked.text) for asked in gathered.sums],
        versions=sorted({text(record["ldpsim_version"]) for record in gathered.records.values()}),
        folders=[text(folder.name) for folder in gathered.records],
        links={name: (f"{name}.csv", f"data:text/csv;charset=utf-8,{quote(csv_text(frame), safe=',:;=/()@!*$|')}")
               for name, frame in frames.items()},
        data=as_json(data), script=script, library=packed_library(), policy=_policy(plotting_library(), script),
    )  # fmt: skip


def row_of(group: Group, number: int, panel: int) -> dict[str, Any]:
    """Return a row of the page: a group, and what is said of it.

    Args:
        group: Results that differ in their seeds alone.
        number: Number of the row.
        panel: Number of its data set.
    """
    first, row = group.records[0], group.row
    sent = (row["downlink_bytes_per_device"] or 0.0) + (row["uplink_bytes_per_device"] or 0.0)
    shown = {name: group.levels[name] for name in shown_levels()}
    opened = [name for name, entry in shown.items() if entry["status"] == "unprotected"]
    parts = [words for name, words in _IN_CLEAR.items() if name in opened]
    badge = f"{' and '.join(parts) or 'part of the record'} in clear" if opened else ""
    accuracy = f"{points(group.mean)}{plus_minus(row['sd'])} %"
    best = group.best_null
    tip = [group.label, f"accuracy {accuracy}", best and f"best null, {NULLS[best].heading}: "
           f"{percent(group.nulls[best]['test'])}", f"{bytes_(sent)} a device"]  # fmt: skip
    claimed = {"value": row["claimed"]}
    views = {CLAIMED: {"words": claim(claimed), "value": row["claimed"], "status": ""}}
    views |= {name: {"words": level(entry), "status": entry["status"],
                     "value": compared_loss(entry) if entry["status"] == "bounded" else None}
              for name, entry in shown.items()}  # fmt: skip
    alone = len(group.records) == 1
    findings = privacy_in_words(first)
    repeated = of_repeats(first)
    return {
        "id": number,
        "panel": panel,
        "group": group,
        "label": group.label,
        "trust": TRUST[first["privacy"]["trust"]],
        "badge": "in clear to the curator" if badge and first["privacy"]["trust"] == "trusted curator" else badge,
        "bytes": sent,
        "views": views,
        "claimed": text(first["privacy"]["claimed"]["statement"] or "nothing"),
        "why": [text(reason) for reason in first["privacy"]["why_they_differ"]],
        "details": {name: text(entry["detail"]) for name, entry in shown.items()
                    if entry["status"] != "bounded" and entry["detail"]},
        "in_words": text("; ".join(
            f"{each.subject}: {each.word}{f' ({each.detail})' if each.word == NOT_HIDDEN else ''}"
            for each in findings if each.word != NOT_ASKED)),
        "repeated": text(repeated.text) if repeated and alone else "",
        "served": group_rows(first) if alone else [],
        "seeded": any(record.get("simulation_seeded") is True for record in group.records),
        "scored": " ".join(sorted({text(_scored(record)) for record in group.records})),
        "commands": [command_of(record) for record in group.records],
        "tip": "\n".join(filter(None, tip)),
    }  # fmt: skip


def _scored(record: Mapping[str, Any]) -> str:
    """Return a key of the scored people; equal keys mean that scores can be compared."""
    digests = record["dataset"].get("scored_sha256") or [""]
    return str(digests[0])


def _panels(groups: Sequence[Group]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the data sets: title, sizes of the first population, digests of all, the share of pairs that are edges."""
    panels: dict[tuple[str, int], dict[str, Any]] = {}
    for group in groups:
        people = group.records[0]["dataset"]
        panel = panels.setdefault(group.data, {
            "name": group.data[0], "title": f"{group.data[0]}, {group.data[1]:,} people", "people": people,
            "density": percent(density_of(people)), "digests": {},
        })  # fmt: skip
        panel["digests"] |= dict.fromkeys(text(record["dataset"]["digest"]) for record in group.records)
    return panels


def _headline(rows: Sequence[Mapping[str, Any]], panels: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the title and the first sentences: what is compared, on whom, and the mean of what."""
    compared = count(len({row["group"].method for row in rows}), "method")
    if len(rows) > len({(row["group"].method, row["panel"]) for row in rows}):
        compared += f", {count(len(rows), 'configuration')}"
    names = list(dict.fromkeys(panel["name"] for panel in panels))
    about = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    title = f"{compared} on {count(len(panels), 'data set')}"
    if len(panels) == 1:
        drawn, size = len(panels[0]["digests"]), f"{panels[0]['people']['nodes']:,} people"
        title = f"{about}: {compared} on {f'the same {size}' if drawn == 1 else f'{drawn} populations of {size}'}"
    n = max(len(row["group"].scores) for row in rows)
    means = f"Accuracy is the mean of up to {n} scores (n); ± is their standard deviation." if n > 1 else ""
    return {"title": title, "about": about, "means": means}


def _opening_level(groups: Sequence[Group], matched: str | None) -> str:
    """Return the level at which the page opens: where budgets were made equal, else that of the whole record, or the
    level with the most bounds where no method has a bound for a whole record.
    """
    levels = shown_levels()
    if matched in levels:
        return str(matched)
    bounded = {name: sum(group.levels[name]["status"] == "bounded" for group in groups) for name in levels}
    return WHOLE if bounded[WHOLE] else max(bounded, key=lambda name: bounded[name])


def _claimed_view() -> dict[str, str]:
    return {"head": "ε claimed", "title": "ε claimed, per bit or as the paper counts (log scale)",
            "said": "Each paper's own figure, in its own sense: a claim is about one thing only, mostly one bit, so "
                    "there is no level to choose."}  # fmt: skip


def _view(groups: Sequence[Group], name: str) -> dict[str, str]:
    heading, changes = shown_levels()[name]
    bounded = sum(group.levels[name]["status"] == "bounded" for group in groups)
    return {
        "head": f"ε holds, {heading}",
        "title": f"ε holds, {heading} (log scale)",
        "said": f"What any answer can give away when {changes}. {bounded} of {len(groups)} have a bound.",
    }


def _chart(rows: Sequence[Mapping[str, Any]], panel: int, view: str, title: str) -> dict[str, Any]:
    """Return a chart of accuracy as Vega-Lite; a row without a figure is a dashed line over the whole width."""
    values = []
    for row in rows:
        if row["panel"] != panel or row["group"].mean is None:
            continue
        group, sd = row["group"], row["group"].row["sd"]
        mean, null, chance = group.mean, group.row["best_null_mean"], group.row["chance"]
        x, words = (row["bytes"], "") if view == "bytes" else (row["views"][view]["value"], row["views"][view]["words"])
        values.append({
            "name": group.line, "x": x or None, "y": 100 * mean, "tip": "\n".join(filter(None, (row["tip"], words))),
            "low": None if sd is None else 100 * (mean - sd), "high": None if sd is None else 100 * (mean + sd),
            "null": None if null is None else 100 * null, "chance": None if chance is None else 100 * chance,
        })  # fmt: skip
    layers = accuracy_layers(
        title, colours=[f"var(--line-{place})" for place in range(len(SERIES))],
        names=list(dict.fromkeys(value["name"] for value in values)), scale={"type": "log"},
        axis={"format": "~s" if view == "bytes" else ",~r", "tickCount": 5, "labelOverlap": "greedy"}, tooltip="tip",
    )  # fmt: skip
    return {
        "$schema": SCHEMA,
        "description": f"Test accuracy against {title}",
        "width": "container",
        "height": 300,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"values": values},
        "layer": layers,
    }


def verdict(groups: Sequence[Group], match: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the verdict on a comparison: whether the budgets are equal, and if not, the reasons.

    Returns:
        ``equal``: whether one level has the same bound for all methods; ``line``; and
        ``reasons``: (method, reason) for the methods that were not matched.
    """
    if match is not None:
        return _matched(groups, match)
    if len(groups) == 1:
        return {"equal": True, "line": "One configuration: there is nothing to compare it with here.", "reasons": []}
    for name in shown_levels():
        values = [compared_loss(group.levels[name]) for group in groups if group.levels[name]["status"] == "bounded"]
        if len(values) == len(groups) and max(values) - min(values) <= _SAME * max(values):
            at = f"{at_the_level(name)} what holds is {epsilon(max(values))} for every method"
            return {
                "equal": True,
                "line": f"Budgets are equal at one level: {at}; elsewhere it differs.",
                "reasons": [],
            }
    line = (
        "Budgets are not equal: methods spend their epsilon on different things, so accuracy alone decides nothing. "
        "Compare where the same holds; `ldpsim compare --match LEVEL X` makes that equal at one level."
    )
    return {"equal": False, "line": line, "reasons": []}


def _matched(groups: Sequence[Group], match: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict where one level was to have the same loss, for all or for what is reported."""
    name, target = match["level"], match["target"]

    def holds(group: Group) -> bool:
        entry = group.levels[name]
        return bool(entry["status"] == "bounded"
                    and target * (1 - CLOSE) <= compared_loss(entry) <= target * (1 + _SAME))  # fmt: skip

    alike = [group for group in groups if holds(group)]
    at, clear = f"{at_the_level(name)} what holds is {target:g}", ""
    if not alike:
        alike = [group for group in groups if group.method in match["of_reports"]]
        at = f"{at_the_level(name)} what holds for all that is reported is {target:g}"
        clear = " Their features are public, and nothing protects them." if alike else ""
    others = [group for group in groups if group not in alike]
    names, rest = ([{"label": group.label} for group in some] for some in (alike, others))
    reasons = [(group.label, match["unmatched"].get(group.method, "it was not solved for")) for group in others]
    if not alike:
        line = f"Budgets are not equal: {at_the_level(name)} {target:g} could be reached by no method."
    elif others:
        line = f"Budgets are not equal: {at} for {method_names(names)}, and not for {method_names(rest)}.{clear}"
    else:
        line = f"Budgets are equal: {at} for every method.{clear}"
    return {"equal": not others, "line": line, "reasons": reasons}


def _differently_scored(rows: Sequence[Mapping[str, Any]]) -> str:
    """Name the rows that were scored on other people than most of their data set; empty if there are none."""
    others: list[Mapping[str, Any]] = []
    for panel in {row["panel"]: None for row in rows}:
        inside = [row for row in rows if row["panel"] == panel]
        keys = [row["scored"] for row in inside]
        most = max(keys, key=keys.count)
        others += [row for row in inside if row["scored"] != most]
    return method_names(others) if others else ""


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
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


@cache  # a template is compiled once
def environment() -> Environment:
    """Return the templates and the filters of all pages."""
    made = Environment(
        loader=PackageLoader("ldpsim.cli.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.globals |= {"policy": _policy(), "series": SERIES, "series_on_dark": SERIES_ON_DARK}
    made.filters |= {
        "points": points,
        "bytes": bytes_,
        "seconds": seconds,
        "percent": percent,
        "held": level,
        "null": null_points,
        "difference": difference,
        "served": words_of_groups,
    }
    return made


def _policy(*scripts: str) -> str:
    """Return the policy of a page: it fetches nothing, and runs these scripts alone."""
    digests = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts]
    allowed = f"script-src {' '.join(digests)}; " if scripts else ""
    return f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:; " \
           "base-uri 'none'; form-action 'none'"  # fmt: skip
