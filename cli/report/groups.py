"""Groups of results: one configuration of a method with several seeds is one row of the page.

:mod:`ldpsim.strategies.outputs.seed_groups` has the rule by which results are grouped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ldpsim.cli.report.gather import ShownResult
from ldpsim.cli.report.rows import best_of, privacy_words
from ldpsim.cli.words import count, difference
from ldpsim.strategies.group_accuracy.shown import merged_rows
from ldpsim.strategies.outputs.seed_groups import mean_nulls, places_of_groups, worst_guarantee
from ldpsim.strategies.results.averages import (
    TAIL,
    Interval,
    Margin,
    even_tail,
    few,
    mean,
    over_best,
    over_people,
    over_seeds,
    spread,
)
from ldpsim.strategies.results.shown_nulls import NULLS, STANDINGS, UNJUDGED, best_null, standing_among

Row = dict[str, Any]
_DEGREES = ("true", "noisy", "reconstructed")


def grouped(results: Sequence[ShownResult]) -> list[list[ShownResult]]:
    """Return the results in groups of one configuration, in the order of their first results."""
    return [[results[place] for place in places] for places in places_of_groups([entry.record for entry in results])]


def row_of_group(group: Sequence[ShownResult]) -> Row:
    """Return the row of a group, with the fields of :func:`ldpsim.cli.report.rows.row_of` and more.

    ``n`` is the number of results, ``populations`` the number of different people, ``tests``
    the accuracies of all repeats, and ``folders`` names the results.
    """
    rows = [entry.row for entry in group]
    made = {
        **rows[0],
        "n": len(rows),
        "populations": len({entry.people["digest"] for entry in group}),
        "folders": [row["folder"] for row in rows],
        "scored": " ".join(sorted({row["scored"] for row in rows})),
    }
    if len(rows) == 1:
        return made
    edges = {f"edge_{name}": _mean(rows, "edges", name) for name in ("precision", "recall")}
    in_words = privacy_words({**group[0].record, "reconstruction": edges})
    return {**made, **_merged(rows), "in_words": in_words}


def _merged(rows: Sequence[Row]) -> Row:
    tests = [test for row in rows for test in row["tests"]]
    nulls = mean_nulls([row["nulls"] for row in rows])
    totals = {name: _mean(rows, "seconds", name) for name in rows[0]["seconds"]}
    return {
        "tests": tests,
        "test": mean(tests),
        "std": spread(tests),
        **{name: mean([row[name] for row in rows]) for name in ("val", "macro_f1", "nonprivate", "down", "up", "silo")},
        "bytes": mean([row["bytes"] for row in rows]),
        "repeats": len(tests),
        "groups": merged_rows([row["groups"] for row in rows]) if all(row["groups"] for row in rows) else [],
        "nulls": nulls,
        "best_null": best_null(nulls),
        "free": best_of(nulls, set.intersection(*(set(row["ask_nobody"]) for row in rows))),
        "verdict": _verdict(rows),
        "claimed": max((row["claimed"] for row in rows), key=lambda found: found["value"] or 0.0),
        "levels": {name: worst_guarantee([row["levels"][name] for row in rows]) for name in rows[0]["levels"]},
        "why": list(dict.fromkeys(reason for row in rows for reason in row["why"])),
        "collections": max(row["collections"] for row in rows),
        "rounds": max(row["rounds"] for row in rows),
        "seconds": totals,
        "edges": {name: _mean(rows, "edges", name) for name in rows[0]["edges"]},
        "degrees": _degrees([row["degrees"] for row in rows]),
        "seeded": any(row["seeded"] for row in rows),
    }


def _mean(rows: Sequence[Row], part: str, name: str) -> float | None:
    return mean([row[part][name] for row in rows])


def _verdict(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Return the verdict on a group, from the margins of its results; None if one has no verdict."""
    verdicts = [row["verdict"] for row in rows]
    if None in verdicts:
        return None
    at_chance = sum(each["standing"] == "chance" for each in verdicts)
    seeds = count(len(rows), "seed")
    found = _margin(rows) if all(each["margin"] for each in verdicts) else None
    if found is None:
        standings = {each["standing"] for each in verdicts}
        standing = "chance" if at_chance else standings.pop() if len(standings) == 1 else ""
        return {
            "text": f"{seeds}: {STANDINGS[standing][0]}.",
            "margin": None,
            "standing": standing,
            "interval_of": None,
        }
    joint = found.interval
    margin = {"value": joint.value, "low": joint.low, "high": joint.high}
    standing = "above" if joint.low > 0 else "below" if joint.high < 0 else "even"
    if 2 * at_chance > len(rows):
        standing = "chance"
    standing = standing_among(standing, set.intersection(*(set(row["nulls"]) for row in rows)))
    words = {"unjudged": UNJUDGED, "above": "above the best null model", "below": "below the best null model",
             "even": "not measurably above the best null model", "chance": "not measurably above chance"}  # fmt: skip
    wide = f" These are few seeds ({len(rows)}), so the interval is wide." if few(len(rows)) else ""
    of = verdicts[0]["interval_of"] if over_people(len(rows)) else None
    said = f"{seeds}: {words[standing]}. Margin {difference(margin, of)} points over {NULLS[found.best].heading}.{wide}"
    if at_chance:
        said += f" Not measurably above chance with {at_chance} of {seeds}."
    return {"text": said, "margin": margin, "standing": standing, "interval_of": of}


def _margin(rows: Sequence[Row]) -> Margin | None:
    """Return the margin of a group: over the null model that is best in the mean, corrected for this choice.

    A difference without an interval counts by its seeds alone, which takes three. None where no difference counts.
    """
    alone = not over_people(len(rows))
    names = [name for name in rows[0]["nulls"]
             if all(name in row["nulls"] and (alone or name in row["verdict"]["over"]) for row in rows)]  # fmt: skip
    if not names:
        return None
    over = {name: [_over(row, name) for row in rows] for name in names}
    tails = [row["verdict"]["tail"] or even_tail(len(names)) for row in rows]
    below, above = ({name: over_seeds(each, upper_tail=tail) for name, each in over.items()}
                    for tail in (TAIL, min(tails)))  # fmt: skip
    return over_best(below, above, min(tails))


def _over(row: Row, name: str) -> Interval:
    """Return the difference to a null model; its interval is the difference itself where none is known."""
    known = row["verdict"]["over"].get(name)
    value = row["test"] - row["nulls"][name]["test"]
    return Interval(value, value, value) if known is None else Interval(**known)


def _degrees(found: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Return the sum of degree distributions that count alike; else the first one."""
    known = [each for each in found if each is not None]
    if not known:
        return None
    alike = [each for each in known if each["from"] == known[0]["from"]]
    summed: dict[str, Any] = {"from": known[0]["from"]}
    for name in _DEGREES:
        columns = [each[name] for each in alike]
        summed[name] = None if None in columns else [sum(values) for values in zip(*columns, strict=True)]
    return summed
