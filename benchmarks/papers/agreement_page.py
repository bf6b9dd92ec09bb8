"""Page of the agreement with the papers: counts over all cells, and the cells that were chosen by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.markdown import table_head, table_row
from benchmarks.papers.agreement import ABOVE, AGREES, OFF
from benchmarks.papers.cell_result import CellResult, cells_of_line, compared, counts, lines_of
from benchmarks.papers.pages import RULE, in_words, shown_accuracy, shown_ours

NAME = "agreement.md"
CHOSEN = "Cells chosen by hand"
LEVELS = ("relationship", "vector")
HEADS = ("paper", "cell", "ours", "published", "comparison", "measured", *LEVELS, "page")


def agreement(results: Mapping[str, Sequence[CellResult]], before: Path) -> str:
    """Return the page; a kept result has no other levels than its page's, so they come from the page ``before``."""
    kept = {tuple(cells[:2]): cells for lines in lines_of(before).values() for cells in map(cells_of_line, lines)}
    chosen = [(paper, result) for paper, all_ in results.items() for result in all_ if result.cell.level == 0]
    every = [result for all_ in results.values() for result in all_]
    decided = counts(every)
    lines = [*table_head(HEADS)]
    for paper, result in chosen:
        name = ", ".join(f"{key} {value}" for key, value in result.cell.keys.items())
        old = dict(zip(HEADS, kept.get((paper, name), ()), strict=False)) if result.row else {}
        held = [result.held.get(level) or old.get(level, "-") for level in LEVELS]
        lines.append(table_row([paper, name, shown_ours(result), shown_accuracy(result.cell.paper), compared(result),
                                shown_accuracy(result.cell.measured), *held, f"[{paper}.md]({paper}.md)"]))  # fmt: skip
    return "\n\n".join([
        "# Agreement with the papers",
        RULE,
        f"Of all {sum(decided.values())} cells with a published figure and ten runs or more,\n{in_words(decided)}.",
        "## All cells",
        "\n".join(_totals(results)),
        f"## {CHOSEN}",
        f"These {len(chosen)} of {len(every)} cells were chosen by hand, as those that decide whether a paper's method "
        "is reproduced.\nThey are no sample of the others, and their share is not the share of all cells. Of them\n"
        f"{in_words(counts(result for _, result in chosen))}. \"Measured\" is the published code run\n"
        "on another machine, or an independent reproduction.",
        "\n".join(lines),
    ]) + "\n"  # fmt: skip


def _totals(results: Mapping[str, Sequence[CellResult]]) -> Iterable[str]:
    heads = ("page", "cells", "run", "compared", AGREES, ABOVE, OFF)
    yield from table_head(heads)
    every = [result for all_ in results.values() for result in all_]
    for page, all_ in {**{f"[{paper}.md]({paper}.md)": all_ for paper, all_ in results.items()}, "all": every}.items():
        found: Counter[str] = counts(all_)
        run = sum(result.ours is not None for result in all_)
        yield table_row([page, *map(str, (len(all_), run, sum(found.values()), *(found[name] for name in heads[4:])))])


def write_agreement(results: Mapping[str, Sequence[CellResult]], where: Path) -> None:
    """Write the page."""
    path = where / NAME
    path.write_text(agreement(results, path))
