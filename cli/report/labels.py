"""Labels of rows: what tells results of one method apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ldpsim.strategies.outputs.seed_groups import options_of, words_of
from ldpsim.strategies.outputs.untrusted import text

_MOST = 4  # options in one label


def name_rows(
    rows: Sequence[dict[str, Any]], records: Sequence[Mapping[str, Any]], *, field: str = "label",
    without: Iterable[str] = (),
) -> None:  # fmt: skip
    """Give every row a label of its own among the rows of its data set.

    Args:
        rows: Changed in place; ``panel`` is the data set's number, if there are several.
        records: A result of each row.
        field: Name of the label in a row.
        without: Options that are not said; rows that differ in them alone share a label.
    """
    options = [options_of(record) for record in records]
    by_method: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        by_method.setdefault((row.get("panel"), row["method"]), []).append(place)
    for twins in by_method.values():
        keys = [key for key in {key: None for twin in twins for key in options[twin]} if key not in without]
        apart = [key for key in keys if len({options[twin].get(key) for twin in twins}) > 1]
        for place in twins:
            said = words_of(options[place], apart)[:_MOST] if len(twins) > 1 else []
            rows[place][field] = text(" ".join([rows[place]["method"], *said]))
    if without:
        return
    seen: Counter[Any] = Counter()
    for row in rows:
        name = (row.get("panel"), row[field])
        seen[name] += 1
        if seen[name] > 1:
            row[field] = f"{row[field]} ({seen[name]})"
