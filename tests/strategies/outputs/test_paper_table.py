"""The table for a paper: its figures, and the grammar of LaTeX, since a machine need not have a LaTeX."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ldpsim.strategies.outputs.paper_table import escaped, latex_table
from ldpsim.strategies.outputs.seed_groups import SeedGroup
from ldpsim.strategies.results.averages import Interval

COMMANDS = {"toprule", "midrule", "bottomrule", "begin", "end", "pm", "varepsilon", "textbackslash", "textasciitilde",
            "textasciicircum", "textless", "textgreater", "textbar", "ldots"}  # fmt: skip


def group(method: str = "hogs", **changed: Any) -> SeedGroup:
    levels = {"relationship": ("bounded", 3.6), "user": ("unprotected", None)}
    given: dict[str, Any] = {
        "method": method, "data": ("cora", 60), "options": {"epsilon": "4"}, "label": f"{method} ε 4",
        "n": 3, "mean": 0.6, "sd": 0.1, "interval": Interval(0.6, 0.3516, 0.8484), "chance": 0.3,
        "best_null": "graph_alone", "null": 0.4, "levels": levels, "collections": 1,
        "together": levels,
    }  # fmt: skip
    return SeedGroup(**{**given, **changed})


def check_grammar(tex: str) -> list[list[str]]:
    """Return the cells of the rows of a tabular.

    Raises:
        AssertionError: for an environment that is open, a row with another number of cells, an unknown command, or a
            special character that is not escaped.
    """
    body = [line for line in tex.splitlines() if not line.startswith("%")]
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", tex):
        if what == "begin":
            opened.append(name)
        else:
            assert opened and opened.pop() == name, name
    assert not opened, opened
    columns = re.fullmatch(r"\\begin\{tabular\}\{([lcr]+)\}", body[0])
    assert columns is not None and body[-1] == r"\end{tabular}", body[0]
    assert [line for line in body if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]
    rows = []
    for line in body[1:-1]:
        if line.endswith("rule"):
            continue
        assert line.endswith(r" \\"), line
        words = line.removesuffix(r"\\")
        assert set(re.findall(r"\\([A-Za-z]+)", words)) <= COMMANDS, line
        plain = re.sub(r"\\([A-Za-z]+|[&%$#_{}])", "", words)
        assert plain.count("&") == len(columns[1]) - 1, line
        assert plain.count("$") % 2 == 0 and not set(plain) & set("\\%#_~^<>|"), line
        assert plain.count("{") == plain.count("}") and plain.isascii(), line
        assert line[0] not in "[*", line  # options of the row above
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)&", words)])
    return rows


def test_figures() -> None:
    tex = latex_table([group(), group("raw", options={"epsilon": ""}, n=1, sd=None, interval=None, null=None)],
                      command="ldpsim report runs --latex t.tex", version="1.2")  # fmt: skip
    assert tex.startswith("% ldpsim 1.2: ldpsim report runs --latex t.tex\n")
    assert check_grammar(tex) == [
        ["method", r"$\varepsilon$", "n", r"test score (\%)", r"95 \% interval over runs (\%)", r"best null model (\%)",
         "holds: a relationship", "holds: a person"],
        ["hogs", "4", "3", r"$60.0 \pm 10.0$", "35.2--84.8", "40.0", "3.6", "unprotected"],
        ["raw", "--", "1", "$60.0$", "--", "--", "3.6", "unprotected"],
    ]  # fmt: skip
    assert r"\begin{tabular}{lrrrrrrl}" in tex  # figures end at the right, words start at the left


def test_the_sum_over_several_collections_has_columns_beside_one() -> None:
    given = {"collections": 16, "together": {"relationship": ("bounded", 57.6), "user": ("unprotected", None)}}
    head, first, second = check_grammar(latex_table([group(**given), group("raw")], command="x", version="1"))
    assert head[-2:] == ["all collections: a relationship", "all collections: a person"]
    assert first[-4:] == ["3.6", "unprotected", "57.6", "unprotected"] and second[-2] == "3.6"


def test_a_setting_with_the_name_of_a_figure_keeps_its_column() -> None:
    head, row = check_grammar(latex_table([group(options={"n": "7"})], command="", version="1"))
    assert (head[1:3], row[1:3]) == (["n", "n"], ["7", "3"])


def test_every_special_character_is_escaped() -> None:
    name = r"[a\b_c & 5 % $x$ #1 {y} ~z ^w <v> |u| *t"
    tex = latex_table([group(name, options={"tau_x": name})], command="ldpsim\n\\input{x}", version="1")
    head, row = check_grammar(tex)
    assert head[1] == "tau x" and row[0] == row[1] == escaped(name)
    assert tex.splitlines()[0] == r"% ldpsim 1: ldpsim \input{x}"  # a comment stays one line


@pytest.mark.parametrize(
    ("old", "new"),
    [(r"\end{tabular}", ""), ("3.6 &", "3.6"), (r"\_", "_"), (r" \\", ""), (r"\pm", r"\pmm"), ("60.0", "60.0 %"),
     (r"\midrule", ""), ("$60", "60")],
)  # fmt: skip
def test_the_grammar_sees_each_mistake(old: str, new: str) -> None:
    tex = latex_table([group("a_b")], command="", version="1")
    check_grammar(tex)
    assert old in tex
    with pytest.raises(AssertionError):
        check_grammar(tex.replace(old, new))
