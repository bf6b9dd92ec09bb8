from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import beta, multinomial

from ldpsim.curator.owner.privacy.label import (
    _outcomes,
    amplified,
    label_edge_epsilon,
    label_epsilon,
    label_epsilon_once,
    label_loss,
    label_probabilities,
    sampled_once,
)

# lambda -> (A, eps*) for 10, 40 and 41 classes
KNOWN = {
    0.1: ((0.110484, 0.111420), (0.027629, 0.102700), (0.026955, 0.102633)),
    0.2: ((0.122028, 0.223865), (0.030535, 0.205693), (0.029790, 0.205550)),
    0.4: ((0.148570, 0.451366), (0.037296, 0.412691), (0.036386, 0.412372)),
    0.8: ((0.216386, 0.910369), (0.055638, 0.831923), (0.054281, 0.831114)),
    1.0: ((0.257336, 1.137362), (0.067954, 1.045006), (0.066297, 1.043865)),
}


@pytest.mark.parametrize("lambda_", KNOWN)
def test_known_probabilities_and_losses(lambda_: float) -> None:
    for classes, (right, loss) in zip((10, 40, 41), KNOWN[lambda_], strict=True):
        assert label_probabilities(classes, lambda_)[0] == pytest.approx(right, abs=5.1e-7)
        assert label_loss(classes, lambda_) == pytest.approx(loss, abs=5.1e-7)


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


@pytest.mark.parametrize("lambda_", [1e-6, 0.01, 0.5, 3.0, 30.0, 500.0])
@pytest.mark.parametrize("classes", [2, 3, 10, 1000, 100_000])
def test_all_labels_together_are_certain(classes: int, lambda_: float) -> None:
    right, wrong = label_probabilities(classes, lambda_)
    assert right + (classes - 1) * wrong == pytest.approx(1, abs=2e-15)
    assert right > wrong > 0


def test_two_classes_in_closed_form() -> None:
    for lambda_ in (0.1, 1.0, 7.0):
        wrong = math.exp(-lambda_) * (1 + lambda_ / 2) / 2
        assert label_probabilities(2, lambda_)[1] == pytest.approx(wrong, rel=1e-13)


def test_the_papers_loss_per_query_is_not_the_labels() -> None:
    """1 / beta a query: too little from three classes on at these lambdas, too much for two."""
    assert label_loss(2, 0.4) < 0.4
    assert all(label_loss(classes, lambda_) > lambda_ for classes in (3, 10, 41) for lambda_ in KNOWN)
    worst = max((label_loss(c, x) / x, c, x) for c in (*range(2, 30), 100, 1000) for x in (0.1, 0.2, 0.5, 1, 2, 5, 12))
    assert worst == (pytest.approx(1.17278, abs=5e-6), 5, 0.1)


def test_no_posterior_leaves_the_bounds() -> None:
    """The vertices are the worst: Pr[label 1 | f] lies in [B, A] for posteriors f all over the simplex."""
    random = np.random.default_rng(5)
    lambda_ = 1.5
    right, wrong = label_probabilities(3, lambda_)

    def below(x: float) -> float:
        return 1 - math.exp(-lambda_ * x) / 2 if x > 0 else math.exp(lambda_ * x) / 2

    def integrand(x: float, one: float, two: float, three: float) -> float:
        return lambda_ / 2 * math.exp(-lambda_ * abs(x - one)) * below(x - two) * below(x - three)

    for f in (*random.dirichlet([0.4, 0.4, 0.4], 20), np.array([1.0, 0, 0]), np.array([0, 1.0, 0])):
        pieces = itertools.pairwise([-30.0, *sorted({0.0, *f}), 30.0])
        share = sum(quad(integrand, *ends, args=tuple(f))[0] for ends in pieces)
        assert wrong - 1e-9 <= share <= right + 1e-9


def root(delta_at: object, delta: float) -> float:
    assert callable(delta_at)
    return 0.0 if delta_at(0.0) <= delta else float(brentq(lambda e: delta_at(e) - delta, 0, 500, xtol=1e-12))


def hockey_stick(law: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(law - math.exp(epsilon) * other, 0).sum())


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
    plain = sequences(q, queries)
    exact = max(
        root(lambda e: hockey_stick(mixed, plain, e), delta), root(lambda e: hockey_stick(plain, mixed, e), delta)
    )
    found = label_epsilon(queries=queries, classes=classes, lambda_=0.9, delta=delta, gamma=gamma)
    assert found == pytest.approx(exact, abs=1e-8)
    off_by_one = label_epsilon(queries=queries - 1, classes=classes, lambda_=0.9, delta=delta, gamma=gamma)
    assert abs(off_by_one - exact) > 1e-3  # power: a query forgotten is seen


