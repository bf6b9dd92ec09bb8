"""Losses of released labels and noisy counts, by enumeration and quadrature."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import multinomial

from ldpsim.curator.owner.privacy.account import LabelRelease, account
from ldpsim.curator.owner.privacy.label import (
    amplified,
    label_edge_epsilon,
    label_epsilon,
    label_epsilon_once,
    label_probabilities,
)
from ldpsim.curator.owner.privacy.vector import (
    laplace_epsilon,
    laplace_epsilon_once,
    moments_epsilon,
    poisson_rdp,
    rdp_epsilon,
)


def by_definition(classes: int, lambda_: float) -> tuple[float, float]:
    """A and B by 30-digit quadrature of their definitions, on the whole line."""
    with mpmath.workdps(30):
        rate = mpmath.mpf(lambda_)

        def density(x: mpmath.mpf) -> mpmath.mpf:
            return rate / 2 * mpmath.exp(-rate * abs(x))

        def below(x: mpmath.mpf) -> mpmath.mpf:
            tail = mpmath.exp(-rate * abs(x)) / 2
            return 1 - tail if x > 0 else tail

        far = (80 + mpmath.log(classes)) / rate
        nodes = [-far, -far / 9, -1 / rate, 0, 1, 1 + 1 / rate, far / 9, far / 3, far]
        nodes = sorted(set(nodes))
        right = mpmath.quad(lambda x: density(x - 1) * below(x) ** (classes - 1), nodes)
        wrong = mpmath.quad(lambda x: density(x) * below(x - 1) * below(x) ** (classes - 2), nodes)
        return float(right), float(wrong)


@pytest.mark.parametrize(("classes", "lambda_"), [(2, 0.3), (3, 8.0), (10, 0.1), (10, 1.0), (41, 0.4), (1000, 2.0)])
def test_twelve_digits_by_another_quadrature(classes: int, lambda_: float) -> None:
    assert label_probabilities(classes, lambda_) == pytest.approx(by_definition(classes, lambda_), rel=1e-12)


def root(delta_at: object, delta: float) -> float:
    assert callable(delta_at)
    return 0.0 if delta_at(0.0) <= delta else float(brentq(lambda e: delta_at(e) - delta, 0, 500, xtol=1e-12))


def hockey_stick(law: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(law - math.exp(epsilon) * other, 0).sum())


def worse(one: np.ndarray, other: np.ndarray, delta: float) -> float:
    """Exact epsilon of two laws at a delta, the larger one of both directions."""
    return max(root(partial(hockey_stick, p, q), delta) for p, q in ((one, other), (other, one)))


def laws(classes: int, lambda_: float) -> tuple[np.ndarray, np.ndarray]:
    a, b = label_probabilities(classes, lambda_)
    p, q = np.full(classes, b), np.full(classes, b)
    p[0] = q[1] = a
    return p, q


def sequences(law: np.ndarray, queries: int) -> np.ndarray:
    """Probability of every sequence of labels."""
    out = np.ones(1)
    for _ in range(queries):
        out = np.outer(out, law).ravel()
    return out


@pytest.mark.parametrize("gamma", [0.09, 0.3, 1.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-2])
@pytest.mark.parametrize(("classes", "queries"), [(2, 9), (3, 6), (4, 5)])
def test_fresh_samples_by_enumerating_every_sequence(classes: int, queries: int, delta: float, gamma: float) -> None:
    p, q = laws(classes, 0.9)
    mixed = sequences((1 - gamma) * q + gamma * p, queries)
    exact = worse(mixed, sequences(q, queries), delta)
    found = label_epsilon(queries=queries, classes=classes, lambda_=0.9, delta=delta, gamma=gamma)
    assert found == pytest.approx(exact, abs=1e-8)
    off_by_one = label_epsilon(queries=queries - 1, classes=classes, lambda_=0.9, delta=delta, gamma=gamma)
    assert abs(off_by_one - exact) > 1e-3  # power: a query forgotten is seen


@pytest.mark.parametrize("gamma", [0.09, 0.3, 1.0])
@pytest.mark.parametrize(("classes", "queries"), [(2, 9), (3, 6), (4, 5)])
def test_one_sample_by_enumerating_every_sequence(classes: int, queries: int, gamma: float) -> None:
    p, q = laws(classes, 0.9)
    plain = sequences(q, queries)
    mixed = (1 - gamma) * plain + gamma * sequences(p, queries)
    for delta in (1e-4, 1e-2):
        found = label_epsilon_once(queries=queries, classes=classes, lambda_=0.9, delta=delta, gamma=gamma)
        assert found == pytest.approx(worse(mixed, plain, delta), abs=1e-8)


def edge_laws(classes: int, lambda_: float, gamma: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every pair of laws of one query that an edge may give: vertices, with P1 = e_1 and Q1 = e_2."""
    a, b = label_probabilities(classes, lambda_)
    vertices = np.full((classes, classes), b) + (a - b) * np.eye(classes)
    g = gamma**2
    return [((1 - g) * r + g * vertices[0], (1 - g) * r + g * vertices[1]) for r in vertices]


