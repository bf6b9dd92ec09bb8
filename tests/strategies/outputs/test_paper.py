"""Table and figure for a paper."""

from __future__ import annotations

import re

import pytest

from ldpsim.strategies.outputs.paper import escaped, figure_bytes, figure_spec, latex_table, varied_option
from tests.strategies.outputs.test_groups import groups_of, result

METHODS = (("hogs", 1.0), ("raw", None))
BUDGETS = [result(method, 0.5 + epsilon / 100, seed, loss=loss and loss * epsilon, epsilon=epsilon)
           for method, loss in METHODS for epsilon in (2.0, 8.0) for seed in range(3)]  # fmt: skip


def test_a_table_by_hand() -> None:
    rows = [line for line in latex_table(groups_of(BUDGETS), command="ldpsim report x", version="1").splitlines()
            if line.endswith(r"\\")]  # fmt: skip
    assert rows[0].startswith(r"method & $\varepsilon$ & n & test score (\%)")
    assert [row.split(" & ")[:4] for row in rows[1:]] == [
        ["hogs", "2", "3", r"$52.0 \pm 0.0$"],
        ["hogs", "8", "3", r"$58.0 \pm 0.0$"],
        ["raw", "--", "6", r"$55.0 \pm 3.3$"],
    ]
    assert rows[1].endswith(r"40.0 & 2 & not asked \\") and "unprotected" in rows[3]


@pytest.mark.parametrize("sign", ["\\", "&", "%", "$", "#", "_", "{", "}", "~", "^", "<", ">", "|", "[", "*"])
def test_no_sign_of_a_name_is_one_of_latex(sign: str) -> None:
    (group,) = groups_of([result(f"a{sign}b", 0.5, 0)])
    table = latex_table([group], command=f"x{sign}\n\\input{{y}}", version="1")
    assert escaped(f"a{sign}b") in table and len(re.findall(r"(?<!\\)\\\\$", table, re.MULTILINE)) == 2
    assert all(line.startswith(("%", "\\")) or " & " in line for line in table.splitlines())


def test_the_axis_is_the_budget_that_varies() -> None:
    groups = groups_of(BUDGETS)
    assert varied_option(groups) == "epsilon" and varied_option(groups[:1]) is None
    values = figure_spec(groups)["data"]["values"]
    assert [(point["name"], point["x"]) for point in values] == [("hogs", 2.0), ("hogs", 8.0), ("raw", None)]
    assert figure_spec(groups[:1])["data"]["values"][0]["x"] == groups[0].label


def test_equal_groups_give_an_equal_picture() -> None:
    groups = groups_of(BUDGETS)
    drawn = figure_bytes(groups, "svg")
    assert drawn == figure_bytes(groups, "svg") and b"Privacy budget" in drawn and b"hogs" in drawn
    assert figure_bytes(groups, "pdf").startswith(b"%PDF-")
