"""Words about groups, and sections that somebody else wrote."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ldpsim.strategies.group_accuracy.section import group_rows, merged_rows, words_of_groups


def row(by: str, group: str, own: float, clean: float | None = None, worse: bool | None = None) -> dict[str, Any]:
    def share(value: float) -> dict[str, float]:
        return {"value": value, "low": max(value - 0.1, 0), "high": min(value + 0.1, 1)}

    return {"by": by, "group": group, "people": 40, "method": share(own), "best_null": None,
            "without_noise": None if clean is None else share(clean), "worse": worse,
            "more_lost": None if clean is None else {"value": clean - own - 0.1, "low": 0.0}}  # fmt: skip


ROWS = [row("everybody", "everybody", 0.7, 0.8), row("class", "gold", 0.3, 0.7, True),
        row("degree", "0", 0.2, 0.8, True), row("labelled_neighbour", "no", 0.7, 0.8, False)]  # fmt: skip


def test_the_worst_group_stands_in_the_line() -> None:
    found = group_rows({"groups": {"rows": ROWS}})
    assert words_of_groups(found) == "worse off: no neighbour -60.0 points by noise (all -10.0)"
    assert [each.words for each in found] == ["everybody", "class gold", "no neighbour",
                                              "no labelled neighbour"]  # fmt: skip
    assert words_of_groups(found[:1]) == "" == words_of_groups(group_rows({"groups": None})) == words_of_groups([])


def test_the_means_of_seeds_count_a_group_where_it_is() -> None:
    other = [row("everybody", "everybody", 0.5, 0.8), row("class", "gold", 0.5, 0.7, False)]
    merged = merged_rows([group_rows({"groups": {"rows": rows}}) for rows in (ROWS, other, other)])
    found = {each.group: each for each in merged}
    assert found["everybody"].accuracy["method"].value == pytest.approx((0.7 + 0.5 + 0.5) / 3)
    assert found["gold"].worse is False and found["0"].worse is True
    assert found["0"].accuracy["method"].value == 0.2
    (two,) = [each for each in merged_rows([group_rows({"groups": {"rows": rows}}) for rows in (ROWS, other)])
              if each.group == "gold"]  # fmt: skip
    own = two.accuracy["method"]  # 0.3 and 0.5, each ± 0.1 over people
    assert (own.value, own.low, own.high) == (pytest.approx(0.4), pytest.approx(0.2), pytest.approx(0.6))


@pytest.mark.parametrize("wrong", [{"people": "many"}, {"method": None}, {"method": {"value": 2, "low": 0, "high": 1}},
                                   {"more_lost": 3}, {"more_lost": {"value": "1"}}], ids=str)  # fmt: skip
def test_a_section_that_says_nothing_is_an_error_of_one_line(wrong: dict[str, Any]) -> None:
    rows = copy.deepcopy(ROWS)
    rows[1].update(wrong)
    with pytest.raises(ValueError, match="groups cannot be read"):
        group_rows({"groups": {"rows": rows}})
    with pytest.raises(ValueError, match="groups cannot be read"):
        group_rows({"groups": 3})
