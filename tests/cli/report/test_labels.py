from __future__ import annotations

import copy
from typing import Any

from ldpsim.cli.report.labels import name_rows
from ldpsim.strategies.outputs.seed_groups import BUDGETS, budget_figures, group_key, run_key


def labels(*records: dict[str, Any]) -> list[str]:
    rows = [{"method": record["method"]} for record in records]
    name_rows(rows, records)
    return [row["label"] for row in rows]


def changed(record: dict[str, Any], **config: Any) -> dict[str, Any]:
    other = copy.deepcopy(record)
    other["config"] |= config
    return other


def test_a_method_that_stands_there_once_is_its_name(record: dict[str, Any]) -> None:
    other = {**record, "method": "raw"}
    assert labels(record, other) == ["hogs", "raw"]


def test_results_of_one_method_are_told_apart_by_what_differs(record: dict[str, Any]) -> None:
    one, two = changed(record, epsilon=3.0, seed=1, settings={"tau": "0.5"}), changed(record, epsilon=8.0, seed=1)
    assert labels(one, two) == ["hogs ε 3 tau 0.5", "hogs ε 8"]
    assert labels(one, one) == ["hogs", "hogs (2)"]


def test_where_it_ran_tells_nothing_apart(record: dict[str, Any]) -> None:
    assert labels(changed(record, workers=1, out="a"), changed(record, workers=2, out="b")) == ["hogs", "hogs (2)"]


def test_seeds_and_data_set_are_no_part_of_a_configuration(record: dict[str, Any]) -> None:
    other = changed(record, seed=5, dataset="cora", clients=50)
    assert group_key(record) == group_key(other)
    assert run_key(record) != run_key(other)
    assert group_key(record) != group_key(changed(record, epsilon=2.0))
    assert group_key(record) != group_key({**record, "ldpsim_version": "0.2.0"})


def test_budgets_are_the_options_that_a_line_runs_over(record: dict[str, Any]) -> None:
    assert set(BUDGETS) == {"epsilon", "eps_adjacency", "eps_features", "eps_labels"}
    one, two = changed(record, epsilon=3.0), changed(record, epsilon=10.0, feature_share=0.5)
    assert budget_figures(one) < budget_figures(two)
    assert group_key(one, without=BUDGETS) == group_key(record)
    assert group_key(one, without=BUDGETS) != group_key(two, without=BUDGETS)
    rows = [{"method": "hogs"} for _ in range(2)]
    name_rows(rows, [one, two], field="line", without=BUDGETS)
    assert [row["line"] for row in rows] == ["hogs", "hogs feature share 0.5"]


def test_data_sets_have_labels_of_their_own(record: dict[str, Any]) -> None:
    rows = [{"method": "hogs", "panel": panel} for panel in (0, 1)]
    name_rows(rows, [record, changed(record, epsilon=3.0)])
    assert [row["label"] for row in rows] == ["hogs", "hogs"]
