from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from ldpsim.curator.owner.privacy.account import LabelRelease, account
from ldpsim.curator.owner.privacy.label import laplace_epsilon, moments_epsilon


@pytest.mark.parametrize("lambda_", [0.1, 0.2, 0.4, 0.8, 1.0])
def test_it_is_a_bound(lambda_: float) -> None:
    """Never below what the privacy loss distribution gives for the same votes."""
    bound = moments_epsilon(lambda_=lambda_, queries=500, delta=4e-4)
    assert bound > laplace_epsilon(loss=2 * lambda_, queries=500, delta=4e-4)


def all_counts(teachers: int, classes: int) -> Iterator[tuple[int, ...]]:
    """Every outcome of a vote."""
    for bars in itertools.combinations(range(teachers + classes - 1), classes - 1):
        ends = (-1, *bars, teachers + classes - 1)
        yield tuple(right - left - 1 for left, right in itertools.pairwise(ends))


def moved(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every outcome after one teacher has voted otherwise, or not at all."""
    for loser, winner in itertools.product(range(len(counts)), range(-1, len(counts))):
        if counts[loser] and winner != loser:
            other = list(counts)
            other[loser] -= 1
            if winner >= 0:
                other[winner] += 1
            yield tuple(other)


def label_law(counts: tuple[int, ...], lambda_: float) -> np.ndarray:
    """Pr[label] of noisy counts, by quadrature of the definition."""

    def below(x: float) -> float:
        tail = math.exp(-lambda_ * abs(x)) / 2
        return 1 - tail if x > 0 else tail

    def integrand(x: float, label: int) -> float:
        others = math.prod(below(x - count) for at, count in enumerate(counts) if at != label)
        return lambda_ / 2 * math.exp(-lambda_ * abs(x - counts[label])) * others

    far = 40 / lambda_
    ends = sorted({-far, far + max(counts), *map(float, counts)})
    found = [sum(quad(integrand, *pair, args=(label,))[0] for pair in itertools.pairwise(ends))
             for label in range(len(counts))]  # fmt: skip
    assert sum(found) == pytest.approx(1, abs=1e-7)
    return np.array(found)


def neighbours(teachers: int, classes: int, lambda_: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """The laws of one label before and after one vote was moved, for every vote, in both directions."""
    laws = {c: label_law(c, lambda_) for size in (teachers, teachers - 1) for c in all_counts(size, classes)}
    pairs = [(laws[c], laws[d]) for c in all_counts(teachers, classes) for d in moved(c)]
    return [*pairs, *((second, first) for first, second in pairs)]


@pytest.mark.parametrize(("teachers", "classes"), [(2, 2), (12, 2), (5, 3)])
def test_one_label_by_enumerating_every_vote(teachers: int, classes: int) -> None:
    """A moved vote loses more than lambda, what PrivGnn's tables take for a query, and never more than 2 lambda."""
    lambda_ = 1.5
    loss = max(float(np.log(law / other).max()) for law, other in neighbours(teachers, classes, lambda_))
    assert lambda_ < loss <= 2 * lambda_
    if teachers == 12:
        assert loss > 1.85 * lambda_  # the more teachers, the nearer


def test_several_labels_by_enumerating_every_sequence() -> None:
    """The worst vote, six times: below what holds; above what one count that changes by 1 would cost."""
    lambda_, queries, delta = 1.0, 6, 1e-2

    def epsilon(law: np.ndarray, other: np.ndarray) -> float:
        p, q = np.ones(1), np.ones(1)
        for _ in range(queries):
            p, q = np.outer(p, law).ravel(), np.outer(q, other).ravel()

        def excess(at: float) -> float:
            return float(np.maximum(p - math.exp(at) * q, 0).sum()) - delta

        return 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0, 2 * lambda_ * queries))

    exact = max(epsilon(*pair) for pair in neighbours(10, 2, lambda_))
    held = account("pate-g", LabelRelease(queries=queries, lambda_=lambda_, delta=delta))
    assert laplace_epsilon(loss=lambda_, queries=queries, delta=delta) < exact <= held.vector


@pytest.mark.parametrize("lambda_", [0.1, 0.7, 2.0])
def test_the_noisy_counts_of_one_query_by_quadrature(lambda_: float) -> None:
    """Two counts that move by 1 in opposite directions: the law of the two losses' sum, integrated."""

    def one(epsilon: float) -> float:
        """Hockey-stick divergence of Laplace laws one apart."""
        if epsilon >= lambda_:
            return 0.0
        return 1 - math.exp((epsilon - lambda_) / 2) if epsilon > -lambda_ else 1 - math.exp(epsilon)

    def two(epsilon: float) -> float:
        ends = one(epsilon - lambda_) / 2 + math.exp(-lambda_) * one(epsilon + lambda_) / 2
        kinks = sorted({0.0, 1.0, *(min(max(k, 0.0), 1.0) for k in (1 - epsilon / (2 * lambda_), -epsilon / 2))})
        return ends + sum(
            quad(lambda t: lambda_ / 2 * math.exp(-lambda_ * t) * one(epsilon - lambda_ * (1 - 2 * t)), *pair)[0]
            for pair in itertools.pairwise(kinks)
        )

    for delta in (0.01, 0.05):
        exact = 0.0 if two(0.0) <= delta else float(brentq(lambda e, d=delta: two(e) - d, 0, 2 * lambda_))
        held = account("pate-g", LabelRelease(queries=1, lambda_=lambda_, delta=delta)).vector
        assert exact <= held + 1e-9 and held == pytest.approx(exact, abs=5e-4)
