"""Generated graph: no file and no download is needed, and its traits are those of real graphs.

People have a class and, inside it, a topic. Most edges stay in the class, and most of
these in the topic; some edges close a triangle; degrees follow a power law
(``generated_edges.py``). A person's words come from the favourites of the class, from
those of the topic and from all words. A topic has its words in common with the topics
of the same number in other classes: such words bring friends together but do not tell
the class. So an edge joins people whose features are alike beyond their class, as on
Cora or Facebook; docs/results/generated.md has the figures side by side.

Time and memory grow in proportion to ``n``. Equal arguments give equal populations on
every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import Population, build_population, distinct
from ldpsim.devices.datasets.generated_edges import Wiring, draw_edges, propensities

CLIENTS = 3000
FEATURES = 600
CLASSES = 6
MEAN_DEGREE = 5.0
EDGES = round(CLIENTS * MEAN_DEGREE / 2)
_CHUNK = 65536
_SMALLEST_TOPIC = 5


def generate(
    n: int = CLIENTS,
    d: int = FEATURES,
    classes: int = CLASSES,
    *,
    seed: int = 0,
    mean_degree: float = MEAN_DEGREE,
    exponent: float = 3.0,
    homophily: float = 0.76,
    unequal: float = 3.0,
    topics: int = 12,
    topical: float = 0.6,
    closing: float = 0.22,
    grouped: float = 0.0,
    group_size: int = 6,
    partners: float = 0.0,
    words: int = 20,
    class_words: float = 0.12,
    topic_words: float = 0.65,
    shared: float = 1.0,
    favourites: float = 0.05,
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
        grouped: Share of the edges that come from groups, whose members all know one another.
        group_size: Mean number of members of a group; at least 3.
        partners: Share of the draws outside the class that go to the class before or after it.
        words: Mean number of words that a person draws; one that is drawn twice counts once.
        class_words: Share of the words that come from the favourites of the class.
        topic_words: Share of the words that come from the favourites of the topic.
        shared: Share of a topic's favourites that the same topic has in every class.
        favourites: Share of all words that a class, or a topic, favours.
        name: Name of the population.

    Raises:
        ValueError: naming the first argument that is out of its range.
    """
    shares = {
        "homophily": homophily, "topical": topical, "closing": closing, "grouped": grouped, "partners": partners,
        "class_words": class_words, "topic_words": topic_words, "shared": shared,
    }  # fmt: skip
    for argument, value, allowed, fine in (
        ("n", n, "at least 2", n >= 2),
        ("d", d, "at least 1", d >= 1),
        ("classes", classes, f"1 to {n}", 1 <= classes <= n),
        ("mean_degree", mean_degree, f"above 0 and below {n}", 0 < mean_degree < np.inf),
        ("exponent", exponent, "above 2", 2 < exponent < np.inf),
        ("unequal", unequal, "at least 1", 1 <= unequal < np.inf),
        ("topics", topics, "at least 1", topics >= 1),
        ("group_size", group_size, "at least 3", group_size >= 3),
        ("words", words, "at least 1", words >= 1),
        ("favourites", favourites, "above 0 and at most 1", 0 < favourites <= 1),
        *((share, value, "0 to 1", 0 <= value <= 1) for share, value in shares.items()),
        (
            "topic_words",
            topic_words,
            f"at most {1 - class_words:g}, beside class_words",
            class_words + topic_words <= 1,
        ),
        ("grouped", grouped, f"at most {1 - closing:g}, beside closing", closing + grouped <= 1),
    ):
        if not fine:
            raise ValueError(f"generated: {argument} {value} is not allowed: {allowed}")
    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = _class_sizes(n, classes, unequal)
    topics = max(1, min(topics, int(sizes.min()) // _SMALLEST_TOPIC))
    labels = rng.permutation(np.repeat(np.arange(classes), sizes))
    topic = labels * topics + rng.integers(0, topics, n)
    wiring = Wiring(
        homophily=homophily, topical=topical, closing=closing, grouped=grouped, group_size=group_size,
        partners=partners,
    )  # fmt: skip
    propensity = propensities(rng, n, mean_degree, exponent)
    edges = draw_edges(rng, topic, topics, propensity, round(n * mean_degree / 2), wiring)
    of_class, of_topic = _favourites(rng, d, classes, topics, max(1, round(d * favourites)), shared)
    indptr, indices = _draw_words(rng, d, topic, of_class, of_topic, words, (class_words, topic_words))
    return build_population(
        name, n=n, d=d, edges=edges, feature_indptr=indptr, feature_indices=indices, feature_values=None,
        labels=labels, classes=classes,
    )  # fmt: skip


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
