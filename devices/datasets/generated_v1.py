"""First version of the generated graph, kept for the results that were made on it.

A degree-corrected contextual stochastic block model. Degrees follow a power law up to
the structural cutoff (degree-corrected SBM: Karrer and Newman, 2011); a given share of
the edges joins people of one class; every class has its own favourite words (contextual
SBM: Deshpande, Sen, Montanari and Mossel, 2018, here with binary features). Features say
nothing about edges beyond the class, which real graphs do; ``generated.py`` mends that.

The defaults are tuned at 3,000 people and a random 50/25/25 split so that features and
edges both matter: neither a network on the features alone nor the labels of the
neighbours alone reach what a GCN reaches with both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from devices.data.population import Population, build_population, distinct

CLIENTS = 3000
FEATURES = 256
CLASSES = 5
MEAN_DEGREE = 7.0
EDGES = round(CLIENTS * MEAN_DEGREE / 2)
_CHUNK = 8192
_ROUNDS = 60


def generate(
    n: int = CLIENTS,
    d: int = FEATURES,
    classes: int = CLASSES,
    *,
    seed: int = 0,
    mean_degree: float = MEAN_DEGREE,
    exponent: float = 2.5,
    homophily: float = 0.62,
    words: float = 16.0,
    favourites: float = 0.125,
    lift: float = 2.8,
) -> Population:
    """Make a population of ``n`` people; equal arguments give equal populations.

    Args:
        n: Number of people.
        d: Number of binary features ("words").
        classes: Number of classes; their sizes differ by at most one.
        seed: Seed of everything random here.
        mean_degree: Mean number of neighbours (less where ``n`` is too small for it).
        exponent: A degree k occurs in proportion to ``k ** -exponent``; above 2.
        homophily: Share of the edges that join two people of one class.
        words: Mean number of ones in a feature row.
        favourites: Share of the words that a class favours.
        lift: How many times likelier a favoured word is.

    Raises:
        ValueError: naming the first argument that is out of its range.
    """
    for name, value, allowed, fine in (
        ("n", n, "at least 2", n >= 2),
        ("d", d, "at least 1", d >= 1),
        ("classes", classes, f"1 to {n}", 1 <= classes <= n),
        ("mean_degree", mean_degree, f"above 0 and below {n}", 0 < mean_degree < np.inf),
        ("exponent", exponent, "above 2", 2 < exponent < np.inf),
        ("homophily", homophily, "0 to 1", 0 <= homophily <= 1),
        ("words", words, f"above 0 and at most {d}", 0 < words <= d),
        ("favourites", favourites, "above 0 and at most 1", 0 < favourites <= 1),
        ("lift", lift, "at least 1", 1 <= lift < np.inf),
    ):
        if not fine:
            raise ValueError(f"generated-v1: {name} {value} is not allowed: {allowed}")
    rng = np.random.Generator(np.random.PCG64(seed))
    labels = rng.permutation(np.arange(n) % classes)
    propensity = _propensities(rng, n, mean_degree, exponent)
    edges = _draw_edges(rng, labels, propensity, classes, round(n * mean_degree / 2), homophily)
    rates = _word_rates(rng, d, classes, words, favourites, lift)
    indptr, indices = _draw_words(rng, labels, rates)
    return build_population(
        "generated-v1", n=n, d=d, edges=edges, feature_indptr=indptr, feature_indices=indices, feature_values=None,
        labels=labels, classes=classes,
    )  # fmt: skip


def _propensities(rng: np.random.Generator, n: int, mean_degree: float, exponent: float) -> NDArray[np.float64]:
    """Pareto weights whose largest expected degree stays at the structural cutoff.

    Above sqrt(n k) a pair of hubs would be drawn more than once on average, and the
    repeated edges, dropped, would bend the tail.
    """
    weight = (1.0 - rng.random(n)) ** (-1.0 / (exponent - 1.0))
    mean = (exponent - 1.0) / (exponent - 2.0)
    return np.minimum(weight, max(np.sqrt(n * mean_degree) / mean_degree * mean, 1.0))


def _draw_edges(
    rng: np.random.Generator,
    labels: NDArray[np.int64],
    propensity: NDArray[np.float64],
    classes: int,
    count: int,
    homophily: float,
) -> NDArray[np.int64]:
    """Draw ``count`` different edges, ``homophily`` of them inside a class: (2, <= count).

    The first end is drawn by propensity, the second by propensity inside the same class
    or inside the others, so expected degrees do not depend on the class. Fewer edges
    come back only where ``n`` is so small that there are hardly enough pairs.
    """
    n = len(labels)
    order = np.argsort(labels, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(propensity[order])])
    starts = np.searchsorted(labels[order], np.arange(classes + 1))
    low, high, total = cumulative[starts[:-1]], cumulative[starts[1:]], cumulative[-1]

    def pick(position: NDArray[np.float64]) -> NDArray[np.int64]:
        return order[np.minimum(np.searchsorted(cumulative, position, side="right") - 1, n - 1)]

    def draw(wanted: int, inside: bool) -> NDArray[np.int64]:
        keys = np.zeros(0, np.int64)
        for _ in range(_ROUNDS):
            if len(keys) >= wanted:
                break
            size = int((wanted - len(keys)) * 1.1) + 16
            left = pick(rng.random(size) * total)
            own = labels[left]
            width = high[own] - low[own]
            if inside:
                right = pick(low[own] + rng.random(size) * width)
            else:
                right = pick(np.mod(high[own] + rng.random(size) * (total - width), total))
            # the class is checked again: rounding may carry a draw over a class's edge
            good = (left != right) & ((own == labels[right]) == inside)
            left, right = left[good], right[good]
            keys = distinct(np.concatenate([keys, np.minimum(left, right) * n + np.maximum(left, right)]))
        return rng.permutation(keys)[:wanted]

    intra = round(count * homophily) if classes > 1 else count
    keys = np.concatenate([draw(intra, True), draw(count - intra, False)])
    return np.stack([keys // n, keys % n])


def _word_rates(
    rng: np.random.Generator, d: int, classes: int, words: float, favourites: float, lift: float
) -> NDArray[np.float32]:
    """Probability of each word in each class, float32 (classes, d); rows sum to about ``words``.

    Words are unequally popular (a flattened Zipf law), as in real bags of words.
    """
    popularity = rng.permutation(1.0 / np.sqrt(np.arange(d) + 8.0))
    rates = np.tile(popularity, (classes, 1))
    for row in rates:
        row[rng.choice(d, size=max(1, round(d * favourites)), replace=False)] *= lift
    rates *= words / rates.sum(axis=1, keepdims=True)
    return np.minimum(rates, 0.9).astype(np.float32)


def _draw_words(
    rng: np.random.Generator, labels: NDArray[np.int64], rates: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw every row's words: CSR parts. In chunks, so that no n x d array is made."""
    counts, columns = [], []
    for start in range(0, len(labels), _CHUNK):
        rate = rates[labels[start : start + _CHUNK]]
        rows, found = np.nonzero(rng.random(rate.shape, dtype=np.float32) < rate)
        counts.append(np.bincount(rows, minlength=len(rate)))
        columns.append(found)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return indptr, np.concatenate(columns)
