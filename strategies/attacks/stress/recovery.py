"""Private values that an adversary recovers from all that it received, beside what theory expects.

Bits of neighbour lists, features and labels are guessed by log-likelihood (:mod:`ldpsim.curator.attacks.recovery`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.attacks.recovery import (
    attack_edges,
    bit_recovery,
    constant_guess,
    label_recovery,
    recovered_bits,
    recovered_labels,
    recovered_rare,
)
from ldpsim.devices.data.population import Population
from ldpsim.devices.mechanisms import GRR, Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.mechanisms.mechanism import one_report
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_report
from ldpsim.strategies.attacks.adversaries.curator import AttackResult

LARGEST = 10_000  # people; the sums of all pairs are in memory


@dataclass(frozen=True, eq=False)
class Truth:
    """Private values, as the bits that are guessed.

    Args:
        adjacency: bool (n, n).
        features: bool (n, d): whether a value lies in the upper half of its range.
        values: float32, the different values of all features.
        counts: int64, how often each of them occurs.
        labels: int64 (n,).
    """

    adjacency: NDArray[np.bool_]
    features: NDArray[np.bool_]
    values: NDArray[np.float32]
    counts: NDArray[np.int64]
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
        values, counts = np.unique(dense, return_counts=True)
        return cls(adjacency, dense > middle, values, counts, population.labels)


class Tally:
    """Log-odds of all that one adversary received, added up report by report.

    Args:
        population: The people under attack.
        truth: Their values, as bits.
        query: The honest question; theory is computed for it.
    """

    def __init__(self, population: Population, truth: Truth, query: Query) -> None:
        n, self.facts = len(population), population.facts
        self.truth = truth
        self.mechanisms: dict[str, Mechanism] = {ask.attribute: ask.mechanisms[0] for ask in query.asks}
        widths = {"adjacency": n, "features": self.facts.d, "label": max(self.facts.classes, 1)}
        self.odds = {name: np.zeros((n, width)) for name, width in widths.items()}
        self.releases = dict.fromkeys(self.mechanisms, 0)  # largest number of different answers of a device
        self._seen: list[set[int]] = [set() for _ in range(n)]

    def add(self, device: int, query: Query, report: Report) -> None:
        """Take one report to the honest question; equal bytes of a device have no new information and count once.

        Raises:
            ValueError: for bytes that do not answer it.
        """
        same, seen = hash(report.data), self._seen[device]
        if same in seen:
            return
        seen.add(same)
        parts = unpack_report(report.data, query)
        for ask in query.asks:
            self._learn(device, ask, parts[ask.attribute])
            self.releases[ask.attribute] = max(self.releases[ask.attribute], len(seen))

    def add_releases(self, result: AttackResult) -> None:
        """Take all distinct answers of an attack."""
        for (_, attribute), number in result.distinct().items():
            self.releases[attribute] = max(self.releases[attribute], number)
        order = sorted(result.releases, key=lambda r: (r.device, r.attribute, r.query.stage, r.parts))
        for each in order:
            self._learn(each.device, next(a for a in each.query.asks if a.attribute == each.attribute), each.parts)

    def _learn(self, device: int, ask: Ask, parts: tuple[bytes, ...]) -> None:
        """Add a report about one attribute, unless its mechanism states no log-likelihood of single values."""
        row = self.odds[ask.attribute][device]
        for mechanism, payload in zip(ask.mechanisms, parts, strict=True):
            ratios = mechanism.log_likelihood(one_report(mechanism, payload, device))
            if ratios is not None and ask.attribute == "adjacency" and mechanism.reporting == "both":
                ratios = np.insert(ratios, device, 0.0)  # a row leaves its own place out
            if ratios is not None:
                row[: len(ratios)] += ratios

    def rows(self, asks: int) -> list[dict[str, Any]]:
        """Return a row for each attribute, with the columns of the table; theory is for ``asks`` answers.

        ``recovered`` is the share of all values that maximum likelihood gets right, which theory is about. ``found``
        is what is shown first, by a guess that knows how frequent each value is: the share of edges, of features with
        the rarer value, and of labels.
        """
        rows, truth = [], self.truth
        for attribute, mechanism in self.mechanisms.items():
            found: float | None = None
            edges: dict[str, Any] = dict.fromkeys(EDGES)
            odds = self.odds[attribute]
            if attribute == "label":
                counts = np.bincount(truth.labels[truth.labels >= 0], minlength=odds.shape[1])
                recovered = recovered_labels(odds, truth.labels)
                found = recovered_labels(odds, truth.labels, counts)
            else:
                bits = getattr(truth, attribute)
                among = self._reported(mechanism) if attribute == "adjacency" else np.ones_like(bits)
                recovered, counts = recovered_bits(odds, bits, among), np.bincount(bits[among])
                if attribute == "features":
                    found = recovered_rare(odds, bits)
                elif bits.any():
                    edges = attack_edges(odds, bits)
                    found = edges["edge_recall"]
            bound, theory = (self._expected(mechanism, number) for number in (1, asks))
            rows.append({
                "attribute": attribute, "asks": asks, "found": found, "recovered": recovered,
                "one_query_bound": bound, "theory": theory, "constant_guess": constant_guess(counts),
                "distinct_releases": self.releases[attribute], "values": int(counts.sum()), **edges,
            })  # fmt: skip
        return rows

    def _reported(self, mechanism: Mechanism) -> NDArray[np.bool_]:
        n = len(self.truth.adjacency)
        return np.tri(n, n, -1, np.bool_) if mechanism.reporting == "one-end" else ~np.eye(n, dtype=np.bool_)

    def _expected(self, mechanism: Mechanism, asks: int) -> float:
        """Return the share of values that maximum likelihood gets right from a number of independent answers."""
        if isinstance(mechanism, RandomizedResponse):
            return float(bit_recovery(1 - mechanism.flip_probability, asks))
        if isinstance(mechanism, GRR):
            return label_recovery(mechanism.truth_probability, self.facts.classes, asks)
        assert isinstance(mechanism, OneBit)
        one, values = mechanism.chance_of_one(self.truth.values), self.truth.values
        middle = (self.facts.feature_low + self.facts.feature_high) / 2
        right = bit_recovery(np.where(values > middle, one, 1 - one), asks)
        return float(self.truth.counts @ right / self.truth.counts.sum())


EDGES = ("edge_precision", "edge_recall")
