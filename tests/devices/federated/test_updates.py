"""Weights kept as what changed are those of whole rows."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.federated.updates import Updates
from ldpsim.devices.network import LARGEST, FloatArray

D, HIDDEN, REST = 9, 3, 5


def updates_of(counts: list[int], seed: int, base: FloatArray | None = None) -> Updates:
    """Return updates of parties that changed so many rows each."""
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(1).normal(size=(D, HIDDEN)) if base is None else base
    columns = np.concatenate([rng.choice(D, count, replace=False) for count in counts]).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Updates(base, starts, columns, rng.normal(size=(len(columns), HIDDEN)), rng.normal(size=(len(counts), REST)))


def rows_of(updates: Updates) -> FloatArray:
    """Return the whole rows, by a loop over what changed."""
    rows = []
    for place in range(len(updates)):
        w1 = updates.base.copy()
        for at in range(updates.starts[place], updates.starts[place + 1]):
            w1[updates.columns[at]] = updates.entries[at]
        rows.append(np.concatenate([w1.ravel(), updates.rest[place]]))
    return np.array(rows)


@pytest.mark.parametrize("counts", [[2, 0, 4, 1], [0, 0], [9]])
@pytest.mark.parametrize("whole", [False, True])
def test_sums_distances_and_scaled_weights_are_those_of_the_rows(counts: list[int], whole: bool) -> None:
    few = updates_of(counts, 2)
    rows, rng = rows_of(few), np.random.default_rng(3)
    updates = Updates.whole(rows) if whole else few
    assert np.array_equal(list(updates), rows) and (len(updates), updates.size) == rows.shape
    factors, people = rng.normal(size=len(rows)), rng.integers(1, 5, len(rows))
    assert np.abs(updates.weighted(factors) - factors @ rows).max() < 1e-12
    assert np.abs(updates.mean(people) - people @ rows / people.sum()).max() < 1e-12
    for at in (np.concatenate([few.base.ravel(), rng.normal(size=REST)]), rng.normal(size=updates.size)):
        assert np.abs(updates.distances(at) - np.linalg.norm(rows - at, axis=1)).max() < 1e-12
        moved = at + factors[:, None] * (rows - at)
        assert np.abs(np.array(list(updates.moved(at, factors))) - moved).max() < 1e-12


def test_whole_rows_are_summed_as_flower_sums_them() -> None:
    """The noise of a round is bound to every bit of the weights that it starts from."""
    rows = np.random.default_rng(0).normal(size=(700, 40)).astype(np.float32)
    total = rows[0] * (1 / 700)
    for row in rows[1:]:
        total += row * (1 / 700)
    assert np.array_equal(Updates.whole(rows).mean(np.ones(700, np.int64)), total)


def test_parties_are_joined_in_their_order() -> None:
    first, second, other = updates_of([2, 1], 2), updates_of([0, 3], 3), updates_of([1], 4, np.zeros((D, HIDDEN)))
    for parts in ([first, second], [first, other], [first]):
        joined = Updates.joined(parts)
        assert np.array_equal(list(joined), np.concatenate([rows_of(part) for part in parts]))
    assert Updates.joined([first, second]).base.size and not Updates.joined([first, other]).base.size


def test_numbers_that_are_too_large_are_those_of_a_message() -> None:
    updates = updates_of([2], 5)
    updates.entries[1, 1], updates.rest[0, 2] = np.nan, np.inf
    row = updates.usable().row(0)
    assert np.count_nonzero(row == 0) == 1 and np.count_nonzero(row == LARGEST) == 1 and np.isfinite(row).all()
