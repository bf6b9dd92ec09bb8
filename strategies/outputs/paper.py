"""A LaTeX table for a paper: the cells of groups of results, one row each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.outputs.groups import ABOVE, Group, table_of

_SIGNS = {"ε": r"$\varepsilon$", "±": r"$\pm$", "–": "--", "…": r"\ldots{}", ABOVE: r"$\uparrow$"}


def latex_table(groups: Sequence[Group], *, command: str, version: str) -> str:
    """Return a ``tabular`` of the package booktabs. Scores are in per cent.

    Args:
        groups: At least one.
        command, version: What wrote the table; a comment names them.
    """
    from pandas import DataFrame

    frame = DataFrame(table_of(groups))
    table = frame.to_latex(index=False, escape=True, column_format="l" + "r" * (len(frame.columns) - 1))
    table = re.sub(r"^([\[*])", r"{\1}", table, flags=re.MULTILINE)  # after the end of a row they would be its options
    for sign, written in _SIGNS.items():
        table = table.replace(sign, written)
    return "\n".join([
        f"% ldpsim {text(version)}: {text(command)}",
        r"% Needs \usepackage{booktabs}. Of n scores: mean and sample standard deviation. An arrow: above the method.",
        "% claim: the paper's epsilon; beside it the largest loss of one collection, by level.",
        table,
    ])  # fmt: skip
