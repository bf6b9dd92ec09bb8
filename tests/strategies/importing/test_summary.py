"""Counts of an import, and the preview of what is public."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.npz_file import population_of
from ldpsim.strategies.importing.summary import edge_counts, next_command, summarize

GIVEN = np.array([[0, 1, 1, 2, 0, 3], [1, 0, 2, 2, 1, 1]])


def _population(**more: Any) -> Population:
    x = np.array([[0, 1.0], [0.5, 0], [0, 0], [1, 1], [0, 0]])
    labels = np.array([0, 0, -1, 1, 0])
    return population_of("g", "g.csv", {"edge_index": GIVEN, "x": x, "labels": labels, **more})


def _summary(population: Population, **more: Any) -> dict[str, Any]:
    options = {"directed": None, "found_masks": [], "range_from": "default", "classes_from": "labels", **more}
    return summarize(population, GIVEN, **options)


def test_every_edge_given_is_accounted_for() -> None:
    counts = edge_counts(GIVEN, 3, 5)
    assert counts == {
        "given": 6, "kept": 3, "self_loops_dropped": 1, "repeats_dropped": 1, "pairs_in_both_directions": 1,
        "pairs_in_one_direction": 2,
    }  # fmt: skip
    used = 2 * counts["pairs_in_both_directions"] + counts["pairs_in_one_direction"]
    assert counts["given"] == used + counts["self_loops_dropped"] + counts["repeats_dropped"]


def test_homophily_is_of_labelled_people() -> None:
    population = _population()
    assert _summary(population)["homophily"] == population.homophily == 0.5  # 0-1, not 1-3; person 2 has no label
    assert _summary(_population(labels=np.full(5, -1)))["homophily"] is None


def test_counts() -> None:
    found = _summary(_population())
    people = {
        key: found[key] for key in ("people", "isolated", "classes", "largest_class", "without_label", "features")
    }
    assert people == {
        "people": 5, "isolated": 1, "classes": 2, "largest_class": 3, "without_label": 1, "features": 2
    }  # fmt: skip
    assert found["feature_rate"] == 0.4 and found["feature_values"] == {"low": 0.0, "high": 1.0}
    assert found["masks"] == {"found": [], "kept": False}


def test_the_preview_has_the_public_facts_and_no_count_of_private_data() -> None:
    split = {"train": [0], "val": [1], "test": [3]}
    names = {"class_names": ["a", "b"], "feature_range": [-1.0, 2.0]}
    found = _summary(_population(**split, **names), range_from="stated", classes_from="stated")
    assert found["public"] == {
        "people": 5, "features": 2, "feature_range": [-1.0, 2.0], "feature_range_from": "stated", "classes": 2,
        "classes_from": "stated", "class_names": ["a", "b"], "split": {"train": 1, "val": 1, "test": 1},
    }  # fmt: skip
    assert _summary(_population())["public"]["split"] is None


def test_no_features_and_no_labels() -> None:
    found = _summary(_population(x=np.zeros((5, 0)), labels=np.full(5, -1)))
    assert (found["feature_rate"], found["feature_values"], found["largest_class"]) == (None, None, 0)


SPLIT = {"train": [0], "val": [1], "test": [3]}


@pytest.mark.parametrize(
    ("out", "changes", "command"),
    [
        (Path("a b.npz"), SPLIT, "ldpsim run --dataset 'a b.npz' --split file"),
        (Path("g.npz"), {}, "ldpsim run --dataset g.npz"),
        (Path("g.npz"), {"x": np.zeros((5, 0))}, "ldpsim run --dataset g.npz --method blink"),
        (None, SPLIT, None),
        (Path("g.npz"), {"labels": np.full(5, -1)}, None),
    ],
)
def test_next_command(out: Path | None, changes: dict[str, Any], command: str | None) -> None:
    assert next_command(out, _population(**changes)) == command
