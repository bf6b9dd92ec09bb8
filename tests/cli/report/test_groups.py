from __future__ import annotations

import copy
from typing import Any

import pytest

from ldpsim.cli.report.gather import ShownResult
from ldpsim.cli.report.groups import grouped, row_of_group
from ldpsim.cli.report.rows import people_of, row_of
from ldpsim.curator.privacy.level import Level


def entry(record: dict[str, Any], seed: int, test: float, **config: Any) -> ShownResult:
    other = copy.deepcopy(record)
    other["config"] |= {"seed": seed, **config}
    other["accuracy"] |= {"test": test, "per_repeat": [test]}
    return ShownResult(other, row_of(other, f"hogs-{seed}"), people_of(other))


def test_seeds_of_one_configuration_are_one_group(record: dict[str, Any]) -> None:
    results = [entry(record, seed, 0.5, epsilon=epsilon) for seed in range(3) for epsilon in (2.0, 4.0)]
    assert [len(group) for group in grouped(results)] == [3, 3]
    assert [each.record["config"]["epsilon"] for each in grouped(results)[0]] == [2.0] * 3


def test_a_budget_changes_nothing_where_nothing_is_protected(record: dict[str, Any]) -> None:
    record["privacy"]["trust"] = "none"
    results = [entry(record, seed, 0.5 + seed / 10, epsilon=epsilon) for seed in range(3) for epsilon in (2.0, 4.0)]
    (group,) = grouped(results)
    assert len(group) == 3
    assert row_of_group(group)["test"] == pytest.approx(0.6)


def test_mean_spread_and_number(with_nulls: dict[str, Any]) -> None:
    results = [entry(with_nulls, seed, test) for seed, test in enumerate((0.5, 0.6, 0.7))]
    results[1].record["dataset"]["digest"] = results[1].people["digest"] = "77" * 32
    results[2].row["bytes"] = 1110.0
    row = row_of_group(results)
    assert (row["n"], row["repeats"], row["populations"]) == (3, 3, 2)
    assert (row["test"], row["std"], row["bytes"]) == (pytest.approx(0.6), pytest.approx(0.1), pytest.approx(910))
    assert row["nulls"]["graph_alone"] == {"test": pytest.approx(0.7884), "std": pytest.approx(0)}
    assert row["nulls"]["chance"]["std"] is None and row["best_null"] == "graph_alone"
    assert row["folders"] == ["hogs-0", "hogs-1", "hogs-2"]
    assert row["degrees"]["true"] == [300, 1800, 2700, 3000, 1050, 150]
    alone = row_of_group(results[:1])
    assert (alone["n"], alone["test"], alone["std"]) == (1, 0.5, None)


def test_a_bound_is_the_largest_one_and_clear_is_worse(record: dict[str, Any]) -> None:
    results = [entry(record, seed, 0.5) for seed in range(3)]
    results[1].row["levels"]["user"] = {**results[1].row["levels"]["user"], "value": 30000.0}
    assert row_of_group(results)["levels"]["user"]["value"] == 30000.0
    results[2].row["levels"]["user"] = Level("unprotected").to_dict()
    assert row_of_group(results)["levels"]["user"]["status"] == "unprotected"


def verdicts(record: dict[str, Any], *margins: tuple[float, float, float], chance: int = 0) -> dict[str, Any]:
    """The verdict of results with chance and one more null model."""
    results = []
    for seed, (value, low, high) in enumerate(margins):
        found, interval = copy.deepcopy(record), {"value": value, "low": low, "high": high}
        found["nulls"] = {"chance": {"test": 0.2}, "features_alone": {"test": 0.5 - value}}
        found["verdict"] |= {"margin": interval, "over": {"features_alone": interval}, "above_chance": seed >= chance,
                             "over_chance": {"value": 0.3, "low": 0.29, "high": 0.31}, "bought": {},
                             "interval": {"of": "people", "tail_of_each_null": 0.025}}  # fmt: skip
        results.append(entry(found, seed, 0.5))
    return row_of_group(results)["verdict"]


def test_a_margin_over_few_seeds_is_no_surer_than_one_of_them_says(with_nulls: dict[str, Any]) -> None:
    agreed = verdicts(with_nulls, (0.05, 0.01, 0.09), (0.05, 0.01, 0.09))
    assert agreed["standing"] == "above"
    assert agreed["margin"] == {"value": pytest.approx(0.05), "low": pytest.approx(0.01), "high": pytest.approx(0.09)}
    apart = verdicts(with_nulls, (0.2, 0.19, 0.21), (-0.1, -0.11, -0.09))
    assert apart["standing"] == "even" and apart["text"].startswith("2 seeds: not measurably above the best null")
    assert "+5.0 (-11.0 to +21.0 over people) points" in apart["text"]  # it was -100 to +100
    three = verdicts(with_nulls, *[(0.05, 0.01, 0.09)] * 3)["text"]
    assert "few seeds (3), so" in three and "over people" not in three
    below = verdicts(with_nulls, (-0.2, -0.21, -0.19), (-0.21, -0.22, -0.2), chance=1)
    assert below["standing"] == "below" and "Not measurably above chance with 1 of 2 seeds." in below["text"]
    assert verdicts(with_nulls, (0.1, 0.0, 0.2), chance=1)["standing"] == "chance"  # one seed: its own verdict
    assert verdicts(with_nulls, *[(-0.1, -0.2, 0.0)] * 3, chance=2)["standing"] == "chance"


def test_a_group_is_compared_with_one_null_model_for_all_seeds(with_nulls: dict[str, Any]) -> None:
    """Two equal null models, each ahead with every second seed: the method is as good, and not below.

    With the best null model of each seed, five seeds agreed that the method is 2 points worse.
    """
    results = []
    for seed in range(6):
        found, ahead = copy.deepcopy(with_nulls), 0.02 * (-1) ** seed
        found["nulls"] = {
            "chance": {"test": 0.2},
            "graph_alone": {"test": 0.6 + ahead},
            "features_alone": {"test": 0.6 - ahead},
        }
        found["verdict"] |= {"margin": {"value": -0.02, "low": -0.03, "high": -0.01}}
        results.append(entry(found, seed, 0.6))
    row = row_of_group(results)
    assert row["verdict"]["standing"] == "even" and row["verdict"]["margin"]["value"] == pytest.approx(0)
    assert "over graph alone" in row["verdict"]["text"] or "over features alone" in row["verdict"]["text"]


def test_without_verdicts_there_is_none(record: dict[str, Any]) -> None:
    assert row_of_group([entry(record, seed, 0.5) for seed in range(2)])["verdict"] is None


def test_words_about_privacy_are_those_of_the_mean_recovery(record: dict[str, Any]) -> None:
    results = []
    for seed, recall in enumerate((0.8, 0.9)):
        record["reconstruction"] = {"edge_precision": 0.9, "edge_recall": recall, "edges": 9.0}
        results.append(entry(record, seed, 0.5))
    assert "85.0 % recovered" in row_of_group(results)["in_words"]
