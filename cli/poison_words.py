"""Rows of ``ldpsim poison`` as people read them, on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cli.words import NONE, plus_minus, points

DIFFERS = "differs"
_ORDER = {"none": 0, "silent": 1}  # of the rows of a table


def by_method(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows of each method and budget: nobody, silence, then each lie, its defences below it."""
    from strategies.attacks.poison.rows import budget_in_words

    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        title = " ".join(part for part in (row["method"], budget_in_words(row["epsilon"])) if part)
        found.setdefault(title, []).append(row)
    return {
        title: sorted(
            group,
            key=lambda row: (
                _ORDER.get(row["attack"], 2),
                row["attack"],
                row["lie"],
                row["defence"] != "none",
                row["defence"],
                row["share"],
            ),
        )
        for title, group in found.items()
    }


def null_model_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the null models of the same reports, in per cent; empty if they were not taken."""
    from strategies.results.shown_nulls import NULLS

    found: Mapping[str, float] = next((row["nulls"] for row in rows if row["nulls"]), {})
    return ", ".join(f"{NULLS[name].heading} {points(value)}" for name, value in found.items())


def named_lie(row: Mapping[str, Any]) -> str:
    """Return the name of a row: the attack and the lie, or the defence."""
    if row["defence"] != "none":
        return f"  + {row['defence']}"  # below the same lies without it
    if row["attack"] == "none":
        return "nobody lies" if row.get("accounts") is None else "nobody joins"
    return f"{row['attack']} {row['lie']}".rstrip()


def accuracy(row: Mapping[str, Any]) -> str:
    """Return the accuracy in per cent, with its spread."""
    if row["accuracy"] is None:
        return NONE
    return points(row["accuracy"]) + plus_minus(row["std"])


def difference(row: Mapping[str, Any]) -> str:
    """Return the difference to silent liars in points."""
    value = row["vs_silent"]
    return NONE if value is None or row["attack"] == "silent" else f"{round(100 * value, 1) + 0.0:+.1f}"


def goal_words(row: Mapping[str, Any]) -> str:
    """Return the measure of a goal other than accuracy, and in brackets the one at share 0."""
    if row["goal"] == "untargeted" or row["goal_value"] is None:
        return NONE
    clean = "" if row["goal_clean"] is None else f" ({points(row['goal_clean'])})"
    return points(row["goal_value"]) + clean


def number(value: float | None) -> str:
    """Return a number with one decimal."""
    return NONE if value is None else f"{value:.1f}"


def share_words(value: float | None) -> str:
    """Return a share in per cent."""
    return NONE if value is None else points(value)


def theory(row: Mapping[str, Any]) -> str:
    """Return whether a row agrees with its laws."""
    return NONE if row["passed"] is None else "ok" if row["passed"] else DIFFERS


def figure(value: float | None, digits: int = 3) -> str:
    """Return a measured or expected figure, with ``digits`` decimals where it is small."""
    return NONE if value is None else f"{value:,.{digits}f}" if abs(value) < 10 else f"{value:,.0f}"


def whole(value: float | None) -> str:
    """Return a number of accounts, at least 1."""
    return NONE if value is None else f"{max(1, round(value)):,}"


@dataclass(frozen=True)
class Column:
    """Column of the table.

    Args:
        heading: Heading on the page.
        words: Returns the words of a row.
        short: Heading on the terminal; None: the page alone has the column.
        joined: Whether only rows of accounts that join have it; None: all rows do.
    """

    heading: str
    words: Callable[[Mapping[str, Any]], str]
    short: str | None = None
    joined: bool | None = None


COLUMNS = (  # after the name of the row; a narrow terminal has the first two short ones
    Column("share", lambda row: f"{100 * row['share']:.3g} %", "share"),
    Column("repeats", lambda row: str(row["repeats"])),
    Column("accuracy %", accuracy, "acc %"),
    Column("vs silent", difference, "vs silent"),
    Column("goal", goal_words, "goal"),
    Column("fakes a liar", lambda row: number(row["fakes_accepted"]), "fakes", joined=False),
    Column("accounts", lambda row: figure(row.get("accounts"), digits=0), joined=True),
    Column("false pairs an account", lambda row: number(row["fakes_accepted"]), joined=True),
    Column("accounts a point", lambda row: whole(row.get("per_point")), "cost", joined=True),
    Column("of a one-hop vote", lambda row: whole(row.get("one_hop_per_point")), joined=True),
    Column("goal in that vote", lambda row: share_words(row.get("one_hop_goal")), joined=True),
    Column("liars found %", lambda row: share_words(row["found"]), "found"),
    Column("honest excluded %", lambda row: share_words(row["false_alarms"]), "alarms"),
    Column("measured", lambda row: figure(row["measured"])),
    Column("theory", lambda row: figure(row["theory"])),
    Column("bound", lambda row: figure(row["bound"])),
    Column("law", theory, "theory"),
)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Return the columns that rows have: of people who lie, or of accounts that join."""
    joined = join_in(rows)
    return tuple(column for column in COLUMNS if column.joined in (None, joined))


def breakdown_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each kind of lie that cost 5 points more than silence, with the smallest such share."""
    from strategies.attacks.poison.rows import breakdown

    if not join_in(rows):
        told = "{:g} % of the people lie"
    else:
        told = "the accounts are {:.3g} % of the people"
    return [
        f"{name}: costs at least 5 points more than silence if {told.format(100 * share)}."
        for name, share in breakdown(rows).items()
        if share is not None
    ]


def join_in(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether accounts joined, in place of people who lie."""
    return any(row.get("accounts") for row in rows)
