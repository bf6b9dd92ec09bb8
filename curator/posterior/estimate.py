"""Posterior of a curator: from what was told to everybody's class.

The knowledge (:mod:`ldpsim.curator.knowledge.knowledge`) goes through a block model. Its beliefs, and other
readings of its edges, are pooled and guarded. Training labels are the sources. Validation labels guard; both fit
exponents. Nothing is random: samples and folds have fixed seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_softmax

from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.posterior.block_model import LIKELY, SparsePosterior, fit_block_model, symmetric
from ldpsim.curator.posterior.components import LINK, ON_PAIRS, graph_components
from ldpsim.curator.posterior.guarded_answer import GuardedAnswer, guarded_answer
from ldpsim.devices.array_types import DoubleArray, IntArray

SEED = 0  # of the sampled pairs
BELIEFS, FEATURES, LARGEST = "beliefs", "features", "largest class"


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
        model, answer = self.model, self.answer
        return {
            "answer": answer.chosen,
            "validation_accuracy": dict(answer.accuracy),
            "exponents": dict(answer.exponents),
            "pairs": len(model.pairs.left),
            "expected_edges": float(model.probability.sum()),
            "rounds": model.rounds,
            "stopped": model.stopped,
        }


def estimate(knowledge: Knowledge) -> Estimate:
    """Return the posterior of the knowledge; training labels are the sources."""
    people, sources = knowledge.people.log_probability, knowledge.train
    labels, log_likelihood = knowledge.class_estimates(sources), knowledge.label_log_likelihood(sources)
    model = fit_block_model(knowledge.links, people, log_likelihood, labels, knowledge.scores, seed=SEED)
    likely, pairs = model.probability >= LIKELY, model.pairs
    left, right, probability = pairs.left[likely], pairs.right[likely], model.probability[likely]
    links = symmetric(left, right, probability, len(people))
    agreed = symmetric(pairs.left, pairs.right, np.ones(len(pairs.left)), len(people))
    early, late = graph_components(knowledge.rows, links, agreed, knowledge.labels, sources, knowledge.val)
    components, simpler = {BELIEFS: log_softmax(model.beliefs.total, axis=1), **early}, {}
    if knowledge.people.components:
        components[FEATURES] = simpler[FEATURES] = people
    simpler |= {name: late[name] for name in (ON_PAIRS, LINK) if name in late}
    simpler[LARGEST] = np.tile(np.log(np.maximum(labels.sum(axis=0), 0) + 1), (len(people), 1))
    prior = {name: float(name == BELIEFS) for name in components}
    answer = guarded_answer(components, simpler, knowledge.labels, knowledge.val, train=sources, late=late, prior=prior)
    return Estimate(answer, model, {**components, **late}, left, right, probability)
