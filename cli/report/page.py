"""The page: rows, the sentences about them, and the plotting library, in one file.

Vega draws the charts. Its code comes from the installed package ``vl-convert-python`` when the
page is written, and is compressed: the page's own script unpacks it. The Content-Security-Policy
allows these two scripts, by their digests, and nothing else. If text of a record got into the page
unescaped, it would not run, and nothing can be fetched. Vega interprets its expressions
(``ast``), so ``eval`` stays forbidden.
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

from jinja2 import Environment, PackageLoader, StrictUndefined

from ldpsim.cli.report.badges import MEANING
from ldpsim.cli.report.charts import chart_data, has_curves, opening_level
from ldpsim.cli.report.gather import Gathered
from ldpsim.cli.report.rows import TRUST
from ldpsim.cli.report.shown import headline, panels_of, shown_rows
from ldpsim.cli.report.tables import data_link, tables
from ldpsim.cli.words import (
    ABOVE,
    bytes_,
    claim,
    difference,
    epsilon,
    level,
    method_names,
    null_points,
    points,
    seconds,
)
from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically
from ldpsim.strategies.group_accuracy.section import FALSE_ALARM
from ldpsim.strategies.group_accuracy.shown import NO_GROUPS, words_of_groups
from ldpsim.strategies.outputs.untrusted import text
from ldpsim.strategies.palette import SERIES, SERIES_ON_DARK
from ldpsim.strategies.results.levels import CLOSE, at_the_level, compared_loss, shown_levels
from ldpsim.strategies.results.shown_nulls import NOT_TAKEN, NULLS, STANDINGS

_SAME = 1e-6  # relative: losses that differ by rounding only are equal
_SCRIPTS = ("base.js", "places.js", "scatter.js", "bars.js", "degrees.js", "page.js")


def write_page(path: Path, gathered: Gathered, *, methods: Sequence[str] | None = None) -> None:
    """Write the page, completely or not at all.

    Args:
        path: The HTML file.
        gathered: Content.
        methods: Order of the methods; None for the comparison's order, or as found.

    Raises:
        OSError: if it cannot be written.
    """
    write_atomically(path, render(gathered, methods=methods), mode=PASSED_AROUND)


def render(gathered: Gathered, *, methods: Sequence[str] | None = None) -> str:
    """Return the page as text; see :func:`write_page`."""
    rows = shown_rows(gathered, methods=methods)
    panels = panels_of(gathered)
    files = tables(rows, gathered.results)
    chosen = opening_level(rows, gathered.match["level"] if gathered.match else None)
    data = chart_data(rows, panels, chosen)
    made = environment()
    script = _script(made)
    return made.get_template("page.html").render(
        rows=rows,
        panels=panels,
        lines=_lines(rows) if data["curves"] else [],
        headline=headline(rows, panels),
        results=len(gathered.results),
        views=data["views"],
        notes=data["notes"],
        levels=shown_levels(),
        nulls={name: spec for name, spec in NULLS.items() if any(name in row["nulls"] for row in rows)},
        not_taken=NOT_TAKEN,
        no_groups=NO_GROUPS,
        false_alarm=FALSE_ALARM,
        standings=STANDINGS,
        above=ABOVE,
        badge_meaning=MEANING,
        trust=dict(TRUST.values()),
        chosen=chosen,
        failed=gathered.failed,
        left_out=gathered.left_out,
        verdict=verdict(rows, gathered.match),
        other_people=_differently_scored(rows),
        sums=[text(asked.text) for asked in gathered.sums],
        versions=sorted({row["version"] for row in rows}),
        links={name: (f"{name}.csv", data_link(text)) for name, text in files.items()},
        data=as_json(data),
        script=script,
        library=packed_library(),
        policy=_policy(plotting_library(), script),
    )


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of the charts for a legend, in the order of their numbers."""
    found = {row["series"]: {"series": row["series"], "label": row["line"]} for row in rows}
    return [found[number] for number in sorted(found)]


@cache
def plotting_library() -> str:
    """Return Vega as one script that sets ``window.vegaEmbed``, from the installed package."""
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


