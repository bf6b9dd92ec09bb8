"""The table for a paper."""

from __future__ import annotations

import re

import pytest

from ldpsim.strategies.outputs.paper import latex_table
from tests.strategies.outputs.test_groups import groups_of, result

METHODS = (("hogs", 1.0), ("raw", None))
BUDGETS = [result(method, 0.5 + epsilon / 100, seed, loss=loss and loss * epsilon, epsilon=epsilon)
           for method, loss in METHODS for epsilon in (2.0, 8.0) for seed in range(3)]  # fmt: skip


def test_a_table_by_hand() -> None:
    rows = [line for line in latex_table(groups_of(BUDGETS), command="ldpsim report x", version="1").splitlines()
            if line.endswith(r"\\")]  # fmt: skip
    assert rows[0].startswith(r"method & n & curator \% & device (alone) & asking nobody & best null")
    assert [row.split(" & ")[:3] for row in rows[1:]] == [
        [r"hogs $\varepsilon$ 2", "3", r"52.0 $\pm$ 0.0"],
        [r"hogs $\varepsilon$ 8", "3", r"58.0 $\pm$ 0.0"],
        ["raw", "6", r"55.0 $\pm$ 3.3"],
    ]
    assert " & 1 & 2 & not asked & " in rows[1] and " & in clear & " in rows[3]


@pytest.mark.parametrize("sign", ["\\", "&", "%", "$", "#", "_", "{", "}", "~", "^", "[", "*"])
def test_no_sign_of_a_name_is_one_of_latex(sign: str) -> None:
    (group,) = groups_of([result(f"{sign}b", 0.5, 0)])
    table = latex_table([group], command=f"x{sign}\n\\input{{y}}", version="1")
    assert len(re.findall(r"(?<!\\)\\\\$", table, re.MULTILINE)) == 2
    assert all(line.startswith(("%", "\\", "{")) or " & " in line for line in table.splitlines())
    assert not re.search(r"^[\[*]", table, re.MULTILINE)