def test_a_person_who_joins_may_cost_more_than_one_who_leaves() -> None:
    p, q = laws(2, 0.5)
    mixed, plain = sequences(0.9 * q + 0.1 * p, 3), sequences(q, 3)
    leaves, joins = (
        root(lambda e, one=one, other=other: hockey_stick(one, other, e), 0.01)
        for one, other in ((mixed, plain), (plain, mixed))
    )
    assert joins > leaves + 1e-3  # power: the other direction alone is too small
    found = label_epsilon(queries=3, classes=2, lambda_=0.5, delta=0.01, gamma=0.1)
    assert found == pytest.approx(joins, abs=1e-8)


@pytest.mark.parametrize("gamma", [0.09, 0.3, 1.0])
@pytest.mark.parametrize(("classes", "queries"), [(2, 9), (3, 6), (4, 5)])
def test_one_sample_by_enumerating_every_sequence(classes: int, queries: int, gamma: float) -> None:
    p, q = laws(classes, 0.9)
    plain = sequences(q, queries)
    mixed = (1 - gamma) * plain + gamma * sequences(p, queries)
    for delta in (1e-4, 1e-2):
        exact = max(
            root(lambda e: hockey_stick(mixed, plain, e), delta), root(lambda e: hockey_stick(plain, mixed, e), delta)
        )
        found = label_epsilon_once(queries=queries, classes=classes, lambda_=0.9, delta=delta, gamma=gamma)
        assert found == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize(("gamma", "lambda_"), [(0.3, 0.4), (1.0, 0.2), (0.09, 1.0)])
def test_the_window_leaves_nothing_out_that_matters(gamma: float, lambda_: float) -> None:
    """Against the whole trinomial law of 60 queries, by scipy's multinomial."""
    queries, classes, delta = 60, 10, 1e-6
    p, q = laws(classes, lambda_)
    counts = [(i, j, queries - i - j) for i in range(queries + 1) for j in range(queries + 1 - i)]

    def collapsed(law: np.ndarray) -> np.ndarray:
        return np.exp(multinomial.logpmf(counts, queries, [law[0], law[1], law[2:].sum()]))

    mixed, plain = collapsed((1 - gamma) * q + gamma * p), collapsed(q)
    exact = max(
        root(lambda e: hockey_stick(mixed, plain, e), delta), root(lambda e: hockey_stick(plain, mixed, e), delta)
    )
    found = label_epsilon(queries=queries, classes=classes, lambda_=lambda_, delta=delta, gamma=gamma)
    assert found == pytest.approx(exact, abs=1e-8)


def test_between_a_discretised_upper_and_lower_bound() -> None:
    """500 queries by dp-accounting, losses rounded up and rounded down to multiples of 5e-5."""
    from dp_accounting.pld import privacy_loss_distribution

    gamma, (a, b) = 0.3, label_probabilities(10, 0.4)
    mixed = np.log([b + gamma * (a - b), a - gamma * (a - b), 8 * b])
    plain = np.log([b, a, 8 * b])
    bounds = [
        privacy_loss_distribution.from_two_probability_mass_functions(
            dict(enumerate(plain)), dict(enumerate(mixed)), pessimistic_estimate=up,
            value_discretization_interval=5e-5, symmetric=False,
        ).self_compose(500)
        for up in (False, True)
    ]  # fmt: skip
    for delta in (1e-3, 1e-6, 1e-9):
        found = label_epsilon(queries=500, classes=10, lambda_=0.4, delta=delta, gamma=gamma)
        low, high = (bound.get_epsilon_for_delta(delta) for bound in bounds)
        assert low < found < high
        assert high - low < 0.008


def test_one_edge() -> None:
    """Both its ends are drawn with probability gamma^2; add/remove with gamma^2 would claim too little."""
    found = [label_edge_epsilon(queries=1000, classes=10, lambda_=x, delta=1e-4, gamma=0.3) for x in KNOWN]
    assert found == pytest.approx([0.431475, 1.000019, 2.494981, 7.302761, 10.896741], abs=5.1e-7)
    removed = [label_epsilon(queries=1000, classes=10, lambda_=x, delta=1e-4, gamma=0.3**2) for x in KNOWN]
    assert [low / high for low, high in zip(removed, found, strict=True)] == pytest.approx(
        [0.976, 0.954, 0.914, 0.848, 0.822], abs=5e-4
    )


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
        first, second = (1 - g) * rest + g * drawn[0], (1 - g) * rest + g * drawn[1]
        for one, other in ((first, second), (second, first)):
            worst = max(worst, root(lambda e, p=one, q=other: hockey_stick(p, q, e), delta))  # type: ignore[misc]
    assert found == pytest.approx(worst, abs=1e-8)


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


