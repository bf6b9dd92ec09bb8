"""Groups over seeds and their short table, with figures by hand (the page's rows: cli/report/test_groups.py).

It covers ``sweep_summary`` and ``untrusted`` too.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.outputs.paper_table import latex_table
from ldpsim.strategies.outputs.seed_groups import SeedGroup, seed_groups
from ldpsim.strategies.outputs.sweep_summary import summary_rows, write_summary


def result(method: str, test: float, seed: int, *, loss: float | None = 7.0, nulls: tuple[float, float] = (0.3, 0.4),
           nodes: int = 60, per_repeat: list[float] | None = None, settings: dict[str, str] | None = None,
           **config: Any) -> dict[str, Any]:  # fmt: skip
    holds = {level: Level("not asked").to_dict() for level in LEVELS}
    holds["relationship"] = (Level("unprotected") if loss is None else Level("bounded", loss)).to_dict()
    return {
        "method": method,
        "gnn": "gcn",
        "ldpsim_version": "1",
        "seeds": {"population": seed, "training": seed},
        "simulation_seeded": True,
        "dataset": {"name": "cora", "nodes": nodes, "digest": f"{seed}"},
        "accuracy": {"test": test, "per_repeat": per_repeat or [test]},
        "nulls": {"chance": {"test": nulls[0]}, "graph_alone": {"test": nulls[1], "std": None}},
        "privacy": {"trust": "none" if loss is None else "untrusted curator", "holds": holds, "collections": 1},
        "devices": {"asked": nodes},
        "config": {"seed": seed, "settings": settings or {}, "repeats": len(per_repeat or [0]), **config},
    }


def named(groups: list[SeedGroup]) -> list[str]:
    return [f"{group.label}: {group.n}" for group in groups]


def test_figures_by_hand() -> None:
    """Mean .6, sd .1. Student's t at 2 degrees is 4.302653, so the interval is .6 ± .4302653 / 3 ** .5."""
    records = [
        result("hogs", 0.5, 0, nulls=(0.3, 0.4), loss=7.0),
        result("hogs", 0.6, 1, nulls=(0.3, 0.2), loss=9.0),
        result("hogs", 0.7, 2, nulls=(0.3, 0.6), loss=8.0),
    ]
    (group,) = seed_groups(records)
    assert (group.method, group.options, group.label, group.n) == ("hogs", {}, "hogs", 3)
    assert (group.mean, group.sd) == (pytest.approx(0.6), pytest.approx(0.1))
    assert group.interval is not None
    assert (group.interval.low, group.interval.high) == (pytest.approx(0.3515862), pytest.approx(0.8484138))
    assert (group.chance, group.best_null, group.null) == (pytest.approx(0.3), "graph_alone", pytest.approx(0.4))
    assert group.levels["relationship"] == ("bounded", 9.0)  # the largest one
    assert group.levels["user"] == ("not asked", None)


def test_the_best_null_model_is_best_in_the_mean() -> None:
    records = [result("hogs", 0.5, 0, nulls=(0.4, 0.45)), result("hogs", 0.5, 1, nulls=(0.4, 0.25))]
    (group,) = seed_groups(records)
    assert (group.best_null, group.null) == ("chance", pytest.approx(0.4))  # 0.35 in the mean is less


def test_one_result_has_no_spread_and_repeats_have_one() -> None:
    alone, repeated = seed_groups([result("hogs", 0.5, 0), result("raw", 0.3, 0, per_repeat=[0.2, 0.4])])
    assert (alone.n, alone.mean, alone.sd, alone.interval) == (1, 0.5, None, None)
    assert (repeated.n, repeated.mean, repeated.sd) == (2, pytest.approx(0.3), pytest.approx(0.1414214))


def test_seeds_are_one_group_and_options_are_not() -> None:
    records = [result("hogs", 0.5, seed, epsilon=epsilon) for seed in (0, 1) for epsilon in (8.0, 4.0)]
    records += [result("hogs", 0.5, 3, epsilon=4.0, seeds={"training": 9})]
    groups = seed_groups(records)
    assert named(groups) == ["hogs ε 4: 3", "hogs ε 8: 2"]  # sorted by the budget
    assert [group.options for group in groups] == [{"epsilon": "4"}, {"epsilon": "8"}]


