"""Populations and records of several people: what is checked, what is cleaned, what comes back from disk."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population, WrongFeature, build_population, records_of
from ldpsim.devices.data.records import Record, records_by_column


def _build(**changes: Any) -> Population:
    values: dict[str, Any] = {
        "n": 4,
        "d": 3,
        "edges": np.array([[0, 1, 1, 2, 2, 0], [1, 0, 2, 2, 1, 1]]),
        "feature_indptr": np.array([0, 2, 2, 3, 4]),
        "feature_indices": np.array([2, 0, 1, 1]),
        "feature_values": np.array([0.25, 1.0, 0.0, 0.5]),
        "labels": np.array([0, 0, 1, -1]),
        "classes": 2,
        **changes,
    }
    return build_population("tiny", **values)


def test_edges_are_undirected_once_and_without_loops() -> None:
    population = _build()
    np.testing.assert_array_equal(population.edges, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(population.degrees, [1, 2, 1, 0])
    np.testing.assert_array_equal(population.neighbour_indices, [1, 0, 2, 1])
    assert population.homophily == 0.5
    assert np.isnan(_build(edges=np.zeros((2, 0), np.int64)).homophily)


def test_records() -> None:
    population = _build()
    first, third, last = population.record(0), population.record(2), population.record(3)
    np.testing.assert_array_equal(first.feature_indices, [0, 2])
    np.testing.assert_array_equal(first.feature_values, [1.0, 0.25])
    assert len(third.feature_indices) == 0, "a stored zero is not a feature"
    np.testing.assert_array_equal(population.record(1).neighbours, [0, 2])
    assert (first.label, last.label, len(last.neighbours)) == (0, -1, 0)
    assert population.neighbour_indices.dtype == population.feature_indices.dtype == np.int32
    assert population.feature_values.dtype == np.float32


@pytest.mark.parametrize(("changes", "message"), [
    ({"feature_values": np.array([0.25, np.nan, 0, 0])}, "tiny: row 0, column 0: feature that is not a finite"),
    ({"feature_values": np.array([0.25, 1, 0, -np.inf])}, "row 3, column 1: feature that is not a finite"),
    ({"feature_values": np.array([0.25, 1, 0, 1.5])}, r"row 3, column 1: feature outside \[0, 1\]"),
    ({"feature_values": np.array([0.25, 1, -1, 0])}, r"row 2, column 1: feature outside \[0, 1\]"),
    ({"feature_values": np.ones(3)}, "4 feature positions but 3 values"),
    ({"feature_indices": np.array([2, 0, 3, 1])}, r"row 2, column 3: feature column outside 0\.\.2"),
    ({"feature_indices": np.array([2, 2, 1, 1])}, "row 0, column 2: feature given twice"),
    ({"feature_indptr": np.array([0, 2, 2, 4])}, "the feature rows do not describe 4 people"),
    ({"feature_indptr": np.array([0, 2, 1, 3, 4])}, "the feature rows do not describe 4 people"),
    ({"edges": np.array([[0, 1], [1, 4]])}, r"edge 1 joins 1 and 4, but nodes are 0\.\.3"),
    ({"edges": np.array([[-1], [1]])}, "edge 0 joins -1 and 1"),
    ({"labels": np.array([0, 1, 2, 0])}, r"node 2 has label 2, but classes are 0\.\.1"),
    ({"labels": np.array([0, 1, -2, 0])}, "node 2 has label -2"),
    ({"labels": np.array([0, 1])}, "labels for 4 people"),
    ({"feature_range": (1.0, 1.0)}, "range .* is empty"),
    (
        {"feature_range": (0.25, 1.0), "feature_values": np.full(4, 0.5)},
        r"row 0, column 1: feature 0 outside \[0.25, 1\]",
    ),
    (
        {"feature_range": (0.25, 1.0), "feature_values": np.full(4, 0.5), "feature_indices": np.array([1, 0, 1, 1])},
        r"row 0, column 2: feature 0 outside \[0.25, 1\]",
    ),
    ({"class_names": ("a",)}, "1 class names for 2 classes"),
])  # fmt: skip
def test_bad_input_names_the_first_offender(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        _build(**changes)
    assert "\n" not in str(caught.value)


def test_the_first_feature_that_is_not_stored_is_found_without_a_list_of_all() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(WrongFeature, match="row 0, column 1: feature 0 outside"):
            _build(d=10**7, feature_range=(0.25, 1.0), feature_values=np.full(4, 0.5))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_comes_back_from_disk_memory_mapped(tmp_path: Path) -> None:
    population = _build(class_names=("a", "b"))
    population.save(tmp_path / "p")
    loaded = Population.load(tmp_path / "p")
    assert isinstance(loaded.labels.base, np.memmap)
    assert loaded.facts == population.facts
    assert loaded.digest == population.digest
    assert Population(**_fields(loaded)).digest == population.digest, "computed anew from the mapped arrays"
    with pytest.raises((ValueError, OSError)):
        loaded.labels[0] = 1


def _fields(population: Population) -> dict[str, Any]:
    return {name: getattr(population, name) for name in population.__dataclass_fields__}


def test_digest_covers_every_array_and_the_facts() -> None:
    digests = {
        _build().digest,
        _build(edges=np.array([[0], [1]])).digest,
        _build(labels=np.array([0, 0, 1, 1])).digest,
        _build(feature_values=np.array([0.5, 1.0, 0.0, 0.5])).digest,
        _build(feature_indices=np.array([2, 1, 1, 1])).digest,
        _build(classes=3).digest,
        _build(feature_range=(0.0, 2.0)).digest,
    }
    assert len(digests) == 7


DAMAGE: list[tuple[str, Any]] = [
    ("labels", np.zeros(5, np.int64)), ("labels", np.zeros(4, np.int32)), ("feature_indptr", np.zeros(4, np.int64)),
    ("feature_indices", np.zeros(2, np.int32)), ("feature_values", np.zeros(2, np.float32)),
    ("feature_values", np.zeros((4, 1), np.float32)), ("neighbour_indices", np.zeros((1, 1), np.int32)),
    ("neighbour_indptr", np.arange(5, dtype=np.int64) + 10**12),
]  # fmt: skip


@pytest.mark.parametrize(("name", "array"), DAMAGE)
def test_arrays_that_do_not_fit_are_not_served(tmp_path: Path, name: str, array: Any) -> None:
    _build().save(tmp_path)
    Population.load(tmp_path)
    np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(ValueError, match="its arrays do not fit its facts"):
        Population.load(tmp_path)


WHO = [range(12), [0], [4, 5, 6], [0, 3, 4, 11], [11, 2, 2], []]


def equal(found: Sequence[Record], wanted: Sequence[Record]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        for name in ("feature_indices", "feature_values", "neighbours"):
            first, second = getattr(one, name), getattr(other, name)
            assert first.dtype == second.dtype and np.array_equal(first, second)
        assert one.label == other.label and type(one.label) is int


@pytest.mark.parametrize("who", WHO, ids=str)
def test_records_of_any_people(population: Population, who: Sequence[int]) -> None:
    wanted = [population.record(person) for person in who]
    found = records_of(population, who)
    for records in (found, records_by_column(wanted)):
        equal(list(records), wanted)
        equal(records[1:3], wanted[1:3])
        equal(records[2:1], [])
        assert records.feature_counts.tolist() == [len(record.feature_indices) for record in wanted]
        assert records.neighbour_counts.tolist() == [len(record.neighbours) for record in wanted]
    assert records_by_column(found) is found


def test_records_are_cut_into_runs_alone(population: Population) -> None:
    records = records_of(population, range(5))
    with pytest.raises(IndexError):
        records[5]
    with pytest.raises(ValueError, match="runs"):
        records[::2]
    assert records[-1].label == records[4].label


@pytest.mark.parametrize("change", [lambda p: p[::-1], lambda p: p + 10_000, lambda p: p - 5])
def test_rows_that_overlap_or_run_out_of_the_array_are_refused(
    population: Population, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    damaged = replace(population, neighbour_indptr=np.ascontiguousarray(change(population.neighbour_indptr)))
    with pytest.raises(ValueError, match="overlap"):
        records_of(damaged, range(12))
