"""Rows of ``ldpsim audit`` in words, and their page: one file that fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.words import points
from curator.privacy.shown import shown_bound, shown_loss

PASS, FAIL, NO_BOUND, NOT_JUDGED = "pass", "FAIL", "no bound", "not judged"
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
        changes: Heading of what changes.
        subject: What the title of a page says after the names.
    """

    lines: Sequence[AuditLine]
    headings: tuple[str, ...]
    total: str
    legend: str
    explained: bool = False
    changes: str = "what changes"
    subject: str = "claimed and audited loss"


def loss_table(rows: Sequence[Any], *, trials: int, confidence: float, theirs: bool = False) -> AuditTable:
    """Return the words of an audit of losses.

    Args:
        rows: Rows of the audit.
        trials: Trials on each side.
        confidence: Confidence of all bounds together.
        theirs: Whether the rows are about a person's own function.
    """
    from curator.privacy.levels import LEVELS

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
    """Return the words of attacks on released models."""
    from curator.privacy.levels import LEVELS

    lines = [
        AuditLine(
            row.name, row.level, LEVELS[row.level].term,
            (_figure(row.claimed), _bound(row.lower_bound), points(row.auc), points(row.true_positives),
             points(row.largest_true_positives)),
            _VERDICTS[row.passed], row.detail,
        ) for row in rows
    ]  # fmt: skip
    legend = (
        "attack shows: a lower bound on epsilon from the share of right guesses; all bounds hold together with "
        f"confidence {confidence:.7g}, and only they decide. TPR: share of the values that are in which the attack "
        f"finds, where it takes {points(rows[0].false_positives, 0)} % of the others for them; at most: what the "
        "guarantee allows. AUC and TPR have the error of few trials. A weak attack proves nothing: only the claim "
        "bounds a better one."
    )
    return AuditTable(lines, ("claimed", "attack shows", "AUC %", "TPR %", "at most"), _total(lines), legend)


def rebuild_table(rows: Sequence[Any], *, confidence: float) -> AuditTable:
    """Return the words of attacks on the edges of a graph: a line for each attacker, and one for the edges of coins."""
    lines = []
    for row in rows:
        lines += [
            AuditLine(row.name, row.level, _ATTACKERS[name], _spread(found), "", row.detail)
            for name, found in row.aucs.items()
        ]
        verdict = NOT_JUDGED if row.passed is None and row.claimed is not None else _VERDICTS[row.passed]
        lines.append(AuditLine(row.name, row.level, "edges of coins", (*_spread(row.coin_aucs)[:2],
                               points(row.largest_auc)), verdict, _coins(row)))  # fmt: skip
    legend = (
        "AUC: chance that an edge gets a larger score than a pair without one; 50 % is chance; +-: deviation over the "
        "runs. The first lines are about real edges. People who are alike have more edges, so a release that never "
        "used an edge can be above 50 % there. Of edges of coins a fair coin decides which ones the run sees: what is "
        "found there comes from the edge alone, and the level of a relationship allows at most the figure shown. Right "
        f"guesses decide, with confidence {confidence:.7g}; an AUC has the error of few pairs. A weak attack proves "
        "nothing: only the level bounds a better one."
    )
    judged = [line for line in lines if line.verdict]
    return AuditTable(
        lines,
        ("AUC %", "+-", "at most %"),
        _total(judged),
        legend,
        changes="attacker",
        subject="edges rebuilt from what is published",
    )


_ATTACKERS = {"public": "public data alone", "similarity": "similar predictions", "influence": "influence of features",
              "together": "all of it"}  # fmt: skip


def _spread(aucs: Sequence[float]) -> tuple[str, str, str]:
    import numpy as np

    return points(float(np.mean(aucs))), points(float(np.std(aucs, ddof=1))) if len(aucs) > 1 else "", ""


def _coins(row: Any) -> str:
    right = "no guess" if row.right is None else f"{points(row.right)} % of {row.guesses:,} guesses right"
    allowed = "" if row.largest_right is None else f", at most {points(row.largest_right)} % allowed"
    shown = f"epsilon at least {_bound(row.lower_bound)}, claimed {_figure(row.claimed) or 'nothing'}"
    return f"{right}{allowed}; {shown}; {row.detail}"


def write_page(path: Path, table: AuditTable, command: str) -> None:
    """Write the page, completely or not at all.

    Args:
        path: The HTML file.
        table: Its rows.
        command: What was asked for.
    """
    from cli.report.page import environment
    from devices.atomic_files import PASSED_AROUND, write_atomically

    names = list(dict.fromkeys(line.name for line in table.lines))
    title = f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}: {table.subject}"
    failed = any(line.verdict == FAIL for line in table.lines)
    text = environment().get_template("audit.html").render(title=title, command=command, table=table, failed=failed)
    write_atomically(path, text, mode=PASSED_AROUND)


def _total(lines: Sequence[AuditLine]) -> str:
    counts = {word: sum(line.verdict == word for line in lines) for word in (PASS, FAIL, NO_BOUND, NOT_JUDGED)}
    words = {PASS: f"{counts[PASS]} of {len(lines)} pass.", FAIL: f"{counts[FAIL]} FAIL.",
             NO_BOUND: f"{counts[NO_BOUND]} without a bound.",
             NOT_JUDGED: f"{counts[NOT_JUDGED]} with a delta: not judged."}  # fmt: skip
    return " ".join(words[word] for word in words if word == PASS or counts[word])


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return "none" if value == float("inf") else shown_loss(value)


def _bound(value: float | None) -> str:
    return "" if value is None else shown_bound(value)
