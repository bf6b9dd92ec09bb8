"""Rows of ``ldpsim audit`` in words, and their page: one file that fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpsim.cli.words import points
from ldpsim.curator.shown import shown_bound, shown_loss

PASS, FAIL, NO_BOUND = "pass", "FAIL", "no bound"
_VERDICTS = {True: PASS, False: FAIL, None: NO_BOUND}
# Of a mechanism's rows; a method's rows are about levels of guarantee.
_CHANGES = {"value": "the value", "bit": "one entry", "vector": "the whole attribute", "law": "(stated law = drawn)"}


@dataclass(frozen=True)
class AuditLine:
    """A row in words: its name and level, what changes, its figures, the verdict, and how it was found."""

    name: str
    level: str
    change: str
    figures: tuple[str, ...]
    verdict: str
    detail: str


@dataclass(frozen=True)
class AuditTable:
    """All rows in words.

    Args:
        lines: The rows.
        headings: Of the figures.
        total: How many rows pass and fail.
        legend: Explanation of the figures.
        explained: Whether the detail of each row is shown in the terminal, and not only of those that fail.
    """

    lines: Sequence[AuditLine]
    headings: tuple[str, ...]
    total: str
    legend: str
    explained: bool = False


def loss_table(rows: Sequence[Any], *, trials: int, confidence: float, theirs: bool = False) -> AuditTable:
    """Return the words of an audit of losses.

    Args:
        rows: Rows of the audit.
        trials: Trials on each side.
        confidence: Confidence of all bounds together.
        theirs: Whether the rows are about a person's own function.
    """
    from ldpsim.curator.privacy.levels import LEVELS

    changes = {**{name: spec.term for name, spec in LEVELS.items()}, **_CHANGES}
    lines = []
    for row in rows:
        figures = [_figure(row.claimed), _figure(row.exact), _bound(row.lower_bound)]
        shown = ("", "", "") if row.level == "law" else tuple(figures)
        lines.append(AuditLine(row.name, row.level, changes.get(row.level, row.level), shown, _VERDICTS[row.passed],
                               row.detail))  # fmt: skip
    legend = (
        f"exact: from the code's own draws, at small sizes. trials show: a lower bound from up to {trials:,} trials "
        f"per side; all bounds hold together with confidence {confidence:.7g}, so a correct one fails with a chance "
        "of at most one minus that. A row passes if neither figure exceeds the claim."
    )
    if theirs:
        legend = (
            f"exact: of the stated law, over these values. trials show: a lower bound, with confidence "
            f"{confidence:.7g}. A bound above the claim proves the claim wrong. A bound below it proves nothing about "
            "the claim."
        )
    return AuditTable(lines, ("claimed", "exact", "trials show"), _total(lines), legend, theirs)


def attack_table(rows: Sequence[Any], *, confidence: float) -> AuditTable:
    """Return the words of an attack on a released model."""
    from ldpsim.curator.privacy.levels import LEVELS

    lines = [
        AuditLine(row.name, row.level, LEVELS[row.level].term,
                  (_figure(row.claimed), _bound(row.lower_bound),
                   *map(points, (row.auc, row.right, row.largest_right))), _VERDICTS[row.passed], row.detail)
        for row in rows
    ]  # fmt: skip
    legend = (
        "attack shows: a lower bound on epsilon from the share of right guesses; all bounds hold together with "
        f"confidence {confidence:.7g}, and only they decide. at most: the share that the guarantee allows. AUC and the "
        "share have the error of few trials. A weak attack proves nothing: only the claim bounds a better one."
    )
    return AuditTable(lines, ("claimed", "attack shows", "AUC %", "right %", "at most"), _total(lines), legend)


def write_page(path: Path, table: AuditTable, command: str) -> None:
    """Write the page, completely or not at all.

    Args:
        path: The HTML file.
        table: Its rows.
        command: What was asked for.
    """
    from ldpsim.cli.report.page import environment
    from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically

    names = list(dict.fromkeys(line.name for line in table.lines))
    title = f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}: claimed and audited loss"
    failed = any(line.verdict == FAIL for line in table.lines)
    text = environment().get_template("audit.html").render(title=title, command=command, table=table, failed=failed)
    write_atomically(path, text, mode=PASSED_AROUND)


def _total(lines: Sequence[AuditLine]) -> str:
    counts = {word: sum(line.verdict == word for line in lines) for word in (PASS, FAIL, NO_BOUND)}
    words = {PASS: f"{counts[PASS]} of {len(lines)} pass.", FAIL: f"{counts[FAIL]} FAIL.",
             NO_BOUND: f"{counts[NO_BOUND]} without a bound."}  # fmt: skip
    return " ".join(words[word] for word in words if word == PASS or counts[word])


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return "none" if value == float("inf") else shown_loss(value)


def _bound(value: float | None) -> str:
    return "" if value is None else shown_bound(value)
