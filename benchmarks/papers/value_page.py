"""Page of what the private data gained: ``docs/results/value.md``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.markdown import table
from benchmarks.papers import NOTES
from benchmarks.papers.value_headlines import HEADLINES, points_of, rows_of
from benchmarks.papers.value_picture import PICTURE
from benchmarks.papers.value_row import (
    ATTRIBUTES,
    NULLS,
    ValueRow,
    attributes_of,
    best_null,
    bought,
    interval,
    judgement,
    with_spread,
)

NAME = "value"


def page(rows: Sequence[ValueRow], missing: Sequence[tuple[str, str]]) -> str:
    """Return the page.

    Args:
        rows: Rows of the table.
        missing: The cells that were not run: everything but the budget, and the budget.
    """
    parts = ["# What the private data gained", (NOTES / "value.md").read_text().strip(),
             f"{len(rows)} of {len(rows) + len(missing)} cells were run, with ten collections each; "
             "[value.csv](value.csv) has all their\nfigures and commands. `python -m benchmarks.papers.value` runs the "
             "others and writes this page."]  # fmt: skip
    if any(points_of(headline, rows) for headline in HEADLINES):
        parts += [f"![Accuracy and null models over the budget, on Cora]({PICTURE})",
                  "Accuracy of each paper's own model on Cora with its standard deviation (line), and its null models\n"
                  "(marks). HoGS, Blink and LPGNN's text have a GCN, the others GraphSAGE."]  # fmt: skip
    for headline in HEADLINES:
        found = rows_of(headline, rows)
        if found:
            parts += [f"## {headline.title}", headline.claim, *map(_filled, sentences(found)), table_of(found)]
            if (example := _noise(found)) is not None:
                parts.append(_filled(example))
    if missing:
        parts += ["## Not run", f"{len(missing)} cells were not run, for lack of time:", "\n".join(_grouped(missing))]
    return "\n\n".join(parts) + "\n"


def sentences(rows: Sequence[ValueRow]) -> Iterator[str]:
    """Yield what a headline's rows say."""
    above = [row for row in rows if row["above_nulls"] == "yes"]
    below = [row for row in rows if row["margin_high"] and float(row["margin_high"]) < 0]
    chance = sum(row["above_chance"] == "yes" for row in rows)
    yield (f"Of {len(rows)} cells {chance} are above chance and {len(above)} above every null model; {len(below)} are "
           "below the best null model.")  # fmt: skip
    for attribute in attributes_of(rows):
        known = [row for row in rows if row[f"bought_{attribute}"]]
        gains = sorted(float(row[f"bought_{attribute}"]) for row in known)
        measurable = sum(float(row[f"bought_{attribute}_low"]) > 0 for row in known)
        name = "all private data together" if attribute == "all" else f"the private {ATTRIBUTES[attribute]}"
        yield (f"On these people {name} gained {gains[0]:+.1f} to {gains[-1]:+.1f} points (median "
               f"{median(gains):+.1f}); measurable in {measurable} of {len(known)} cells.")  # fmt: skip


def table_of(rows: Sequence[ValueRow]) -> str:
    """Return a headline's table."""
    attributes = attributes_of(rows)
    heads = ["data set", "network", "budget", "accuracy", "chance", "best null", "over the best null",
             *(f"gained by {ATTRIBUTES[name]}" for name in attributes), "verdict"]  # fmt: skip
    lines = []
    for row in rows:
        best = best_null(row)
        shown = "-" if best == "chance" else f"{with_spread(row, best)} ({NULLS[best]})"
        lines.append([row["data set"], row["network"] or "-", row["budget"], with_spread(row, "accuracy", "std"),
                      with_spread(row, "chance"), shown, interval(row, "margin"),
                      *(bought(row, name) for name in attributes), judgement(row)])  # fmt: skip
    return table(heads, lines)


def _noise(rows: Sequence[ValueRow]) -> str | None:
    """Return the sentence about the budget at which features are noise alone, beside epsilon 1; None without both."""
    by_budget = {row["budget"].partition(",")[0]: row for row in rows if row["data set"] == "cora"}
    noise, one = by_budget.get("eps_x 1e-06"), by_budget.get("eps_x 1")
    if noise is None or one is None:
        return None
    return (f"On Cora LPGNN has {with_spread(one, 'accuracy', 'std')} at epsilon 1 and "
            f"{with_spread(noise, 'accuracy', 'std')} at epsilon 0.000001, where a report says nothing about its "
            f"sender's features. With features of other people it has {with_spread(one, 'shuffled_features')} at "
            f"epsilon 1; the private features gained {bought(one, 'features')} points.")  # fmt: skip


def _grouped(missing: Sequence[tuple[str, str]]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for group, budget in missing:
        groups.setdefault(group, []).append(budget)
    for group, budgets in groups.items():
        names = {budget.rpartition(" ")[0] for budget in budgets}
        if len(names) == 1:  # "epsilon 1, 2, 3"
            budgets = [budgets[0], *(budget.rpartition(" ")[2] for budget in budgets[1:])]
        yield f"- {group}: {(', ' if len(names) == 1 else '; ').join(budgets)}"


def _filled(text: str) -> str:
    return textwrap.fill(text, 118, break_on_hyphens=False)
