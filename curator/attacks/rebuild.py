"""Rebuilding a graph from what a run publishes: attackers on pairs of people, and what a guarantee allows them.

Attackers, each with a few signals of a pair:

- **similarity** of what is published about both ends (He et al., USENIX Security 2021,
  https://arxiv.org/abs/2005.02131);
- **influence** of one end's features on what is published about the other end (LinkTeller; Wu et al., IEEE S&P 2022,
  https://arxiv.org/abs/2108.06504);
- both together with what is public about the people.

Half of the pairs teach the attacker how much each signal says (a linear discriminant on ranks), and the other half is
scored. The figure is the area under the ROC curve.

What a guarantee allows. Let a fair coin decide whether the run sees an edge, and let (epsilon, delta) hold for one
edge. A guess with false positive rate x then has a true positive rate of at most

    T(x) = min(e^eps x + delta, 1 - e^-eps (1 - delta - x), 1)

(Kairouz, Oh and Viswanath 2015, https://arxiv.org/abs/1311.0776), whatever the attacker knows of everything else. The
two lines meet at x = (1 - delta) / (1 + e^eps), and the area below T is

    1 - (1 - delta)^2 / (1 + e^eps).

Real edges and other pairs are not decided by a coin: edges join people who are alike, and a release that never used
an edge may tell who is alike. So the bound is about the edges of the coins alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata

from curator.attacks.audit_row import AuditRow, Effort
from curator.attacks.released_model import best_share, epsilon_of_guesses, guesses_of
from curator.pairs.ranking import auc_between
from curator.privacy.level import Level
from devices.array_types import BoolArray, DoubleArray, IntArray

PUBLIC, SIMILAR, INFLUENCE, ALL, COINS = "public", "similarity", "influence", "together", "coins"
_RIDGE = 1e-3  # of ranks, whose variance is 1/12: signals that are copies of one another have an inverse
Signals = Mapping[str, DoubleArray]


def largest_auc(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest area under the ROC curve that (epsilon, delta) allows against a fair coin.

    >>> round(largest_auc(1.0), 4), largest_auc(0.0), largest_auc(0.0, 0.5)
    (0.7311, 0.5, 0.875)
    """
    return 1 - (1 - delta) ** 2 / (1 + math.exp(min(epsilon, 700.0)))


def similarity(log_posteriors: DoubleArray, pairs: IntArray) -> DoubleArray:
    """float64 (m, 2): how alike two people's published probabilities are: cosine, and minus the distance of logarithms.

    Args:
        log_posteriors: float64 (n, classes), logarithms of everybody's probabilities.
        pairs: int64 (m, 2).
    """
    p = np.exp(log_posteriors)
    p /= np.maximum(np.linalg.norm(p, axis=1, keepdims=True), 1e-300)
    left, right = pairs.T
    distance = np.linalg.norm(log_posteriors[left] - log_posteriors[right], axis=1)
    return np.stack([np.einsum("ij,ij->i", p[left], p[right]), -distance], axis=1)


def public_signals(labels: IntArray, features: Any, pairs: IntArray) -> DoubleArray:
    """float64 (m, k): what public data say about a pair: one class, two classes, and the cosine of the features.

    Args:
        labels: int64 (n,), the public labels, -1 where a label is not public.
        features: CSR (n, d) where features are public, else None.
        pairs: int64 (m, 2).
    """
    left, right = pairs.T
    known = (labels[left] >= 0) & (labels[right] >= 0)
    same = labels[left] == labels[right]
    found = [known & same, known & ~same]
    if features is not None:
        norms = np.sqrt(np.asarray(features.multiply(features).sum(axis=1), np.float64)).ravel()
        inner = np.asarray(features[left].multiply(features[right]).sum(axis=1), np.float64).ravel()
        found.append(inner / np.maximum(norms[left] * norms[right], 1e-300))
    return np.stack(found, axis=1).astype(np.float64)


