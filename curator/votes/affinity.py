"""Affinity between classes, from the first answers of a collection.

A quarter of the labelled people are asked before all others: of which class are most of your neighbours? All
classes are candidates, and what is published of a person plays no part in the answer. N[c, k] of them are of class
c and report k. GRR keeps an answer with probability 1 - l and otherwise draws a class, so

    Om[c, k] = (P[c, k] - l / C) / (1 - l),    P[c, k] = (N[c, k] + k0 B[c, k]) / (N[c, .] + k0),

at least .01 / C. Its rows sum to 1. Everybody else votes with Om in the place of a homophily. B is what one number,
a homophily h, says of these answers: h (1 - l) [c = k] + (1 - h (1 - l)) N[., k] / N, with the likeliest h.

Om is taken only if P predicts the answers better than B does, each answer by the counts of the others. This is a
choice by likelihood from answers that were given anyway; nobody is asked twice.
"""

from __future__ import annotations

import math

import numpy as np

from ldpsim.curator.learning.naive_bayes import folds_of
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import Split

QUARTER = 4
LEAST_KEPT = 0.3
LEAST_PEOPLE = 10  # for each class, among those who are asked first
_PRIOR_COUNT = 20.0
_FLOOR = 0.01
_SHARES = tuple(step / 20 for step in range(20))


def first_people(split: Split, classes: int, epsilon: float) -> IntArray:
    """int64: the labelled people who are asked first, sorted; nobody where too little could be learned from them.

    That is where they are few for the number of classes, or where GRR keeps few answers.
    """
    labelled = split.labelled
    first = labelled[folds_of(len(labelled), QUARTER, seed=1) == 0]
    enough = len(first) >= LEAST_PEOPLE * classes and kept_share(epsilon, classes) >= LEAST_KEPT
    return first if enough else first[:0]


def kept_share(epsilon: float, values: int) -> float:
    """Return 1 - l of GRR over this many values.

    >>> round(kept_share(2.0, 7), 2)
    0.48
    """
    odds = math.expm1(min(epsilon, 700.0))
    return odds / (odds + values)


def without_people(split: Split, people: IntArray) -> Split:
    """Return the division without these people."""
    train, val = (np.setdiff1d(nodes, people) for nodes in (split.train, split.val))
    return Split(train, val, split.test)


def learned_affinity(named: IntArray, told: DoubleArray, kept: float) -> DoubleArray | None:
    """Return Om, float64 (classes, classes); None where a homophily predicts the answers as well.

    Args:
        named: int64 (m,): reported classes; other values, of people who know nobody, are left out.
        told: float64 (m, classes): what is known of each label (:class:`ldpsim.curator.votes.knowledge.VoteEvidence`).
        kept: 1 - l.
    """
    classes = told.shape[1]
    some = (named >= 0) & (named < classes) & (told.sum(axis=1) > 0)
    named, told = named[some], told[some]
    counts = np.zeros((classes, classes))
    np.add.at(counts.T, named, told)
    overall = (counts.sum(axis=0) + 1) / (counts.sum() + classes)
    own = counts[:, named].T - told  # (m, classes): the counts of the others
    others = counts.sum(axis=1) - told
    plain = [share * kept * np.eye(classes) + (1 - share * kept) * overall for share in _SHARES]
    scores = [_score(law.T[named], told) for law in plain]
    base = plain[int(np.argmax(scores))]
    by_counts = (own + _PRIOR_COUNT * base.T[named]) / (others + _PRIOR_COUNT)
    if not _score(by_counts, told) > max(scores):
        return None
    probability = (counts + _PRIOR_COUNT * base) / (counts.sum(axis=1, keepdims=True) + _PRIOR_COUNT)
    inverted = np.maximum((probability - (1 - kept) / classes) / kept, _FLOOR / classes)
    return np.asarray(inverted / inverted.sum(axis=1, keepdims=True))


def _score(chance: DoubleArray, told: DoubleArray) -> float:
    """Log-likelihood of the answers: sum of ln sum_c told(c) chance(c)."""
    return float(np.log((told * chance).sum(axis=1) / told.sum(axis=1)).sum())
