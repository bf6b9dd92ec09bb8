"""Page of the agreement with the papers: counts over all cells, and the cells that were chosen by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.markdown import table
from benchmarks.papers.cell_row import LEVELS, CellRow, counts, counts_again, judged, shown
from benchmarks.papers.pages import RULE, TOTALS, compared, in_words, said_again, totals

NAME = "agreement.md"
CHOSEN = "Cells chosen by hand"
HEADS = ("paper", "cell", "ours", "published", "comparison", "measured", *LEVELS, "page")


def agreement(rows: Mapping[str, Sequence[CellRow]]) -> str:
    """Return the page; ``rows`` are those of each paper."""
    every = [one for all_ in rows.values() for one in all_]
    chosen = [(paper, one) for paper, all_ in rows.items() for one in all_ if one[0].level == 0]
    decided = counts(every)
    lines = [
        (paper, ", ".join(f"{key} {value}" for key, value in cell.keys.items()), row["ours"] or row["n"],
         shown(cell.paper), compared(cell, row), shown(cell.measured),
         *(row[f"holds_{level}"] or "-" for level in LEVELS), f"[{paper}.md]({paper}.md)")
        for paper, (cell, row) in chosen
    ]  # fmt: skip
    return "\n\n".join([
        "# Agreement with the papers",
        RULE,
        f"Of all {sum(decided.values())} published figures with ten runs of ours or more beside them,\n"
        f"{in_words(decided)}.{said_again(counts_again(every))} "
        "They are\nother readings of what a paper says: another graph, split, budget or training. "
        "Each page says which.",
        "## All cells",
        table(["page", *TOTALS], [*([f"[{paper}.md]({paper}.md)", *totals(all_)] for paper, all_ in rows.items()),
                                  ["all", *totals(every)]]),
        f"## {CHOSEN}",
        f"These {len(chosen)} of {len(every)} cells were chosen by hand, as those that decide whether a paper's method "
        "is reproduced.\nThey are no sample of the others, and their share is not the share of all cells. Of them\n"
        f"{in_words(judged([one for _, one in chosen]))}.",
        table(HEADS, lines),
    ]) + "\n"  # fmt: skip
