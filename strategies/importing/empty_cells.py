"""Empty cells of features: refused, filled, marked, or their people left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from ldpsim.strategies.importing.faults import FileFaults, and_more
from ldpsim.strategies.importing.options import REFUSE, ImportOptions

REMEDY = (
    "--missing zero puts 0 there, mean the column's mean (a release), mark 0 and a 1 in one more feature, "
    "drop leaves the person out"
)


def without_empty_cells(
    cells: Any, sources: Sequence[str], options: ImportOptions, place: Callable[[Any, int], str], faults: FileFaults
) -> tuple[Any, list[str]]:
    """Return the features without empty cells, and notes on what was done.

    Args:
        cells: DataFrame of all features, a row for each person; NaN where a cell is empty.
        sources: Column of the files that each feature comes from.
        options: The choices.
        place: Returns the place of a person's feature, given the name and the number of the feature.
        faults: Where empty cells are told if they are refused.
    """
    holes = cells.isna()
    at = [k for k, any_here in enumerate(holes.any()) if any_here]
    first_of = {sources[k]: k for k in reversed(at)}  # the columns of one category are empty together
    counts = {source: int(holes.iloc[:, k].sum()) for source, k in sorted(first_of.items(), key=lambda item: item[1])}
    if options.missing == REFUSE:
        for source, count in counts.items():
            who = cells.index[int(holes.iloc[:, first_of[source]].to_numpy().argmax())]
            where = f"{place(who, first_of[source])}, column {source}"
            faults.add(where, f"is empty{and_more(count)}", REMEDY, missing="zero")
    if not counts:
        return cells, []
    found = ", ".join(f"{count:,} in {source}" for source, count in counts.items())
    note = f"empty cells, --missing {options.missing}: {found}"
    if options.missing == "drop":
        kept = cells[~holes.any(axis=1)]
        return kept, [f"{note}; people left out: {len(cells) - len(kept):,}"]
    if options.missing == "mean":
        means = cells.mean()
        return cells.fillna(means), [f"{note}; means are computed from the data, which is itself a release"]
    whole = cells.fillna(0.0)
    if options.missing == "mark":
        marks = {f"{source} is empty": holes.iloc[:, k].astype(float) for source, k in first_of.items()}
        whole = pd.concat([whole, pd.DataFrame(dict(reversed(marks.items())))], axis=1)
    return whole, [note]