@pytest.mark.parametrize("gamma", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-2])
@pytest.mark.parametrize(("classes", "queries"), [(2, 8), (3, 5), (4, 4)])
def test_an_edge_by_enumerating_every_sequence(classes: int, queries: int, delta: float, gamma: float) -> None:
    """The worst pair of laws loses no more, and with three classes exactly as much."""
    found = label_edge_epsilon(queries=queries, classes=classes, lambda_=0.9, delta=delta, gamma=gamma)
    worst = 0.0
    for one, other in edge_laws(classes, 0.9, gamma):
        first, second = sequences(one, queries), sequences(other, queries)
        worst = max(worst, root(lambda e, p=first, q=second: hockey_stick(p, q, e), delta))  # type: ignore[misc]
    assert worst <= found + 1e-9
    if classes > 2:
        assert found == pytest.approx(worst, abs=1e-8)
    if classes > 2 and gamma < 1 and delta == 1e-2:
        removed = label_epsilon(queries=queries, classes=classes, lambda_=0.9, delta=delta, gamma=gamma**2)
        assert removed < worst - 1e-3  # power: the pair of a removal is seen to be too small


@pytest.mark.parametrize("gamma", [0.3, 0.8])
@pytest.mark.parametrize(("classes", "queries"), [(2, 8), (3, 5)])
def test_an_edge_in_one_sample_by_enumerating_every_sequence(classes: int, queries: int, gamma: float) -> None:
    """One sample for all queries: exact, with two classes as well; the worst R is Q1 or P1."""
    delta = 1e-2
    found = label_epsilon_once(queries=queries, classes=classes, lambda_=0.9, delta=delta, gamma=gamma**2)
    a, b = label_probabilities(classes, 0.9)
    drawn = [sequences(np.where(np.arange(classes) == vertex, a, b), queries) for vertex in range(classes)]
    g, worst = gamma**2, 0.0
    for rest in drawn:
        worst = max(worst, worse((1 - g) * rest + g * drawn[0], (1 - g) * rest + g * drawn[1], delta))
    assert found == pytest.approx(worst, abs=1e-8)


def test_amplification() -> None:
    for epsilon in (0.0, 0.3, 5.0):
        assert amplified(epsilon, 0.3) == pytest.approx(math.log(1 + 0.3 * (math.exp(epsilon) - 1)), abs=1e-15)
    assert amplified(1.7, 1.0) == 1.7
    assert amplified(5000.0, 0.3) == pytest.approx(5000 + math.log(0.3), rel=1e-15)


@pytest.mark.parametrize(("gamma", "lambda_"), [(0.3, 0.4), (1.0, 0.2), (0.09, 1.0)])
def test_the_window_leaves_nothing_out_that_matters(gamma: float, lambda_: float) -> None:
    """Against the whole trinomial law of 60 queries, by scipy's multinomial."""
    queries, classes, delta = 60, 10, 1e-6
    p, q = laws(classes, lambda_)
    counts = [(i, j, queries - i - j) for i in range(queries + 1) for j in range(queries + 1 - i)]

    def collapsed(law: np.ndarray) -> np.ndarray:
        return np.exp(multinomial.logpmf(counts, queries, [law[0], law[1], law[2:].sum()]))

    exact = worse(collapsed((1 - gamma) * q + gamma * p), collapsed(q), delta)
    found = label_epsilon(queries=queries, classes=classes, lambda_=lambda_, delta=delta, gamma=gamma)
    assert found == pytest.approx(exact, abs=1e-8)


def one_query(loss: float, delta: float, gamma: float) -> float:
    """Exact: delta(eps) = 1 - e^((eps - loss) / 2) for Laplace noise, amplified once."""
    unsampled = max(loss + 2 * math.log1p(-delta / gamma), 0)
    return math.log1p(gamma * math.expm1(unsampled))


@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("loss", [0.02, 0.2, 2.0, 20.0])
def test_one_query_in_closed_form(loss: float, gamma: float) -> None:
    exact = one_query(loss, 1e-5, gamma)
    for epsilon in (laplace_epsilon, laplace_epsilon_once):
        found = epsilon(loss=loss, queries=1, delta=1e-5, gamma=gamma)
        assert exact - 1e-9 <= found <= exact + 1e-3


def bracket(loss: float, gamma: float, queries: int, delta: float, width: float = 1e-4) -> tuple[float, float]:
    """Losses rounded down and up to multiples of ``width``: bounds from both sides, by another rounding than ours."""
    from dp_accounting.pld import privacy_loss_distribution

    low, high = (
        privacy_loss_distribution.from_laplace_mechanism(
            1 / loss, sampling_prob=gamma, pessimistic_estimate=up, use_connect_dots=False,
            value_discretization_interval=width,
        ).self_compose(queries).get_epsilon_for_delta(delta)
        for up in (False, True)
    )  # fmt: skip
    return low, high


