"""Groups over seeds, with figures by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.foreign_text import number, text
from ldpsim.strategies.outputs.groups import groups_of


def result(method: str, test: float, seed: int, *, loss: float | None = 7.0, nulls: tuple[float, float] = (0.3, 0.4),
           nodes: int = 60, per_repeat: list[float] | None = None, settings: dict[str, str] | None = None,
           data: str = "cora", **config: Any) -> dict[str, Any]:  # fmt: skip
    holds = {level: Level("not asked").to_dict() for level in LEVELS}
    holds["relationship"] = (Level("unprotected") if loss is None else Level("bounded", loss)).to_dict()
    margin = {"value": test - max(nulls), "low": -1.0, "high": 1.0}
    return {
        "method": method,
        "gnn": "gcn",
        "ldpsim_version": "1",
        "seeds": {"population": seed, "training": seed},
        "simulation_seeded": True,
        "dataset": {"name": data, "nodes": nodes, "digest": f"{seed}"},
        "accuracy": {"test": test, "per_repeat": per_repeat or [test]},
        "nulls": {"chance": {"test": nulls[0]}, "graph_alone": {"test": nulls[1], "std": None}},
        "verdict": {"above_chance": True, "above_nulls": False, "margin": margin, "text": "Words.",
                    "ask_nobody": ["chance"]},
        "privacy": {"trust": "none" if loss is None else "untrusted curator", "holds": holds, "collections": 1,
                    "claimed": {"value": 1.0}},
        "devices": {"asked": nodes},
        "config": {"seed": seed, "settings": settings or {}, "repeats": len(per_repeat or [0]), **config},
    }  # fmt: skip


def labels(*records: dict[str, Any]) -> list[str]:
    return [f"{group.label}: {group.row['n']}" for group in groups_of(records)]


def test_figures_by_hand() -> None:
    records = [
        result("hogs", 0.5, 0, nulls=(0.3, 0.4), loss=7.0),
        result("hogs", 0.6, 1, nulls=(0.3, 0.2), loss=9.0),
        result("hogs", 0.7, 2, nulls=(0.3, 0.6), loss=8.0),
    ]
    (group,) = groups_of(records)
    assert (group.method, group.label, group.row["n"]) == ("hogs", "hogs", 3)
    assert (group.mean, group.row["sd"]) == (pytest.approx(0.6), pytest.approx(0.1))
    assert (group.row["chance"], group.row["best_null"]) == (pytest.approx(0.3), "graph_alone")
    assert (group.row["best_null_mean"], group.row["asking_nobody"]) == (pytest.approx(0.4), "chance")
    assert group.levels["relationship"]["value"] == group.row["holds_relationship"] == 9.0  # the largest one
    assert (group.row["holds_user"], group.row["holds_user_status"]) == (None, "not asked")


def test_the_margin_over_seeds_is_that_of_the_best_null_with_a_corrected_upper_end() -> None:
    """Differences to the graph alone .1, .4, .1; to chance .2, .3, .4: the interval holds those of both."""
    records = [
        result("hogs", 0.5, 0),
        result("hogs", 0.6, 1, nulls=(0.3, 0.2)),
        result("hogs", 0.7, 2, nulls=(0.3, 0.6)),
    ]
    (group,) = groups_of(records)
    assert group.verdict is not None
    margin = group.verdict["margin"]
    assert margin["value"] == pytest.approx(0.2) and margin["low"] == pytest.approx(0.2 - 4.302653 * 0.1)
    assert margin["high"] > 0.3 + 4.302653 * 0.1 / 3**0.5  # the narrower one, widened: two null models
    assert group.verdict["standing"] == "even" and group.verdict["text"].startswith("3 seeds: does not measurably beat")
    two = groups_of(records[:2])[0].verdict
    assert two is not None and two["margin"] is None and "an interval takes three seeds" in two["text"]


def test_what_nulls_do_not_judge_is_not_above() -> None:
    """Chance alone judges nothing, in one result and in several."""
    records = [result("vote", 0.9, seed) for seed in range(4)]
    for record in records:
        record["nulls"] = {"chance": {"test": 0.3}}
        record["verdict"] |= {"above_nulls": True}
    assert [group.verdict["standing"] for some in (records, records[:1]) for group in groups_of(some)
            if group.verdict] == ["unjudged"] * 2  # fmt: skip
    records[0] = {**records[0], "nulls": None, "verdict": None}
    assert groups_of(records)[0].verdict is None


def test_repeats_of_a_run_count_as_scores() -> None:
    (group,) = groups_of([result("hogs", 0.55, 0, per_repeat=[0.5, 0.6])])
    assert (group.row["n"], group.row["sd"]) == (2, pytest.approx(0.0707107))


def test_groups_are_told_apart_by_options_and_never_by_seeds() -> None:
    assert labels(result("hogs", 0.5, 0, epsilon=4.0), result("hogs", 0.6, 1, epsilon=4.0)) == ["hogs: 2"]
    budgets = [result("hogs", 0.5, seed, epsilon=epsilon) for seed in (0, 1) for epsilon in (10.0, 2.0)]
    assert labels(*budgets) == ["hogs ε 2: 2", "hogs ε 10: 2"]
    assert labels(result("hogs", 0.5, 0, settings={"tau": "0.5"}), result("hogs", 0.5, 0, settings={"tau": "0.9"}),
                  result("raw", 0.5, 0)) == ["hogs tau 0.5: 1", "hogs tau 0.9: 1", "raw: 1"]  # fmt: skip
    two = groups_of([result("hogs", 0.5, 0), result("hogs", 0.5, 0, data="citeseer", nodes=90)])
    assert [group.data for group in two] == [("cora", 60), ("citeseer", 90)] and two[0].label != two[1].label


def test_a_copy_is_no_repeat_and_a_budget_changes_nothing_where_nothing_is_protected() -> None:
    one = result("hogs", 0.5, 0)
    assert labels(one, dict(one)) == ["hogs: 1"]
    assert labels(result("raw", 0.5, 0, loss=None, epsilon=1.0), result("raw", 0.5, 0, loss=None, epsilon=2.0)) == [
        "raw: 1"
    ]
    real = {**one, "simulation_seeded": False}
    assert labels(real, {**real, "seconds": {"total": 2.0}}) == ["hogs: 2"]  # two collections may agree by chance


@pytest.mark.parametrize("value", ["a\nb", "\x1b[31m", "x" * 10_000, None, 3])
def test_foreign_text_is_one_short_line_that_prints(value: object) -> None:
    line = text(value)
    assert "\n" not in line and "\x1b" not in line and len(line) <= 600


def test_only_a_finite_number_is_one() -> None:
    assert [number(value) for value in (1, 0.5, True, "1", None, float("inf"), 10**400)] == [1.0, 0.5] + [None] * 5
