"""A LaTeX table for a paper: the cells of groups of results, one row each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.outputs.groups import ABOVE, DATASET, PEOPLE, Group, table_of, words_of

_SIGNS = {"ε": r"$\varepsilon$", "±": r"$\pm$", "–": "--", "…": r"\ldots{}", ABOVE: r"$\uparrow$"}


def latex_table(groups: Sequence[Group], *, command: str, version: str) -> str:
    """Return a ``tabular`` of the package booktabs. Scores are in per cent.

    Where there are several data sets, a column of its own has them.

    Args:
        groups: At least one.
        command, version: What wrote the table; a comment names them.
    """
    from pandas import DataFrame

    several = len({group.data for group in groups}) > 1
    frame = DataFrame([_row(group, cells, several) for group, cells in zip(groups, table_of(groups), strict=True)])
    left = "ll" if several else "l"
    table = frame.to_latex(index=False, escape=True, column_format=left + "r" * (len(frame.columns) - len(left)))
    table = re.sub(r"^([\[*])", r"{\1}", table, flags=re.MULTILINE)  # after the end of a row they would be its options
    for sign, written in _SIGNS.items():
        table = table.replace(sign, written)
    return "\n".join([
        f"% ldpsim {text(version)}: {text(command)}",
        r"% Needs \usepackage{booktabs}. Of n scores: mean and sample standard deviation. An arrow: above the method.",
        "% claim: the paper's epsilon; beside it the largest loss of one collection, by level.",
        table,
    ])  # fmt: skip


def _row(group: Group, cells: Mapping[str, str], several: bool) -> dict[str, str]:
    """Return the cells of a group: of several data sets its own is a column, with its size where sizes differ."""
    if not several:
        return dict(cells)
    named = {DATASET: group.data[0], PEOPLE: str(group.data[1])}
    data = words_of(named, [DATASET, *([PEOPLE] if PEOPLE in group.row else [])])
    method = ", ".join(filter(None, (group.method, group.own_settings)))
    return {"method": method, "data set": ", ".join(data), **{name: cells[name] for name in cells if name != "method"}}