@pytest.mark.parametrize(("loss", "gamma", "queries", "delta"), [(0.8, 0.3, 500, 1e-4)])
def test_between_an_upper_and_a_lower_bound(loss: float, gamma: float, queries: int, delta: float) -> None:
    low, high = bracket(loss, gamma, queries, delta)
    assert low < laplace_epsilon(loss=loss, queries=queries, delta=delta, gamma=gamma) < high
    assert high - low < 0.12
    assert high < rdp_epsilon(loss=loss, queries=queries, delta=delta, gamma=gamma)


def moment(loss: float, order: int, gamma: float, *, reverse: bool) -> float:
    """Rényi divergence of the sampled Laplace mechanism by quadrature over the output."""

    def densities(x: float) -> tuple[float, float]:
        without, drawn = math.exp(-abs(x)) / 2, math.exp(-abs(x - loss)) / 2
        mixed = (1 - gamma) * without + gamma * drawn
        return (without, mixed) if reverse else (mixed, without)

    def integrand(x: float) -> float:
        p, q = densities(x)
        return q * (p / q) ** order

    total = sum(quad(integrand, *ends, limit=200)[0] for ends in pairwise([-60.0, 0.0, loss, loss + 60.0]))
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("gamma", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("order", [2, 3, 7, 20])
@pytest.mark.parametrize("loss", [0.2, 1.0, 2.0])
def test_the_sum_is_exact_without_the_factor_3(loss: float, order: int, gamma: float) -> None:
    found = poisson_rdp(loss, order, gamma)
    assert found == pytest.approx(moment(loss, order, gamma, reverse=False), rel=1e-8)
    assert moment(loss, order, gamma, reverse=True) <= found * (1 + 1e-9)


@pytest.mark.parametrize("lambda_", [0.1, 0.2, 0.4, 0.8, 1.0])
def test_it_is_a_bound(lambda_: float) -> None:
    """Never below what the privacy loss distribution gives for the same votes."""
    bound = moments_epsilon(lambda_=lambda_, queries=500, delta=4e-4)
    assert bound > laplace_epsilon(loss=2 * lambda_, queries=500, delta=4e-4)


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


@pytest.mark.parametrize("lambda_", [0.4, 1.0])
def test_an_edge_in_2000_drawn_labels(lambda_: float) -> None:
    """An attacker who sees 2,000 labels finds nearly the printed loss and never more; add/remove is caught.

    delta(e) = E[(1 - exp(e - loss))+] over drawn labels, of which the lower limit is Hoeffding's at 1e-6.
    """
    queries, gamma, delta, draws = 2000, 0.3, 0.01, 200_000
    a, b = label_probabilities(10, lambda_)
    random = np.random.default_rng(14)
    both = random.binomial(queries, gamma**2, draws)  # queries that draw both ends: e_1 there, e_3 elsewhere
    seen = random.multinomial(both, [a, b, 1 - a - b])[:, :2]
    seen = seen + random.multinomial(queries - both, [b, b, 1 - 2 * b])[:, :2]
    losses = (seen[:, 0] - seen[:, 1]) * math.log1p(gamma**2 * (a - b) / b)
    slack = math.sqrt(math.log(1e6) / (2 * draws))
    low = root(lambda e: float(np.maximum(-np.expm1(e - losses), 0)[losses > e].sum() / draws) - slack, delta)
    found = label_edge_epsilon(queries=queries, classes=10, lambda_=lambda_, delta=delta, gamma=gamma)
    removed = label_epsilon(queries=queries, classes=10, lambda_=lambda_, delta=delta, gamma=gamma**2)
    assert removed < low <= found


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
    """The laws of one label before and after one vote was moved, for every vote."""
    laws = {c: label_law(c, lambda_) for size in (teachers, teachers - 1) for c in all_counts(size, classes)}
    return [(laws[c], laws[d]) for c in all_counts(teachers, classes) for d in moved(c)]


def test_several_labels_by_enumerating_every_sequence() -> None:
    """The worst vote, six times: below what holds; above what one count that changes by 1 would cost."""
    lambda_, queries, delta = 1.0, 6, 1e-2
    exact = max(worse(sequences(p, queries), sequences(q, queries), delta) for p, q in neighbours(10, 2, lambda_))
    held = account("pate-g", LabelRelease(queries=queries, lambda_=lambda_, delta=delta))
    assert laplace_epsilon(loss=lambda_, queries=queries, delta=delta) < exact <= held.vector


@pytest.mark.parametrize(("queries", "gamma", "lambda_", "before"), [
    (10, 1.0, 0.4, 4.0631379809889605), (1000, 0.3, 0.1, 2.9942398823840577), (1000, 0.3, 0.4, 16.967887458054413),
    (1000, 0.3, 5.0, 1030.4941134385717),
])  # fmt: skip
def test_epsilons_are_those_of_the_root_finder_before(
    queries: int, gamma: float, lambda_: float, before: float
) -> None:
    found = label_epsilon(queries=queries, classes=5, lambda_=lambda_, delta=1e-5, gamma=gamma)
    assert before * (1 - 1e-11) <= found <= before * (1 + 1e-12)
