"""A LaTeX table for a paper: one row for each group of results that differ in their seeds alone."""

from __future__ import annotations

from collections.abc import Sequence

from ldpsim.strategies.outputs.seed_groups import DATASET, SeedGroup, option_word
from ldpsim.strategies.outputs.untrusted import text
from ldpsim.strategies.results.levels import level_term, shown_levels
from ldpsim.strategies.results.numbers import epsilon, points

_LEVELS = 2  # compared levels that have a column; summary.csv of a sweep has all of them
_SIGNS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "ε": r"$\varepsilon$", "±": r"$\pm$", "–": "--", "…": r"\ldots{}",
    "[": "{[}", "*": "{*}",  # after the end of a row they would be its options
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def escaped(words: str) -> str:
    r"""Return words as LaTeX prints them.

    >>> escaped("a_b & 5 % of ε")
    'a\\_b \\& 5 \\% of $\\varepsilon$'
    """
    return "".join(_SIGNS.get(sign, sign) for sign in text(words))


def latex_table(groups: Sequence[SeedGroup], *, command: str, version: str) -> str:
    """Return a ``tabular`` of the package booktabs. Scores are in per cent.

    Args:
        groups: At least one (:func:`ldpsim.strategies.outputs.seed_groups.seed_groups`).
        command, version: What wrote the table; a comment names them.
    """
    head, *_ = rows = [_cells(group, any(each.collections > 1 for each in groups)) for group in groups]
    # A column of figures ends at the right; one of words starts at the left.
    columns = zip(*([cell for _, cell in row] for row in rows), strict=True)
    aligned = "".join("l" if any(cell[:1].isalpha() for cell in cells) else "r" for cells in columns)
    lines = [
        f"% ldpsim {text(version)}: {text(command)}",
        r"% Needs \usepackage{booktabs}. Of n scores: mean, sample standard deviation, and from three runs on the 95 %",
        "% interval of the mean over runs by Student's t. Best null model: the largest mean. Holds: the largest loss",
        "% of one collection. All collections: those of the same people, whose losses add.",
        f"\\begin{{tabular}}{{{aligned}}}",
        r"\toprule",
        _line([escaped(name) for name, _ in head]),
        r"\midrule",
        *(_line([cell for _, cell in row]) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _cells(group: SeedGroup, summed: bool) -> list[tuple[str, str]]:
    """Return the columns of a row: their words, and their cells in LaTeX.

    Args:
        group: The row.
        summed: Whether the sum over all collections of the same people has columns.
    """
    held = [(level, *group.levels[level]) for level in shown_levels(_LEVELS)]
    sums = [(level, *group.together[level]) for level in shown_levels(_LEVELS)] if summed else []
    interval = group.interval
    options = [("data set" if name == DATASET else option_word(name), escaped(value) or "--")
               for name, value in group.options.items()]  # fmt: skip
    spread = "" if group.sd is None else rf" \pm {points(group.sd)}"
    mean = "--" if group.mean is None else f"${points(group.mean)}{spread}$"
    return [
        ("method", escaped(group.method)),
        *options,
        ("n", str(group.n)),
        ("test score (%)", mean),
        (
            "95 % interval over runs (%)",
            "--" if interval is None else f"{points(interval.low)}--{points(interval.high)}",
        ),
        ("best null model (%)", escaped(points(group.null))),
        *((f"holds: {level_term(level)}", _held(status, value)) for level, status, value in held),
        *((f"all collections: {level_term(level)}", _held(status, value)) for level, status, value in sums),
    ]  # fmt: skip


def _held(status: str, value: float | None) -> str:
    return escaped(status if value is None else epsilon(value))


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
