"""GRR-FS by exhaustive enumeration: what it really guarantees, and the printed formulas that fail."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRRFS
from ldpsim.devices.mechanisms.exact_loss import probability_threshold


def mechanism_of(domains: tuple[int, ...], m: int, epsilon: float = 1.0) -> GRRFS:
    columns = sum(1 if g == 2 else g for g in domains)
    lies = tuple(probability_threshold(epsilon, g - 1) for g in sorted(set(domains)))
    return GRRFS(lies, domains, m, columns)


def vectors(domains: tuple[int, ...]) -> list[np.ndarray]:
    return [np.array(v, np.int64) for v in itertools.product(*map(range, domains))]


def table(mechanism: GRRFS) -> np.ndarray:
    """ln Pr[report | value], one row a value."""
    every = vectors(mechanism.domains)
    return np.array([[mechanism.log_probability(y, x) for y in every] for x in every])


def worst(logs: np.ndarray, domains: tuple[int, ...], changed: set[int] | int) -> float:
    """Largest log ratio over pairs of values that differ in exactly these features (or in so many)."""
    every = vectors(domains)
    pairs = [
        (i, j)
        for (i, x), (j, y) in itertools.permutations(enumerate(every), 2)
        if (where := set(np.flatnonzero(x != y).tolist())) == changed or len(where) == changed
    ]
    return max(float((logs[i] - logs[j]).max()) for i, j in pairs)


CASES = [((2,), 1), ((2, 2), 1), ((2, 2, 2), 2), ((2, 2, 2, 2), 2), ((2, 2, 2, 2), 3), ((3, 3, 3), 2), ((2, 3, 5), 1),
         ((2, 3, 5), 2), ((2, 3, 5), 3), ((4, 2, 2), 2)]  # fmt: skip


@pytest.mark.parametrize(("domains", "m"), CASES)
@pytest.mark.parametrize("epsilon", [0.4, 1.0, 3.0])
def test_losses_by_enumeration(domains: tuple[int, ...], m: int, epsilon: float) -> None:
    mechanism = mechanism_of(domains, m, epsilon)
    logs = table(mechanism)
    assert np.exp(logs).sum(axis=1) == pytest.approx(1, abs=1e-12)
    d = len(domains)
    for k in range(1, d + 1):
        assert mechanism.loss_of(k) == pytest.approx(worst(logs, domains, k), abs=3e-9)
        for changed in itertools.combinations(range(d), k):
            sizes = [domains[i] for i in changed]
            assert mechanism.loss_of_domains(sizes) == pytest.approx(worst(logs, domains, set(changed)), abs=3e-9)
    loss = mechanism.loss()
    assert loss.vector == pytest.approx(m * epsilon, abs=1e-8) and loss.vector >= worst(logs, domains, d) - 1e-12
    assert loss.bit == mechanism.loss_of(1)


def equal(d: int, m: int, epsilon: float, g: int = 2) -> GRRFS:
    return mechanism_of((g,) * d, m, epsilon)


@pytest.mark.parametrize(
    ("d", "m", "epsilon", "vector", "claim", "one"),
    [
        (3, 2, 1.0, 2.0, 1.660011387, 0.763382515),
        (4, 2, 1.0, 2.0, 1.433780830, 0.620114507),
        (4, 3, 1.0, 3.0, 2.728777413, 0.827988939),
        (53, 10, 1.0, 10.0, 8.332488380, 0.280811614),
        (53, 10, 0.1, 1.0, 0.280811614, 0.019649252),
        (53, 10, 0.01, 0.1, 0.019649252, 0.001894462),
    ],
)
def test_the_numbers_of_the_reference(d: int, m: int, epsilon: float, vector: float, claim: float, one: float) -> None:
    for g in (2, 5):  # none of them depends on the domain
        mechanism = equal(d, m, epsilon, g)
        assert mechanism.loss().vector == pytest.approx(vector, abs=2e-9)
        assert mechanism.claimed_loss() == pytest.approx(claim, abs=2e-9)
        assert mechanism.loss().bit == pytest.approx(one, abs=2e-9)
        assert mechanism.loss().bit == pytest.approx(math.log(1 + m / d * (math.exp(epsilon) - 1)), abs=2e-9)


def record(columns: list[int], values: list[float] | None = None) -> Record:
    given = np.ones(len(columns)) if values is None else np.array(values)
    return Record(np.array(columns, np.int32), given.astype(np.float32), np.zeros(0, np.int32), 0)


def test_columns_in_blocks_are_joined_by_or() -> None:
    facts = PublicFacts(9, 11, 2)
    mechanism = GRRFS.from_epsilon(1.0, facts=facts, m=2, block=4)
    assert mechanism.domains == (2, 2, 2) and mechanism.agrees_with(facts)
    for columns, expected in (([], [0, 0, 0]), ([0, 3], [1, 0, 0]), ([4], [0, 1, 0]), ([7, 8, 10], [0, 1, 1])):
        assert mechanism.value_of(record(columns), device=0).tolist() == expected
    assert mechanism.value_of(record([1, 5], [0.0, 0.3]), device=0).tolist() == [0, 1, 0]
    # a column changes one block at most, so the loss of a column is that of a block
    for column in range(11):
        with_, without = (mechanism.value_of(record(c), device=0) for c in ([column], []))
        assert np.count_nonzero(with_ != without) == 1
    for data, grouped in (((2708, 1433), (25, 58)), ((3327, 3703), (70, 53))):
        facts = PublicFacts(data[0], data[1], 7)
        assert GRRFS.from_epsilon(1.0, facts=facts, m=10, block=grouped[0]).d == grouped[1]


def test_categories_are_read_from_their_columns() -> None:
    facts = PublicFacts(9, 1 + 3 + 1 + 4, 2, domains=(2, 3, 2, 4))
    mechanism = GRRFS.from_epsilon(1.0, facts=facts)
    assert mechanism.agrees_with(facts) and mechanism.m == 4
    assert mechanism.value_of(record([0, 2, 8]), device=0).tolist() == [1, 1, 0, 3]
    assert mechanism.value_of(record([1, 4, 5]), device=0).tolist() == [0, 0, 1, 0]
    assert mechanism.value_of(record([]), device=0).tolist() == [0, 0, 0, 0]
    assert mechanism.value_of(record([2, 3, 6, 7]), device=0).tolist() == [0, 1, 0, 1]  # of several the first
    assert not mechanism.agrees_with(PublicFacts(9, 9, 2)) and not mechanism.agrees_with(
        PublicFacts(9, 9, 2, domains=(3, 2, 2, 4))
    )
