"""Records by column are the records one by one, in whatever order people are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ldpsim.devices.data.population import Population, Record, records_by_column, records_of

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