def test_an_outcome_at_the_bound_of_the_rare_ones_counts_once() -> None:
    """It counts as lost, so it is not among the outcomes as well. The bound is an eighth of what may be left out."""
    forgotten = 2.0**-37
    for chance, found in ((forgotten / 8, []), (forgotten / 4, [1.0])):
        losses, masses = _outcomes(1, (chance, 0.25, 0.75 - chance), (1.0, -1.0), forgotten)
        assert losses.tolist() == found and len(masses) == len(found)


def test_more_of_anything_costs_more() -> None:
    base = {"queries": 200, "classes": 10, "lambda_": 0.4, "delta": 1e-5, "gamma": 0.3}
    found = label_epsilon(**base)
    for change in ({"queries": 201}, {"lambda_": 0.401}, {"delta": 0.99e-5}, {"gamma": 0.301}):
        assert label_epsilon(**{**base, **change}) > found
    assert label_epsilon(**{**base, "gamma": 1e-6}) == 0  # drawn so rarely that delta covers it
    assert label_epsilon_once(**{**base, "gamma": 1e-5}) == 0
    assert label_epsilon_once(**{**base, "gamma": 1.0}) == label_epsilon(**{**base, "gamma": 1.0})


def test_far_settings_stay_finite() -> None:
    for queries, lambda_, gamma in ((100_000, 0.2, 0.3), (1000, 100.0, 1.0), (1, 1e-6, 1.0), (100_000, 20.0, 0.5)):
        found = label_epsilon(queries=queries, classes=10, lambda_=lambda_, delta=1e-6, gamma=gamma)
        assert 0 <= found <= queries * label_loss(10, lambda_) * (1 + 1e-12)


@pytest.mark.parametrize(("classes", "lambda_"), [(1, 1.0), (0, 1.0), (3, 0.0), (3, -1.0), (3, math.nan), (3, 501.0)])
def test_what_is_no_label(classes: int, lambda_: float) -> None:
    with pytest.raises(ValueError, match="classes|lambda"):
        label_probabilities(classes, lambda_)


def lower_bound(counts: Sequence[int], draws: int, confidence: float) -> float:
    """Clopper-Pearson lower bound on ln(p / q), each side at half of what may go wrong."""
    wrong = (1 - confidence) / 2
    low = beta.ppf(wrong, counts[0], draws - counts[0] + 1)
    high = beta.isf(wrong, counts[1] + 1, draws - counts[1])
    return math.log(low / high)


def how_often_label_one(truth: int, *, classes: int, lambda_: float, draws: int, seed: int) -> int:
    """Draw the mechanism itself: a certain posterior, Laplace noise on every class, the arg max."""
    random = np.random.default_rng(seed)
    found, block = 0, 100_000
    for _ in range(draws // block):
        noisy = random.laplace(scale=1 / lambda_, size=(block, classes))
        noisy[:, truth] += 1
        found += int(np.count_nonzero(noisy.argmax(axis=1) == 0))
    return found


def test_an_attacker_sees_nearly_all_of_it_and_no_more() -> None:
    """One query, a million draws a side. The bound fails with probability 1e-3, but the seed is fixed."""
    classes, lambda_, draws = 10, 0.4, 1_000_000
    counts = [how_often_label_one(t, classes=classes, lambda_=lambda_, draws=draws, seed=t) for t in (0, 1)]
    seen, exact = lower_bound(counts, draws, 0.999), label_loss(classes, lambda_)
    assert 0.93 * exact <= seen <= exact
    # Power: half the noise is caught, and so is the paper's claim that a query costs lambda.
    loud = [how_often_label_one(t, classes=classes, lambda_=2 * lambda_, draws=200_000, seed=t) for t in (0, 1)]
    assert lower_bound(loud, 200_000, 0.999) > exact
    assert seen > lambda_


def test_amplification() -> None:
    for epsilon in (0.0, 0.3, 5.0):
        assert amplified(epsilon, 0.3) == pytest.approx(math.log(1 + 0.3 * (math.exp(epsilon) - 1)), abs=1e-15)
    assert amplified(1.7, 1.0) == 1.7
    assert amplified(5000.0, 0.3) == pytest.approx(5000 + math.log(0.3), rel=1e-15)


def test_delta_is_spent_on_the_sample() -> None:
    asked: list[float] = []

    def unsampled(delta: float) -> float:
        asked.append(delta)
        return 2.0

    assert sampled_once(0.25, 1e-4, unsampled) == amplified(2.0, 0.25)
    assert asked == [4e-4]
    assert sampled_once(1e-4, 1e-4, unsampled) == 0
    assert len(asked) == 1
