"""Every mechanism against its own law by enumeration: draws, losses, estimates, variances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

from ldpsim.devices import mechanisms
from ldpsim.devices.mechanisms import (
    GRR,
    GRRFS,
    Laplace,
    MultiBit,
    NeighbourhoodVote,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    Window,
)
from ldpsim.devices.mechanisms.exact_loss import probability_threshold
from ldpsim.devices.noise import Noise
from tests.devices.mechanisms.one import drawn


class Case(NamedTuple):
    """A mechanism with all its values (some, of real ones) and all its reports."""

    mechanism: Any
    values: list[Any]
    reports: list[Any]
    epsilon: float  # loss of one entry
    most: int  # entries that can lose it together
    device: int = 0
    rest: float = 1e-12  # probability of the reports that are not listed


def rows(*axes: Iterable[Any]) -> list[np.ndarray]:
    return [np.array(row) for row in itertools.product(*axes)]


def one_bit(epsilon: float, low: float, high: float) -> Case:
    made = OneBit.from_epsilon(epsilon, d=2, low=low, high=high)
    return Case(made, rows(*[np.linspace(low, high, 3)] * 2), rows(*[(False, True)] * 2), epsilon, 2)


def multi_bit(epsilon: float, d: int, m: int) -> Case:
    made = MultiBit.from_epsilon(epsilon, d=d, m=m, low=-1.0, high=2.0)
    reports = [report.astype(np.int8) for report in rows(*[(-1, 0, 1)] * d) if np.count_nonzero(report) == m]
    return Case(made, rows(*[(-1.0, 0.5, 2.0)] * d), reports, epsilon / m, m)


def window(kind: str, d: int, m: int, outputs: int) -> Case:
    made = Window.from_epsilon(2.0 * m, d=d, m=m, kind=kind, low=-1.0, high=2.0, outputs=outputs)
    reports = [report for report in rows(*[range(outputs + 1)] * d) if np.count_nonzero(report) == m]
    return Case(made, rows(*[(-1.0, -1.0 + made.step, 2.0)] * d), reports, 2.0, m)


def categories(epsilon: float, domains: tuple[int, ...], m: int) -> Case:
    lies = tuple(probability_threshold(epsilon, g - 1) for g in sorted(set(domains)))
    made = GRRFS(lies, domains, m, sum(1 if g == 2 else g for g in domains))
    return Case(made, rows(*map(range, domains)), rows(*map(range, domains)), epsilon, m)


def label(epsilon: float, k: int) -> Case:
    return Case(GRR.from_epsilon(epsilon, categories=k), list(range(k)), list(range(k)), epsilon, 1)


def response(epsilon: float, reporting: Any, device: int) -> Case:
    made = RandomizedResponse.from_epsilon(epsilon, n=5, reporting=reporting)
    bits = [row.astype(np.bool_) for row in rows(*[(False, True)] * made.targets(device))]
    return Case(made, bits, bits, epsilon, made.targets(device), device)


def vote(epsilon: float, **more: Any) -> Case:
    made = NeighbourhoodVote.from_probabilities(np.eye(4), epsilon, homophily=0.7, **more)
    return Case(made, list(range(made.choices)), list(range(made.choices)), epsilon, 1)


WIDE = rows(*[range(-40, 44)] * 2)
CASES = [
    *(one_bit(e, *ends) for e in (0.5, 4.0) for ends in ((0.0, 1.0), (-1.0, 1.0), (2.0, 5.0))),
    *(multi_bit(e, *size) for e in (0.5, 3.0) for size in ((1, 1), (3, 1), (3, 2), (3, 3), (4, 2))),
    *(window(kind, *size) for kind in ("pm", "sw") for size in ((1, 1, 8), (3, 1, 8), (2, 2, 6))),
    *(categories(e, *of) for e in (0.4, 3.0) for of in (((2,), 1), ((2, 2, 2), 2), ((2, 3, 5), 2), ((4, 2, 2), 3))),
    *(label(e, k) for e in (0.5, 4.0) for k in (2, 4, 7)),
    *(response(e, end, device) for e in (0.3, 2.7) for end in ("both", "one-end") for device in (0, 1, 4)),
    *(vote(e, **more) for e in (0.01, 20.0) for more in ({}, {"candidates": 2, "unseen": True})),
    Case(NoisyRow.from_epsilon(1.0, n=3, grid=2), rows(*[(0, 2)] * 2), WIDE, 1.0, 2, rest=1e-4),
    Case(Laplace.from_epsilon(1.5, d=2, low=-1.0, high=1.0, grid=3), rows(*[(-1.0, -1 / 3, 1.0)] * 2), WIDE, 0.75, 2,
         rest=1e-4),
]  # fmt: skip
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.mechanism.name)


def stated(case: Case) -> np.ndarray:
    """ln Pr[report | value], a row a value."""
    return np.array([[case.mechanism.log_probability(r, v) for r in case.reports] for v in case.values])


def changed(one: Any, other: Any) -> int:
    return int(np.count_nonzero(np.atleast_1d(one) != np.atleast_1d(other)))


def truth(case: Case, value: Any) -> np.ndarray:
    """Return what an estimate is an estimate of."""
    if isinstance(case.mechanism, GRRFS):
        return np.eye(max(case.mechanism.domains))[value]
    if np.ndim(value) == 0:
        return np.eye(len(case.values))[value]
    return value / (case.mechanism.grid if isinstance(case.mechanism, NoisyRow) else 1)


@each
def test_the_code_draws_by_the_stated_law(case: Case, law: Any) -> None:
    """All draws of the discrete ones; tests of inversion cover the others."""
    if case.rest > 1e-9:
        pytest.skip("drawn by inversion")
    kind = np.asarray(drawn(case.mechanism, case.values[0], Noise([bytes(32)]))).dtype
    for value, chances in list(zip(case.values, np.exp(stated(case)), strict=True))[:: 1 + len(case.values) // 10]:
        found, lost = law(lambda noise, value=value: np.asarray(drawn(case.mechanism, value, noise)))
        wanted = {np.asarray(report).astype(kind).tobytes(): c for report, c in zip(case.reports, chances, strict=True)}
        assert lost == 0 and found == pytest.approx(wanted, abs=1e-12)


@each
def test_the_loss_is_the_largest_ratio_whatever_changes(case: Case) -> None:
    logs, device = stated(case), case.device
    assert np.exp(logs).sum(axis=1) == pytest.approx(1, abs=case.rest)
    worst: dict[int, float] = {}
    for (v, one), (w, other) in itertools.permutations(zip(case.values, logs, strict=True), 2):
        k = changed(v, w)
        worst[k] = max(worst.get(k, 0.0), float((one - other).max()))
    for k, ratio in worst.items():
        assert case.mechanism.loss_of(k, device=device) == pytest.approx(ratio, abs=4e-9)
        if not isinstance(case.mechanism, GRRFS):
            assert ratio == pytest.approx(min(k, case.most) * case.epsilon, abs=4e-9)
    loss = case.mechanism.loss(device=device)
    assert loss.bit == pytest.approx(worst.get(1, 0.0), abs=4e-9) and loss.delta == 0
    assert loss.vector >= max(worst.values(), default=0.0) - 1e-12
    assert loss.vector == pytest.approx(case.most * case.epsilon, abs=1e-8)
    assert loss.vector <= case.mechanism.loss().vector


@each
def test_estimates_are_unbiased_with_the_stated_variance(case: Case) -> None:
    estimates = np.array([case.mechanism.estimate(report) for report in case.reports], np.float64)
    for value, chances in zip(case.values, np.exp(stated(case)), strict=True):
        mean, near = np.tensordot(chances, estimates, 1), 1e-8 + 1e3 * (case.rest > 1e-9) * case.rest
        assert mean == pytest.approx(truth(case, value), abs=near)
        if case.rest < 1e-9 and hasattr(case.mechanism, "variance"):
            spread = np.tensordot(chances, (estimates - mean) ** 2, 1)
            assert case.mechanism.variance(value) == pytest.approx(spread, rel=1e-9, abs=1e-9)


def test_each_mechanism_has_a_case_or_a_test_of_its_own() -> None:
    own = {
        "degree",
        "group_degrees",
        "analytic_gaussian",
        "clear_adjacency",
        "clear_features",
        "clear_label",
        "sum_share",
    }
    assert {case.mechanism.name for case in CASES} | own == set(mechanisms.BUILT_IN)


def test_as_much_is_drawn_whatever_the_label_and_the_outcome() -> None:
    class Counting(Noise):
        def bernoulli(self, threshold: Any, size: int) -> np.ndarray:
            sizes.append(size)
            return super().bernoulli(threshold, size)

        def uniform_integers(self, bound: Any, size: int) -> np.ndarray:
            sizes.append(size)
            return super().uniform_integers(bound, size)

    made, counts = GRR.from_epsilon(0.5, categories=7), set()
    for value, seed in itertools.product((*range(7), -1, 7, 10**9), range(20)):
        sizes: list[int] = []
        report = drawn(made, value, Counting([bytes([seed]) * 32]))
        counts.add(tuple(sizes))
        if not 0 <= value < 7:  # a label outside the domain is category 0, silently
            assert np.array_equal(report, drawn(made, 0, Noise([bytes([seed]) * 32])))
            assert made.log_probability(report, value) == made.log_probability(report, 0)
    assert counts == {(1, 1)} and math.isfinite(made.loss().vector)
