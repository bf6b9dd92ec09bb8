"""Generated graph: no file and no download is needed, and its traits are those of real graphs.

People have a class and, inside it, a topic. Most edges stay in the class, and most of
these in the topic; some edges close a triangle; degrees follow a power law.
A person's words come from the favourites of the class, from
those of the topic and from all words. A topic has its words in common with the topics
of the same number in other classes: such words bring friends together but do not tell
the class. So an edge joins people whose features are alike beyond their class, as on
Cora or Facebook (docs/results/earlier.md).

Edges: people lie side by side on a line, class by class and topic by topic, each as long as
their propensity: a uniform position on a piece of the line is a person of that piece,
drawn by propensity (degree-corrected block model: Karrer and Newman, 2011). A closed
triangle joins two neighbours of one person (Holme and Kim, 2002).

Time and memory grow in proportion to ``n``. Equal arguments give equal populations on every machine: only sums,
products, quotients and square roots are used, which every processor rounds alike. numpy's power and logarithm differ
in the last bit between processors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import Population, build_population, distinct

CLIENTS = 3000
FEATURES = 600
CLASSES = 6
MEAN_DEGREE = 5.0
HOMOPHILY = 0.76
WORDS = 16.4  # different words of a person, on average
EDGES = round(CLIENTS * MEAN_DEGREE / 2)
_CHUNK = 65536
_SMALLEST_TOPIC = 5
_ROUNDS = 60
_LEAST_DRAWN = 200  # people of a graph whose words are counted
_FAVOURITES = 0.05  # share of all words that a class favours; more where people have many of few words
_HALVINGS = 20  # bits of the exponent in _root_power
_Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


def generate(
    n: int = CLIENTS,
    d: int = FEATURES,
    classes: int = CLASSES,
    *,
    seed: int = 0,
    mean_degree: float = MEAN_DEGREE,
    exponent: float = 3.0,
    homophily: float = HOMOPHILY,
    unequal: float = 3.0,
    topics: int = 12,
    topical: float = 0.6,
    closing: float = 0.22,
    partners: float = 0.0,
    words: int = 20,
    class_words: float = 0.12,
    topic_words: float = 0.65,
    shared: float = 1.0,
    favourites: float = _FAVOURITES,
    name: str = "generated",
) -> Population:
    """Make a population of ``n`` people; equal arguments give equal populations.

    Args:
        n: Number of people.
        d: Number of binary features ("words").
        classes: Number of classes.
        seed: Seed of everything random here.
        mean_degree: Mean number of neighbours (less where ``n`` is too small for it).
        exponent: A degree k occurs in proportion to about ``k ** -exponent``; above 2.
        homophily: Share of the edges that join two people of one class.
        unequal: How many times larger the largest class is than the smallest.
        topics: Number of topics of a class (fewer where classes are small).
        topical: Share of the in-class draws that stay within the topic.
        closing: Share of the edges that close a triangle.
        partners: Share of the draws outside the class that go to the class before or after it.
        words: Mean number of words that a person draws; one that is drawn twice counts once.
        class_words: Share of the words that come from the favourites of the class.
        topic_words: Share of the words that come from the favourites of the topic.
        shared: Share of a topic's favourites that the same topic has in every class.
        favourites: Share of all words that a class, or a topic, favours.
        name: Name of the population.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = _class_sizes(n, classes, unequal)
    topics = max(1, min(topics, int(sizes.min()) // _SMALLEST_TOPIC))
    labels = rng.permutation(np.repeat(np.arange(classes), sizes))
    topic = labels * topics + rng.integers(0, topics, n)
    line = _Line(rng, topic, topics, _propensities(rng, n, mean_degree, exponent), topical, partners)
    edges = _draw_edges(rng, line, round(n * mean_degree / 2), homophily, closing)
    of_class, of_topic = _favourites(rng, d, classes, topics, max(1, round(d * favourites)), shared)
    indptr, indices = _draw_words(rng, d, topic, of_class, of_topic, words, (class_words, topic_words))
    return build_population(
        name, n=n, d=d, edges=edges, feature_indptr=indptr, feature_indices=indices, feature_values=None,
        labels=labels, classes=classes,
    )  # fmt: skip


def usual_words(d: int, rate: float | None) -> float:
    """Return the mean number of different words of a person, of ``d``; ``rate`` is their share, None: as usual.

    >>> usual_words(600, None), usual_words(50, 0.2)
    (16.4, 10.0)
    """
    usual = WORDS if d == FEATURES else max(1.0, WORDS / FEATURES * d)
    return min(usual if rate is None else max(1.0, rate * d), d)


def with_facts(n: int, d: int, classes: int, mean_degree: float, homophily: float, words: float, *, seed: int,
               ) -> Population:  # fmt: skip
    """Make a population with public facts of other people.

    Args:
        n, d, classes, mean_degree, homophily, seed: As in :func:`generate`.
        words: Mean number of different words of a person.
    """
    degree = min(mean_degree, n / 4)
    drawn = _words_drawn(d, classes, degree, homophily, words)
    return _with_words(n, d, classes, degree, homophily, words, drawn, seed)


@lru_cache(maxsize=16)
def _words_drawn(d: int, classes: int, mean_degree: float, homophily: float, words: float) -> int:
    """Return the number of words to draw so that people have the wanted number of different ones."""
    drawn = max(1, round(words))
    for _ in range(3):
        n = _LEAST_DRAWN + 2 * classes
        people = _with_words(n, d, classes, min(mean_degree, n / 4), homophily, words, drawn, 0)
        drawn = max(1, round(drawn * words * len(people) / len(people.feature_indices)))
    return min(drawn, 4 * d)


def _with_words(
    n: int, d: int, classes: int, mean_degree: float, homophily: float, words: float, drawn: int, seed: int
) -> Population:
    favourites = min(1.0, max(_FAVOURITES, 1.5 * words / d))
    return generate(n, d, classes, seed=seed, mean_degree=mean_degree, homophily=homophily, words=drawn,
                    favourites=favourites)  # fmt: skip


def heterophilous(n: int = CLIENTS, *, seed: int = 0, **changes: Any) -> Population:
    """Make a graph whose neighbours mostly differ in class: fewer in-class edges than by chance (about .19).

    The class of a neighbour says little: every other class is as likely as its size.
    """
    return generate(n, seed=seed, **{"name": "heterophilous", "homophily": 0.1, "closing": 0.1, **changes})


def partnered(n: int = CLIENTS, *, seed: int = 0, **changes: Any) -> Population:
    """Make a heterophilous graph with a pattern: most edges go to the class before or after one's own.

    The class of a neighbour says much, but label propagation guesses the wrong class.
    """
    return heterophilous(n, seed=seed, **{"name": "partnered", "partners": 0.8, **changes})


def arxiv_like(n: int = 169_343, *, seed: int = 0, **changes: Any) -> Population:
    """Make a graph as large and dense as ogbn-arxiv: 1.17 million edges, 128 features, 40 unequal classes."""
    kind = {"d": 128, "classes": 40, "mean_degree": 2 * 1_166_243 / 169_343, "homophily": 0.65, "unequal": 20.0}
    return generate(n, seed=seed, **{"name": "arxiv-like", **kind, **changes})


def _class_sizes(n: int, classes: int, unequal: float) -> NDArray[np.int64]:
    """Number of people of each class: falling in equal steps, at least one each, ``n`` in all."""
    weight = np.linspace(unequal, 1.0, classes)
    ends = np.rint(np.cumsum(weight) / np.sum(weight) * (n - classes)).astype(np.int64)
    return np.diff(ends, prepend=0) + 1


def _favourites(
    rng: np.random.Generator, d: int, classes: int, topics: int, count: int, shared: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Favourite words of every class (classes, count) and of every topic (classes * topics, count)."""
    lists = [rng.permutation(d)[:count] for _ in range(classes + topics + classes * topics)]
    of_class, common, own = np.split(np.array(lists), [classes, classes + topics])
    return of_class, np.where(rng.random((1, count)) < shared, np.tile(common, (classes, 1)), own)


def _draw_words(
    rng: np.random.Generator,
    d: int,
    topic: NDArray[np.int64],
    of_class: NDArray[np.int64],
    of_topic: NDArray[np.int64],
    words: int,
    shares: tuple[float, float],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw every person's words: CSR parts. In chunks, so that no n x d array is made.

    The square of a uniform number is the place in a list: its first words are the popular ones.
    """
    anything = rng.permutation(d)
    label = topic // (len(of_topic) // len(of_class))
    counts, columns = [], []
    for start in range(0, len(topic), _CHUNK):
        people = slice(start, start + _CHUNK)
        lengths = rng.integers((words + 1) // 2, words + words // 2 + 1, len(topic[people]))
        row = np.repeat(np.arange(len(lengths)), lengths)
        source, place = rng.random(len(row)), rng.random(len(row))
        place = place * place
        inside = (place * of_class.shape[1]).astype(np.int64)
        word = anything[(place * d).astype(np.int64)]
        word = np.where(source < sum(shares), of_topic[topic[people][row], inside], word)
        word = np.where(source < shares[0], of_class[label[people][row], inside], word)
        keys = distinct(row * d + word)
        counts.append(np.bincount(keys // d, minlength=len(lengths)))
        columns.append(keys % d)
    return np.concatenate([[0], np.cumsum(np.concatenate(counts))]), np.concatenate(columns)


def _propensities(rng: np.random.Generator, n: int, mean_degree: float, exponent: float) -> NDArray[np.float64]:
    """Pareto weights whose largest expected degree stays at the structural cutoff: (n,).

    Above sqrt(n k) a pair of hubs would be drawn more than once on average, and the
    repeated edges, dropped, would bend the tail.
    """
    weight = 1.0 / _root_power(1.0 - rng.random(n), 1.0 / (exponent - 1.0))
    mean = (exponent - 1.0) / (exponent - 2.0)
    return np.minimum(weight, max(np.sqrt(n * mean_degree) / mean_degree * mean, 1.0))


def _root_power(base: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """``base ** exponent`` for an exponent below 1, to 20 bits of the exponent, by square roots alone."""
    result, root, left = np.ones_like(base), base, exponent
    for _ in range(_HALVINGS):
        root, left = np.sqrt(root), left * 2.0
        if left >= 1.0:
            result, left = result * root, left - 1.0
    return result


def _draw_edges(
    rng: np.random.Generator, line: _Line, count: int, homophily: float, closing: float
) -> NDArray[np.int64]:
    """Draw ``count`` different edges: (2, <= count).

    Single edges come first, then triangles; the number of in-class edges is exact.
    Fewer edges come back only where there are so few people that there are hardly enough pairs.
    """
    label = line.topic // line.topics
    n = len(label)
    inside = round(count * homophily) if line.classes > 1 else count
    wanted = {True: inside, False: count - inside}

    def add(share: float, draw: Callable[[int, bool], _Ends], edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return these edges and enough new ones: ``share`` of what is wanted of both kinds."""
        of_one_class = label[edges // n] == label[edges % n]
        missing = {w: round(wanted[w] * share) - int(np.count_nonzero(of_one_class == w)) for w in (True, False)}
        return np.concatenate([edges, *(_fill(rng, label, edges, missing[w], w, draw) for w in (True, False))])

    keys = add(1.0 - closing, line.pairs, np.zeros(0, np.int64))
    if closing and len(keys):
        keys = add(1.0, _open_triangles(rng, keys, n), keys)
    keys = add(1.0, line.pairs, keys)  # where there were too few open triangles
    return np.stack([keys // n, keys % n])


def _fill(
    rng: np.random.Generator,
    label: NDArray[np.int64],
    edges: NDArray[np.int64],
    wanted: int,
    within: bool,
    draw: Callable[[int, bool], _Ends],
) -> NDArray[np.int64]:
    """Draw until there are ``wanted`` new edges of one kind; fewer where they run out."""
    n = len(label)
    keys = np.zeros(0, np.int64)
    for _ in range(_ROUNDS):
        if len(keys) >= wanted:
            break
        left, right = draw(int((wanted - len(keys)) * 1.2) + 16, within)
        good = (left != right) & ((label[left] == label[right]) == within)
        left, right = left[good], right[good]
        candidates = distinct(np.minimum(left, right) * n + np.maximum(left, right))
        new = candidates[np.isin(candidates, edges, assume_unique=True, invert=True, kind="sort")]
        keys = distinct(np.concatenate([keys, new]))
    return rng.permutation(keys)[: max(wanted, 0)]


class _Line:
    """The line of all people.

    Args:
        rng: Source of all draws.
        topic: int64 (n,), numbers of the topics, class by class.
        topics: Number of topics of a class.
        propensity: float64 (n,).
        topical, partners: As in :func:`generate`.
    """

    def __init__(
        self, rng: np.random.Generator, topic: NDArray[np.int64], topics: int, propensity: NDArray[np.float64],
        topical: float, partners: float,
    ) -> None:  # fmt: skip
        self.rng, self.topic, self.topics, self.topical, self.partners = rng, topic, topics, topical, partners
        self.classes = int(topic.max()) // topics + 1
        self.order = np.argsort(topic, kind="stable")  # person at each place of the line
        self.cumulative = np.concatenate([[0.0], np.cumsum(propensity[self.order])])  # where a person begins and ends
        # where a topic begins and ends
        self.ends = self.cumulative[np.searchsorted(topic[self.order], np.arange(self.classes * topics + 1))]

    def pairs(self, size: int, within: bool) -> _Ends:
        """Draw people by propensity, and somebody for each: of the same class, or of another one."""
        rng, total = self.rng, self.cumulative[-1]
        left = self._at(rng.random(size) * total)
        topic = self.topic[left]
        own = topic // self.topics
        low, high = self.ends[own * self.topics], self.ends[(own + 1) * self.topics]
        narrow, place = rng.random(size) < self.topical, rng.random(size)
        inner = _between(place, np.where(narrow, self.ends[topic], low), np.where(narrow, self.ends[topic + 1], high))
        outer = _between(place, high, low + total)
        outer = np.where(outer >= total, outer - total, outer)
        if self.partners:
            step = np.where(rng.random(size) < 0.5, 1, self.classes - 1)
            near = (own + step) % self.classes * self.topics
            beside = _between(place, self.ends[near], self.ends[near + self.topics])
            outer = np.where(rng.random(size) < self.partners, beside, outer)
        return left, self._at(inner if within else outer)

    def _at(self, position: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.order[np.minimum(np.searchsorted(self.cumulative, position, side="right") - 1, len(self.order) - 1)]


def _between(place: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    return low + place * (high - low)


def _open_triangles(rng: np.random.Generator, keys: NDArray[np.int64], n: int) -> Callable[[int, bool], _Ends]:
    """Return a draw of both ends of a path of two edges, twice as many as are wanted: many have another kind."""
    left, right = np.concatenate([keys // n, keys % n]), np.concatenate([keys % n, keys // n])
    order = np.argsort(left, kind="stable")
    people, ends, degrees = left[order], right[order], np.bincount(left, minlength=n)
    starts = np.cumsum(degrees) - degrees

    def draw(size: int, _within: bool) -> _Ends:
        first = rng.integers(0, len(ends), 2 * size)
        middle = ends[first]
        return people[first], ends[starts[middle] + (rng.random(2 * size) * degrees[middle]).astype(np.int64)]

    return draw
