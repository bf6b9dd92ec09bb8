"""Sums of an adversary over all reports, and the values recovered from them.

One :class:`Tally` takes every report: bits of neighbour lists, features and labels by
log-likelihood (:mod:`ldpsim.curator.attacks.averaging`). Equal bytes of a device in answer to the same
question have no new information and count once.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.attacks.averaging import BitTally, LabelTally, recovered_bits, recovered_labels
from ldpsim.curator.attacks.edges import EdgeAttack, attack_edges
from ldpsim.curator.attacks.recovery import bit_recovery, constant_guess, label_recovery
from ldpsim.devices.data.population import Population
from ldpsim.devices.mechanisms import GRR, Mechanism, OneBit
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_report
from ldpsim.strategies.attacks.adversaries.attack_result import AttackResult

LARGEST = 10_000  # people; the sums of all pairs are in memory


@dataclass(frozen=True, eq=False)
class Truth:
    """Private values, as the bits that are guessed.

    Args:
        adjacency: bool (n, n).
        features: bool (n, d): whether a value lies in the upper half of its range.
        steps: uint16 (n, d): index of a feature's value in ``values``.
        values: float32, the different values of all features.
        labels: int64 (n,).
    """

    adjacency: NDArray[np.bool_]
    features: NDArray[np.bool_]
    steps: NDArray[np.uint16]
    values: NDArray[np.float32]
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, population: Population) -> Truth:
        """Return the truth of a population.

        Raises:
            ValueError: for more people than an adversary can keep in memory.
        """
        n, d = len(population), population.facts.d
        if n > LARGEST:
            raise ValueError(f"stress keeps every pair of people in memory: give --clients {LARGEST} or fewer, not {n}")
        adjacency = np.zeros((n, n), np.bool_)
        adjacency[np.repeat(np.arange(n), population.degrees), population.neighbour_indices] = True
        dense = np.zeros((n, d), np.float32)
        rows = np.repeat(np.arange(n), np.diff(population.feature_indptr))
        dense[rows, population.feature_indices] = population.feature_values
        middle = (population.facts.feature_low + population.facts.feature_high) / 2
        values, steps = np.unique(dense, return_inverse=True)
        if len(values) > 1 << 16:  # a grid of as many steps tells no more of them apart
            raise ValueError(f"stress takes features of at most {1 << 16} different values, not {len(values)}")
        return cls(adjacency, dense > middle, steps.reshape(n, d).astype(np.uint16), values, population.labels)


@dataclass(frozen=True)
class Recovery:
    """Recovery of one attribute.

    Args:
        recovered: Share of its values that are guessed right.
        bound: Expected share after one answer.
        theory: Expected share after ``asks`` independent answers.
        values: Number of values.
        constant: Share that the most frequent value, guessed for all, gets right: of a list, "no neighbour".
        releases: Largest number of different answers that a device gave.
        edges: Attack on the edges, for the adjacency alone.
    """

    recovered: float
    bound: float
    theory: float
    values: int
    constant: float
    releases: int
    edges: EdgeAttack | None = None


class Tally:
    """Sums over all that one adversary received.

    Args:
        population: The people under attack.
        truth: Their values, as bits.
        query: The honest question; theory is computed for it.
    """

    def __init__(self, population: Population, truth: Truth, query: Query) -> None:
        n = len(population)
        self.population, self.truth = population, truth
        self.mechanisms: dict[str, Mechanism] = {ask.attribute: ask.mechanisms[0] for ask in query.asks}
        self.bits = {"adjacency": BitTally(n, n), "features": BitTally(n, population.facts.d)}
        self.labels = LabelTally(n, max(population.facts.classes, 1))
        self._last: dict[tuple[int, bytes], int] = {}
        self._seen: dict[str, list[array[int]]] = {name: [array("q") for _ in range(n)] for name in self.mechanisms}
        self._counted = dict.fromkeys(self.mechanisms, 0)

    def add(self, device: int, query: Query, report: Report) -> None:
        """Take one report; ValueError for bytes that do not answer this query."""
        same = hash(report.data)
        key = (device, query.digest)
        if self._last.get(key) == same:
            return
        self._last[key] = same
        parts = unpack_report(report.data, query)
        for ask in query.asks:
            payloads = parts[ask.attribute]
            # a label has few values: count its reports as different if the whole reports differ
            release = same if ask.attribute == "label" else hash(payloads)
            if ask.attribute in self._seen:
                self._seen[ask.attribute][device].append(release)
            self._learn(device, ask, payloads)

    def add_releases(self, outcome: AttackResult) -> None:
        """Take all distinct answers that an adversary kept."""
        given = outcome.answers_given()
        for attribute in self.mechanisms:
            for device, answers in outcome.reports(attribute).items():
                for ask, parts in answers:
                    self._learn(device, ask, parts)
                self._counted[attribute] = max(self._counted[attribute], given[device, attribute])

    def _learn(self, device: int, ask: Ask, parts: tuple[bytes, ...]) -> None:
        for mechanism, payload in zip(ask.mechanisms, parts, strict=True):
            self._read(ask.attribute, mechanism, device, mechanism.decode(payload, device=device))

    def _read(self, attribute: str, mechanism: Mechanism, device: int, report: Any) -> None:
        """Add one mechanism's report; one without evidence about single values adds nothing."""
        skip = device if attribute == "adjacency" and mechanism.reporting == "both" else None
        if attribute == "label" and mechanism.weight is not None:
            self.labels.add(device, int(report), mechanism.weight)
        elif attribute == "label":
            if (likelihood := mechanism.evidence(report)) is not None:
                self.labels.add_evidence(device, likelihood)
        elif mechanism.weight is not None:
            self.bits[attribute].add(device, report, mechanism.weight, skip=skip)
        elif (odds := mechanism.evidence(report)) is not None:
            self.bits[attribute].add_evidence(device, odds, skip=skip)

    def recoveries(self, asks: int) -> dict[str, Recovery]:
        """Return the recoveries so far by attribute; theory is for ``asks`` answers."""
        found = {}
        for attribute, mechanism in self.mechanisms.items():
            releases = max(max((len(set(seen)) for seen in self._seen[attribute]), default=0), self._counted[attribute])
            bound, theory = (self._expected(attribute, mechanism, t) for t in (1, asks))
            edges = None
            if attribute == "label":
                recovered = recovered_labels(self.labels.likelihoods(), self.truth.labels)
                counts = np.bincount(self.truth.labels[self.truth.labels >= 0])
            elif attribute == "features":
                recovered = recovered_bits(self.bits[attribute].log_odds(), self.truth.features)
                counts = np.bincount(self.truth.features.ravel())
            else:
                odds = self.bits[attribute].log_odds()
                among = self._reported()
                recovered = recovered_bits(odds, self.truth.adjacency, among)
                counts = np.bincount(self.truth.adjacency[among])
                if self.truth.adjacency.any():
                    edges = attack_edges(odds, self.truth.adjacency)
            found[attribute] = Recovery(
                recovered, bound, theory, int(counts.sum()), constant_guess(counts), releases, edges
            )
        return found

    def _reported(self) -> NDArray[np.bool_]:
        n = len(self.population)
        one_end = self.mechanisms["adjacency"].reporting == "one-end"
        return np.tri(n, n, -1, np.bool_) if one_end else ~np.eye(n, dtype=np.bool_)

    def _expected(self, attribute: str, mechanism: Mechanism, asks: int) -> float:
        facts = self.population.facts
        if attribute == "adjacency" and mechanism.flip_probability is not None:
            return float(bit_recovery(1 - mechanism.flip_probability, asks))
        if isinstance(mechanism, GRR):
            return label_recovery(mechanism.truth_probability, facts.classes, asks)
        if not isinstance(mechanism, OneBit):
            raise ValueError(f"{mechanism.name}: no theory says what repeated answers give away")
        one = mechanism.chance_of_one(self.truth.values)
        middle = (facts.feature_low + facts.feature_high) / 2
        right = bit_recovery(np.where(self.truth.values > middle, one, 1 - one), asks)
        counts = np.bincount(self.truth.steps.ravel(), minlength=len(right))
        return float(counts @ right / counts.sum())


def milestones(asks: Sequence[int]) -> tuple[int, ...]:
    """Return numbers of asks in rising order.

    Raises:
        ValueError: for none, or one outside 1 .. 65535.
    """
    if not asks or min(asks) < 1 or max(asks) > 65535:
        raise ValueError("--asks: one or more numbers of 1..65535, joined by commas")
    return tuple(sorted(set(asks)))