def test_a_budget_does_not_divide_what_has_no_protection() -> None:
    records = [result(method, 0.5, seed, epsilon=epsilon, loss=loss) for seed in (0, 1) for epsilon in (4.0, 8.0)
               for method, loss in (("hogs", 7.0), ("raw", None))]  # fmt: skip
    groups = seed_groups(records)
    assert named(groups) == ["hogs ε 4: 2", "hogs ε 8: 2", "raw: 2"]
    assert groups[-1].options == {"epsilon": ""} and groups[-1].levels["relationship"] == ("unprotected", None)


def test_options_in_which_groups_differ() -> None:
    records = [result("hogs", 0.5, 0, settings={"tau": "0.7"}), result("hogs", 0.5, 0, settings={"tau": "0.9"}),
               result("hogs", 0.5, 0, settings={"tau": "0.9"}, nodes=90)]  # fmt: skip
    assert [(group.label, dict(group.options)) for group in seed_groups(records)] == [
        ("hogs 60 people tau 0.7", {"people": "60", "tau": "0.7"}),
        ("hogs 60 people tau 0.9", {"people": "60", "tau": "0.9"}),
        ("hogs 90 people tau 0.9", {"people": "90", "tau": "0.9"}),
    ]
    two = seed_groups([result("hogs", 0.5, 0, epsilon=4.0), result("rgnn", 0.5, 0, epsilon=8.0)])
    assert [group.label for group in two] == ["hogs ε 4", "rgnn ε 8"]  # a difference of budgets is never hidden


def test_the_short_table(tmp_path: Path) -> None:
    records = [result("hogs", test, seed, epsilon=4.0) for seed, test in enumerate((0.5, 0.6, 0.7))]
    groups = seed_groups([*records, result("raw", 0.9, 0, loss=None)])
    with write_summary(tmp_path, groups).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["n"], row["holds_relationship"], row["holds_relationship_status"]) for row in rows] == [
        ("hogs", "3", "7.0", "bounded"), ("raw", "1", "", "unprotected"),
    ]  # fmt: skip
    figures = {
        name: float(rows[0][name]) for name in ("mean", "sd", "low_over_runs", "high_over_runs", "best_null_mean")
    }
    assert figures == pytest.approx(
        {"mean": 0.6, "sd": 0.1, "low_over_runs": 0.3515862, "high_over_runs": 0.8484138, "best_null_mean": 0.4},
        abs=1e-7,
    )
    assert (rows[1]["sd"], rows[1]["low_over_runs"], rows[0]["best_null"]) == ("", "", "graph_alone")
    assert [list(row) for row in summary_rows(groups)] == [list(rows[0])] * 2
    assert (
        write_summary(tmp_path, []).read_text().startswith("method,n,mean,sd,low_over_runs,high_over_runs,best_null,")
    )


@pytest.mark.parametrize("tests", [(0.5, 0.9), (0.7, 0.7)])
def test_two_runs_have_no_interval_over_runs(tests: tuple[float, ...]) -> None:
    """It was 0 to 3.24 for 0.5 and 0.9, and of width 0 for two equal scores."""
    (group,) = seed_groups([result("hogs", test, seed, epsilon=4.0) for seed, test in enumerate(tests)])
    assert (group.n, group.interval) == (2, None)
    (row,) = summary_rows([group])
    assert row["low_over_runs"] is row["high_over_runs"] is None and row["sd"] is not None
    (line,) = [line for line in latex_table([group], command="x", version="1").splitlines() if line.startswith("hogs")]
    assert "& 2 &" in line and "& -- &" in line


def test_settings_have_columns_of_their_own() -> None:
    """A setting may have the name of a figure."""
    groups = seed_groups([result("hogs", 0.5, 0, settings={"n": value}, epsilon=4.0) for value in ("7", "8")])
    assert [(row["param_n"], row["n"]) for row in summary_rows(groups)] == [("7", 1), ("8", 1)]
    assert "epsilon" not in summary_rows(groups)[0]
