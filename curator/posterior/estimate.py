"""Posterior of a curator: from what was told to everybody's class.

The evidence (:mod:`ldpsim.curator.evidence.evidence`) goes through the block model
(:mod:`ldpsim.curator.posterior.block_model`). Its beliefs, and other readings of its edges, are pooled and guarded
(:mod:`ldpsim.curator.posterior.answer`). Training labels are the sources. Validation labels guard; both fit exponents.
Nothing is random: samples and folds have fixed seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_softmax

from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.learning.graph_components import BY_HEART, graph_components
from ldpsim.curator.posterior.answer import GuardedAnswer, guarded_answer
from ldpsim.curator.posterior.block_model import SparsePosterior, fit_block_model, symmetric
from ldpsim.devices.array_types import DoubleArray, IntArray

SEED = 0
LIKELY = 0.02  # smallest probability of an edge that is kept
BELIEFS, _FEATURES, _AGREED, _LARGEST = "beliefs", "features", "label propagation on S", "largest class"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Result.

    Args:
        answer: Everybody's class, and how it was chosen.
        model: The block model.
        components: float64 (n, classes) by name: what was pooled.
        left, right, probability: The pairs with P >= .02, left < right.
    """

    answer: GuardedAnswer
    model: SparsePosterior
    components: Mapping[str, DoubleArray] = field(repr=False)
    left: IntArray = field(repr=False)
    right: IntArray = field(repr=False)
    probability: DoubleArray = field(repr=False)

    def notes(self) -> dict[str, Any]:
        """Return the facts of the estimate for the record."""
        model, found = self.model, self.answer
        return {
            "answer": found.chosen,
            "validation_accuracy": dict(found.accuracy),
            "exponents": dict(found.exponents),
            "pairs": len(model.pairs.left),
            "expected_edges": float(model.probability.sum()),
            "rounds": model.rounds,
            "stopped": model.stopped,
        }


def estimate(evidence: Evidence) -> Estimate:
    """Return the posterior of the evidence; training labels are the sources."""
    people = evidence.people.log_probability
    model, components, late = _read(evidence, evidence.train)
    simpler = {_FEATURES: people} if _FEATURES in components else {}
    if _AGREED in late:
        simpler[_AGREED] = late[_AGREED]
    shares = evidence.class_estimates(evidence.train).sum(axis=0)
    simpler[_LARGEST] = np.tile(np.log(np.maximum(shares, 0) + 1), (len(people), 1))
    prior = {name: float(name == BELIEFS) for name in components}
    published = guarded_answer(
        components, simpler, evidence.labels, evidence.val, train=evidence.train, late=late, prior=prior,
    )  # fmt: skip
    kept = model.probability >= LIKELY
    left, right, probability = model.pairs.left[kept], model.pairs.right[kept], model.probability[kept]
    return Estimate(published, model, {**components, **late}, left, right, probability)


_Parts = dict[str, DoubleArray]


def _read(evidence: Evidence, sources: IntArray) -> tuple[SparsePosterior, _Parts, _Parts]:
    """Return the posterior, the components of the pool and its late ones, with the labels of these people."""
    people = evidence.people.log_probability
    own, labels = evidence.own(sources), evidence.class_estimates(sources)
    model = fit_block_model(evidence.links, people, own, labels, evidence.scores, seed=SEED)
    left, right, n = model.pairs.left, model.pairs.right, len(people)
    kept = model.probability >= LIKELY
    likely = symmetric(left[kept], right[kept], model.probability[kept], n)
    agreed = symmetric(left, right, np.ones(len(left)), n)
    found = graph_components(evidence.rows, likely, agreed, evidence.labels, sources)
    late = {name: rows for name, rows in found.items() if name in BY_HEART}
    components = {BELIEFS: log_softmax(model.beliefs.total, axis=1)}
    components |= {name: rows for name, rows in found.items() if name not in BY_HEART}
    if evidence.people.components:
        components[_FEATURES] = people
    return model, components, late
