"""Edges of a generated graph: classes, topics, closed triangles and groups, each with a share of its own.

People lie side by side on a line, class by class and topic by topic, each as long as
their propensity: a uniform position on a piece of the line is a person of that piece,
drawn by propensity (degree-corrected block model: Karrer and Newman, 2011). A closed
triangle joins two neighbours of one person (Holme and Kim, 2002). A group joins all
its members (affiliation networks: Newman, Strogatz and Watts, 2002).

Only sums, products, quotients and square roots are used, which every processor rounds
alike: numpy's power and logarithm differ in the last bit between processors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import distinct

_ROUNDS = 60
_HALVINGS = 20  # bits of the exponent in _root_power


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """Shares that decide who is joined to whom.

    Args:
        homophily: Share of the edges that join two people of one class.
        topical: Share of the in-class draws that stay within the person's topic.
        closing: Share of the edges that close a triangle.
        grouped: Share of the edges that come from groups, whose members all know one another.
        group_size: Mean number of members of a group; at least 3.
        partners: Share of the draws outside the class that go to the class before or after it.
    """

    homophily: float
    topical: float
    closing: float
    grouped: float
    group_size: int
    partners: float


def propensities(rng: np.random.Generator, n: int, mean_degree: float, exponent: float) -> NDArray[np.float64]:
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


def draw_edges(
    rng: np.random.Generator,
    topic: NDArray[np.int64],
    topics: int,
    propensity: NDArray[np.float64],
    count: int,
    wiring: Wiring,
) -> NDArray[np.int64]:
    """Draw ``count`` different edges: (2, <= count).

    ``topic`` (n,) numbers the topics class by class, ``topics`` to a class. Groups come
    first, then single edges, then triangles; the number of in-class edges is exact.
    Fewer edges come back only where ``n`` is so small that there are hardly enough pairs.
    """
    n, label = len(topic), topic // topics
    line = _Line.of(rng, wiring, topic, topics, propensity)
    inside = round(count * wiring.homophily) if line.classes > 1 else count
    wanted = {True: inside, False: count - inside}
    keys = _groups(line, round(count * wiring.grouped))

    def add(
        share: float, draw: Callable[[int, bool], tuple[NDArray[np.int64], NDArray[np.int64]]], known: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the known edges and enough new ones: ``share`` of what is wanted of both kinds."""
        found = [known]
        for within in (True, False):
            already = int(np.count_nonzero(_within(known, label) == within))
            missing = round(wanted[within] * share) - already
            found.append(_fill(rng, label, known, missing, within, draw))
            if missing < 0:  # groups made more of this kind than there may be
                surplus = np.flatnonzero(_within(found[0], label) == within)
                found[0] = np.delete(found[0], rng.permutation(surplus)[:-missing])
        return np.concatenate(found)

    keys = add(1.0 - wiring.closing, line.pairs, keys)
    if wiring.closing and len(keys):
        keys = add(1.0, _Wedges.of(rng, keys, n).pairs, keys)
    keys = add(1.0, line.pairs, keys)  # where there were too few open triangles
    return np.stack([keys // n, keys % n])


def _within(keys: NDArray[np.int64], label: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether both ends of an edge have one class: (m,)."""
    return label[keys // len(label)] == label[keys % len(label)]


def _fill(
    rng: np.random.Generator,
    label: NDArray[np.int64],
    known: NDArray[np.int64],
    wanted: int,
    within: bool,
    draw: Callable[[int, bool], tuple[NDArray[np.int64], NDArray[np.int64]]],
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
        found = distinct(np.minimum(left, right) * n + np.maximum(left, right))
        new = found[np.isin(found, known, assume_unique=True, invert=True, kind="sort")]
        keys = distinct(np.concatenate([keys, new]))
    return rng.permutation(keys)[: max(wanted, 0)]


@dataclass(frozen=True)
class _Line:
    """The line of all people.

    Args:
        order: (n,) person at each place of the line.
        cumulative: (n + 1,) where a person begins and ends.
        ends: (classes * topics + 1,) where a topic begins and ends.
    """

    rng: np.random.Generator
    wiring: Wiring
    topic: NDArray[np.int64]
    topics: int
    order: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    ends: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rng: np.random.Generator,
        wiring: Wiring,
        topic: NDArray[np.int64],
        topics: int,
        propensity: NDArray[np.float64],
    ) -> _Line:
        order = np.argsort(topic, kind="stable")
        cumulative = np.concatenate([[0.0], np.cumsum(propensity[order])])
        classes = int(topic.max()) // topics + 1
        return cls(rng, wiring, topic, topics, order, cumulative,
                   cumulative[np.searchsorted(topic[order], np.arange(classes * topics + 1))])  # fmt: skip

    @property
    def classes(self) -> int:
        return (len(self.ends) - 1) // self.topics

    def anybody(self, size: int) -> NDArray[np.int64]:
        """Draw people by propensity: (size,)."""
        return self._at(self.rng.random(size) * self.cumulative[-1])

    def pairs(self, size: int, within: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw pairs inside a class, or across classes: two arrays (size,)."""
        left = self.anybody(size)
        return left, self.others(left, np.full(size, within))

    def others(self, left: NDArray[np.int64], within: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Draw somebody for each person: of the person's class where ``within`` says so, else of another."""
        size, topic, wiring = len(left), self.topic[left], self.wiring
        own = topic // self.topics
        low, high, total = self.ends[own * self.topics], self.ends[(own + 1) * self.topics], self.cumulative[-1]
        narrow, place = self.rng.random(size) < wiring.topical, self.rng.random(size)
        inner = _between(place, np.where(narrow, self.ends[topic], low), np.where(narrow, self.ends[topic + 1], high))
        outer = _between(place, high, low + total)
        outer = np.where(outer >= total, outer - total, outer)
        if wiring.partners:
            step = np.where(self.rng.random(size) < 0.5, 1, self.classes - 1)
            near = (own + step) % self.classes * self.topics
            beside = _between(place, self.ends[near], self.ends[near + self.topics])
            outer = np.where(self.rng.random(size) < wiring.partners, beside, outer)
        return self._at(np.where(within, inner, outer))

    def _at(self, position: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.order[np.minimum(np.searchsorted(self.cumulative, position, side="right") - 1, len(self.order) - 1)]


def _between(place: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    return low + place * (high - low)


@dataclass(frozen=True)
class _Wedges:
    """Paths of two edges in a graph: the triangles that can be closed.

    Args:
        ends: (2 m,) neighbours of person 0, of person 1, ...
        starts: (n,) where a person's neighbours begin.
        degrees: (n,) how many there are.
        people: (2 m,) whose neighbour it is.
    """

    rng: np.random.Generator
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    degrees: NDArray[np.int64]
    people: NDArray[np.int64]

    @classmethod
    def of(cls, rng: np.random.Generator, keys: NDArray[np.int64], n: int) -> _Wedges:
        left, right = np.concatenate([keys // n, keys % n]), np.concatenate([keys % n, keys // n])
        order = np.argsort(left, kind="stable")
        degrees = np.bincount(left, minlength=n)
        return cls(rng, right[order], np.cumsum(degrees) - degrees, degrees, left[order])

    def pairs(self, size: int, within: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw both ends of a path, twice as many as are wanted: many do not have the wanted kind."""
        first = self.rng.integers(0, len(self.ends), 2 * size)
        middle = self.ends[first]
        second = self.starts[middle] + (self.rng.random(2 * size) * self.degrees[middle]).astype(np.int64)
        return self.people[first], self.ends[second]


def _groups(line: _Line, count: int) -> NDArray[np.int64]:
    """Draw groups until they have about ``count`` pairs, and join all members: sorted keys (<= count,).

    A member is of the leader's class with the square root of the homophily: about that
    share of all pairs in a group are then of one class.
    """
    n, rng = len(line.topic), line.rng
    sizes = range(3, 2 * line.wiring.group_size - 2)
    found = [np.zeros(0, np.int64)]
    for size in sizes:
        groups = round(count / len(sizes) / (size * (size - 1) / 2))
        leader = line.anybody(groups)
        many = np.repeat(leader, size - 1)
        rest = line.others(many, rng.random(len(many)) < np.sqrt(line.wiring.homophily))
        members = np.column_stack([leader, rest.reshape(groups, size - 1)])
        one, other = np.triu_indices(size, 1)
        left, right = members[:, one].ravel(), members[:, other].ravel()
        keep = left != right
        found.append(np.minimum(left, right)[keep] * n + np.maximum(left, right)[keep])
    return distinct(np.concatenate(found))