def discriminant(signals: DoubleArray, linked: BoolArray, taught: BoolArray) -> DoubleArray:
    """float64 (m,): log-odds of an edge, up to a constant factor, by Fisher's linear discriminant on ranks.

    Args:
        signals: float64 (m, k).
        linked: bool (m,), whether a pair has an edge; read where ``taught`` alone.
        taught: bool (m,), the pairs that the attacker knows. Without one of both kinds every score is 0.
    """
    ranks = (rankdata(signals, axis=0) - 0.5) / max(1, len(signals)) - 0.5
    groups = [ranks[taught & (linked == kind)] for kind in (True, False)]
    if not all(map(len, groups)):
        return np.zeros(len(signals))
    means = [group.mean(axis=0) for group in groups]
    left = np.concatenate([group - mean for group, mean in zip(groups, means, strict=True)])
    spread = left.T @ left / len(left) + _RIDGE * np.eye(ranks.shape[1])
    weights = np.linalg.solve(spread, means[0] - means[1])
    return np.asarray((ranks - (means[0] + means[1]) / 2) @ weights, np.float64)


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs of one run with the signals of each.

    Args:
        signals: Attacker -> float64 (m, k); an attacker without a signal is left out.
        linked: bool (m,), whether the run saw an edge there.
        taught: bool (m,), pairs that the attacker knows.
    """

    signals: Signals = field(repr=False)
    linked: BoolArray = field(repr=False)
    taught: BoolArray = field(repr=False)

    def scores(self, *attackers: str) -> DoubleArray:
        """Return the discriminant of these attackers' signals, float64 (m,)."""
        found = [self.signals[name] for name in attackers if name in self.signals]
        return discriminant(np.concatenate(found, axis=1), self.linked, self.taught)

    def auc(self, scores: DoubleArray) -> float:
        """Return the area under the ROC curve of the pairs that are not taught."""
        return auc_between(scores[self.linked & ~self.taught], scores[~self.linked & ~self.taught])


@dataclass(frozen=True)
class RebuildRow(AuditRow):
    """Row of an attack on the edges; ``passed`` is None where nothing bounds the attack, or a delta is above 0.

    Args:
        aucs: Attacker -> the area under the ROC curve of each run, on real edges and other pairs.
        coin_aucs: The same on the edges of the coins, of all signals together.
        delta: Delta of the claim.
        largest_auc: What the guarantee allows on the edges of the coins; None without one.
        right: Share of the guesses about coins that are right.
        largest_right: What the guarantee allows, e^eps / (1 + e^eps); None without one.
        guesses: Number of these guesses.
        pairs: Number of pairs that are scored in a run, half of them edges.
        coins: Number of edges of coins that are scored in a run.
    """

    aucs: Mapping[str, Sequence[float]] = field(default_factory=dict)
    coin_aucs: Sequence[float] = ()
    delta: float = 0.0
    largest_auc: float | None = None
    right: float | None = None
    largest_right: float | None = None
    guesses: int = 0
    pairs: int = 0
    coins: int = 0


def rebuild_row(
    name: str, runs: Sequence[tuple[ScoredPairs, ScoredPairs]], level: Level, effort: Effort, *, detail: str = ""
) -> RebuildRow:
    """Attack the pairs of all runs and compare with the level of an edge.

    Args:
        name: The method.
        runs: Real pairs and edges of coins, of each run. Runs have noise and coins of their own.
        level: The level ``relationship`` that holds for the release. Where no edge was asked its loss is 0.
        effort: Confidence; its trials are not used.
        detail: Words about the runs.
    """
    real, coins = ([run[which] for run in runs] for which in (0, 1))
    aucs = {PUBLIC: [pairs.auc(pairs.scores(PUBLIC)) for pairs in real]}
    for attacker in (SIMILAR, INFLUENCE):
        if all(attacker in pairs.signals for pairs in real):
            aucs[attacker] = [pairs.auc(pairs.scores(attacker)) for pairs in real]
    aucs[ALL] = [pairs.auc(pairs.scores(*pairs.signals)) for pairs in real]
    coin_aucs, right, guesses = [], 0, 0
    for pairs in coins:
        scores, known = pairs.scores(*pairs.signals), pairs.taught
        share = best_share(scores[known][None], pairs.linked[known][None], effort.error)
        hits, all_ = guesses_of(scores[~known][None], pairs.linked[~known][None], share)
        coin_aucs.append(pairs.auc(scores))
        right, guesses = right + hits, guesses + all_
    bound = epsilon_of_guesses(right, guesses, effort.error)
    claimed = 0.0 if level.status == "not asked" else level.value if level.status == "bounded" else None
    judged = claimed is not None and not level.delta
    return RebuildRow(
        name, "relationship", claimed, None, bound, effort.confidence, guesses,
        bound <= claimed if judged and claimed is not None else None, detail,
        aucs=aucs, coin_aucs=coin_aucs, delta=level.delta,
        largest_auc=None if claimed is None else largest_auc(claimed, level.delta),
        right=right / guesses if guesses else None,
        largest_right=None if claimed is None else largest_auc(claimed), guesses=guesses,
        pairs=int(np.sum(~real[0].taught)), coins=int(np.sum(~coins[0].taught)),
    )  # fmt: skip
