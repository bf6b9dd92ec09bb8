"""A LaTeX table for a paper: the cells of groups of results, one row each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.outputs.groups import ABOVE, BUDGETS, DATASET, OPTIONS, PEOPLE, Group, table_of, words_of
from ldpsim.strategies.results.numbers import NONE

_SIGNS = {"ε": r"$\varepsilon$", "±": r"$\pm$", "–": "--", "…": r"\ldots{}", ABOVE: r"$\uparrow$"}


def latex_table(groups: Sequence[Group], *, command: str, version: str) -> str:
    """Return a ``tabular`` of the package booktabs. Scores are in per cent.

    Where there are several data sets, a column of its own has them; so it is with budgets.

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
        "% claim: the epsilon claimed; beside it the largest loss of one collection, by level.",
        table,
    ])  # fmt: skip


def _row(group: Group, cells: Mapping[str, str], several: bool) -> dict[str, str]:
    """Return the cells of a group: budgets that tell groups apart are columns, and of several data sets its own is.

    The data set has its size where sizes differ.
    """
    named = {DATASET: group.data[0], PEOPLE: str(group.data[1])}
    data = words_of(named, [DATASET, *([PEOPLE] if PEOPLE in group.row else [])])
    return {
        "method": ", ".join(filter(None, (group.method, group.own_settings))),
        **({"data set": ", ".join(data)} if several else {}),
        **{OPTIONS[name].label or name: group.row[name] or NONE for name in BUDGETS if name in group.row},
        **{name: cells[name] for name in cells if name != "method"},
    }
