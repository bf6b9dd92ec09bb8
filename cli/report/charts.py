"""Data of the charts: figures, and every word beside them.

The scripts of the page place and draw; they put nothing into words. A *view* is one choice of
the switches: ``claimed``, or what holds at one level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ldpsim.cli.report.badges import SIGN
from ldpsim.cli.words import method_names, percent, words_of
from ldpsim.strategies.palette import SERIES
from ldpsim.strategies.results.levels import compared_loss, shown_levels

CLAIMED = "claimed"
WHOLE = "user"  # the level of a whole record
DRAWN = 40  # rows in a chart with one line a row
LOG = "log scale"  # of an axis
_CURVES = 12  # degree distributions
_GUESSED = 4.6  # epsilon at which the better of two guesses is right 99 times in 100
_CLOSE = 1e-6  # relative
_STRIPS = {"unprotected": "right", "not asked": "left"}

Row = Mapping[str, Any]


def opening_level(rows: Sequence[Row], matched: str | None) -> str:
    """Return the level at which the page opens: the whole record, or the level at which budgets were made equal.

    A page with curves, none of which has a bound for a whole record, opens where most rows have one.
    """
    levels = shown_levels()
    if matched in levels:
        return str(matched)
    bounded = {name: sum(row["levels"][name]["status"] == "bounded" for row in rows) for name in levels}
    if has_curves(rows) and not bounded[WHOLE]:
        return max(bounded, key=lambda name: bounded[name])
    return WHOLE


def has_curves(rows: Sequence[Row]) -> bool:
    """Return whether some rows lie on one line: a method with several budgets on one data set."""
    lines = [(row["panel"], row["series"]) for row in rows]
    return len(set(lines)) < len(lines)


def chart_data(rows: Sequence[Row], panels: Sequence[Mapping[str, Any]], level: str) -> dict[str, Any]:
    """Return what the scripts read, ready for JSON.

    Args:
        rows: Of the page (:func:`ldpsim.cli.report.page.shown_rows`).
        panels: Data sets, each with its ``title``.
        level: Level at which the page opens.
    """
    rebuilt = [row for row in rows if _rebuilt(row)]
    known = [row for row in rebuilt if row["degrees"] is not None]
    lines, edges, degrees = ({row["id"] for row in some}
                             for some in (rows[:DRAWN], rebuilt[:DRAWN], known[:_CURVES]))  # fmt: skip
    return {
        "rows": [_row(row, line=row["id"] in lines, rebuilt=row["id"] in edges, degrees=row["id"] in degrees)
                 for row in rows],
        "panels": [{"title": panel["title"], "chance": _chance([row for row in rows if row["panel"] == place])}
                   for place, panel in enumerate(panels)],
        "curves": has_curves(rows),
        "colours": len(SERIES),
        "level": level,
        "views": {CLAIMED: _claimed(rows), **{name: _holds(rows, name) for name in shown_levels()}},
        "drawn": DRAWN,
        "notes": {
            "rows": f"The first {DRAWN} of {len(rows)} rows are drawn; the data have all." if len(rows) > DRAWN else "",
            "edges": _not_rebuilt(rows, rebuilt),
            "degrees": f"The first {_CURVES} of {len(known)} are drawn; the data have all."
            if len(known) > _CURVES else "" if known else _NO_EDGES,
        },
        "mark": {"value": _GUESSED, "wide": "a guess is right 99 times in 100", "narrow": "99 % guessed"},
    }  # fmt: skip


_NO_EDGES = "No method here reconstructed edges from reports."


def _row(row: Row, *, line: bool, rebuilt: bool, degrees: bool) -> dict[str, Any]:
    """Return a row; what is not drawn is left out.

    Args:
        row: Of the page.
        line: Whether it has a line of its own in a chart.
        rebuilt: Whether its edges are drawn.
        degrees: Whether its degrees are drawn.
    """
    words = words_of(row)
    seeds = f", mean of {row['n']} seeds" if row["n"] > 1 else ""
    badge = f" ({row['badge']})" if row["badge"] else ""
    best = row["best_null"]
    sign = f" {SIGN}" if row["badge"] else ""
    return {
        **{name: row[name] for name in ("id", "panel", "series", "trust", "test", "std", "bytes", "silo", "rounds")},
        "name": row["name"],
        "line": row["line"],
        "badge": row["badge"],
        "sign": sign,
        "label": f"{row['label']}{sign}",
        "raw": row["method"] == "raw",
        "best": None if best is None else row["nulls"][best]["test"],
        "places": {view: _place(row, words, view) for view in (CLAIMED, *shown_levels())},
        "seconds": row["seconds"],
        "edges": row["edges"] if rebuilt else None,
        "degrees": row["degrees"] if degrees else None,
        "tip": "\n".join(filter(None, (f"{row['label']}{badge}", f"accuracy {words['accuracy']}{seeds}",
                                       words["best_null"]))),
        "words": {**{name: words[name] for name in ("bytes", "silo")},
                  **{name: words[name] for name in ("rounds", "rounds_said", "seconds") if line},
                  "edges": words["edges"] if rebuilt else None,
                  "a_silo": f"{row['name']}, a silo{sign}", "a_member": f"{row['name']}, a member"},
    }  # fmt: skip


def _place(row: Row, words: Mapping[str, Any], view: str) -> dict[str, Any]:
    """Return where a row stands on the axis of privacy, and in words."""
    if view == CLAIMED:
        value = row["claimed"]["value"]
        return {"strip": "right" if value is None else None, "value": value, "words": words["claimed"]}
    entry = row["levels"][view]
    value = compared_loss(entry) if entry["status"] == "bounded" else None
    return {"strip": _STRIPS.get(entry["status"]), "value": value, "words": words["levels"][view]}


def _claimed(rows: Sequence[Row]) -> dict[str, Any]:
    bounded = sum(row["claimed"]["value"] is not None for row in rows)
    note = f"{bounded} of {len(rows)} claim a figure"
    return {
        "title": f"ε claimed, per bit or as the paper counts ({LOG})",
        "head": "ε claimed, per bit",
        "tip": "claimed: ",
        "strips": {"left": "", "right": "nothing claimed"},
        "said": "Each paper's own figure, in its own sense: a claim is about one thing only, mostly one bit, so there "
                "is no level to choose.",
        "note": f"{note}." if bounded == len(rows) else f"{note}; the others stand in the strip at the right edge.",
    }  # fmt: skip


def _holds(rows: Sequence[Row], level: str) -> dict[str, Any]:
    heading, changes = shown_levels()[level]
    head = f"ε holds, {heading}"
    found = [row["levels"][level]["status"] for row in rows]
    bounded = found.count("bounded")
    edges = {"not asked": "left, nothing about this is asked", "unprotected": "right, it is in clear"}
    strips = [words for status, words in edges.items() if status in found]
    note = f"{bounded} of {len(rows)} have a bound" + (
        f"; the others stand in the strip{'s' if len(strips) > 1 else ''} at the edge: {'; '.join(strips)}"
        if strips else ""
    )  # fmt: skip
    return {"title": f"{head} ({LOG})", "head": head, "tip": f"{heading}: ",
            "strips": {"left": "not asked", "right": "unprotected"},
            "said": f"What any answer can give away when {changes}.", "note": f"{note}."}  # fmt: skip


def _rebuilt(row: Row) -> bool:
    """Return whether edges were found out from reports: neither public, nor read from the true graph, nor none at all.

    A method whose people vote keeps no edge: it reconstructs no graph.
    """
    bounded = row["levels"]["relationship"]["status"] == "bounded"
    return bool(row["trust"] == "reports" and bounded and row["edges"]["kept"])


def _not_rebuilt(rows: Sequence[Row], rebuilt: Sequence[Row]) -> str:
    if not rebuilt:
        return _NO_EDGES
    others = [{"label": name} for name in dict.fromkeys(row["line"] for row in rows if row not in rebuilt)]
    if not others:
        return ""
    return f"Not drawn, because edges are public to them, read in clear or not reconstructed: {method_names(others)}."


def _chance(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Return chance for a line in the charts; methods that know other labels may differ a little."""
    found = [row["nulls"]["chance"]["test"] for row in rows if "chance" in row["nulls"]]
    if not found:
        return None
    most = max(found)
    alike = most - min(found) <= _CLOSE * most
    return {"value": most, "words": f"chance{'' if alike else ', at most'} {percent(most)}"}