def verdict(rows: Sequence[Mapping[str, Any]], match: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the verdict on a comparison: whether the budgets are equal, and if not, the reasons.

    Returns:
        ``equal``: whether one level has the same bound for all methods; ``line``; and
        ``reasons``: (method, reason) for the methods that were not matched.
    """
    if match is not None:
        name = at_the_level(match["level"])
        held = [row for row in rows if _holds(row, match["level"], match["target"])]
        reported = [row for row in rows if row["method"] in match.get("of_reports", ())]
        if reported and not held:
            return _of_reports(rows, reported, match)
        others = [row for row in rows if row not in held]
        reasons = [(row["label"], match["unmatched"].get(row["method"], "it was not solved for")) for row in others]
        at = f"{name} what holds is {match['target']:g}"
        if held and not others:
            return {"equal": True, "line": f"Budgets are equal: {at} for every method.", "reasons": []}
        if held:
            line = f"Budgets are not equal: {at} for {method_names(held)}, and not for {method_names(others)}."
        else:
            line = f"Budgets are not equal: {name} {match['target']:g} could be reached by no method."
        return {"equal": False, "line": line, "reasons": reasons}
    for name in shown_levels() if len(rows) > 1 else ():
        if not all(row["levels"][name]["status"] == "bounded" for row in rows):
            continue
        values = [compared_loss(row["levels"][name]) for row in rows]
        if _close(min(values), max(values)):
            at = f"{at_the_level(name)} what holds is {epsilon(max(values))} for every method"
            line = f"Budgets are equal at one level: {at}; elsewhere it differs."
            return {"equal": True, "line": line, "reasons": []}
    if has_curves(rows):
        line = "Budgets vary: compare methods where the same holds, along the axis of the charts; " \
               "accuracy alone decides nothing."  # fmt: skip
        return {"equal": False, "line": line, "reasons": []}
    return {
        "equal": False,
        "line": "Budgets are not equal: methods spend their epsilon on different things, so accuracy alone decides "
                "nothing. `ldpsim compare --match LEVEL X` makes what holds at one level equal where that can be done.",
        "reasons": [],
    }  # fmt: skip


def _of_reports(
    rows: Sequence[Mapping[str, Any]], reported: Sequence[Mapping[str, Any]], match: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the verdict where public features are in clear, and the loss of all that is reported was made equal."""
    name = at_the_level(match["level"])
    others = [row for row in rows if row not in reported]
    line = (f"Budgets are equal for all that is reported: {match['target']:g} {name} for "
            f"{method_names(reported)}. Their features are public, and nothing protects them.")  # fmt: skip
    if others:
        line = f"{line} Not so for {method_names(others)}."
    reasons = [(row["label"], match["unmatched"].get(row["method"], "it was not solved for")) for row in others]
    return {"equal": not others, "line": line, "reasons": reasons}


def _holds(row: Mapping[str, Any], name: str, target: float) -> bool:
    entry = row["levels"].get(name)
    if entry is None or entry["status"] != "bounded":
        return False
    return bool(target * (1 - CLOSE) <= compared_loss(entry) <= target * (1 + _SAME))


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * max(abs(one), abs(other))


def _differently_scored(rows: Sequence[Mapping[str, Any]]) -> str:
    """Name the rows that were scored on other people than most of their data set; empty if there are none."""
    others: list[Mapping[str, Any]] = []
    for panel in {row["panel"]: None for row in rows}:
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            if row["panel"] == panel:
                groups.setdefault(row["scored"], []).append(row)
        most = max(groups.values(), key=len)
        others += [row for group in groups.values() if group is not most for row in group]
    return method_names(others) if others else ""


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
        "held": level,
        "claim": claim,
        "null": null_points,
        "difference": difference,
        "served": words_of_groups,
    }
    return made


def _script(made: Environment) -> str:
    """Return the page's own scripts as one, in one scope."""
    assert made.loader is not None
    parts = [made.loader.get_source(made, name)[0] for name in _SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def _policy(*scripts: str) -> str:
    """Return the policy of a page: it fetches nothing, and runs these scripts alone."""
    digests = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts]
    allowed = f"script-src {' '.join(digests)}; " if scripts else ""
    return f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:; " \
           "base-uri 'none'; form-action 'none'"  # fmt: skip
