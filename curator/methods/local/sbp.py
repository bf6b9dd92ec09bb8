"""SBP: a sparse block-model posterior of edges and classes.

The devices answer the question of another method, HoGS's unless ``asks`` names another one. Nothing more is asked,
so the guarantee is that method's. The curator computes, from any such reports of n people of C classes:

1. D_i, the estimated number of friends of person i, and s_ij, the log-likelihood ratio of "edge" to "no edge" by what
   both ends report of the pair (i, j) (:mod:`ldpsim.curator.links.link_likelihood`).
2. L_i(c), the logarithm of the probability of class c by the features of i alone
   (:mod:`ldpsim.curator.features.feature_posterior`).
3. pi_ij, the probability of an edge before the reports of the pair are read: logistic in what is public or estimated of
   both people. Its parameters maximise the likelihood of all reports (:mod:`ldpsim.curator.links.edge_prior`). Then

       P_ij = pi_ij e^s_ij / (pi_ij e^s_ij + 1 - pi_ij).

4. Belief propagation over the pairs S of which a report says "edge" and none denies it, in a block model in which the
   odds of an edge grow with the affinity Om of the two classes (:mod:`ldpsim.curator.links.belief_propagation`):

       M_{j->i}(c) = 1 + o_ij (Om nu_{j->i})_c (e^s_ij - 1),     belief of i: L_i(c) + sum over j of ln M_{j->i}(c).

   Steps 3 and 4 are repeated with the classes found (:mod:`ldpsim.curator.posterior.block_model`).
5. The pool ln P_i(c) = sum over components k of a_k x_k(i, c), of the beliefs, the features, and other models of the
   edges (:mod:`ldpsim.curator.posterior.components`); the exponents a_k >= 0 are fitted to known labels
   (:mod:`ldpsim.curator.learning.pool`). The answer is the pool, unless validation people are predicted better by
   features alone, by label propagation, by LINK, or by the largest class
   (:mod:`ldpsim.curator.posterior.guarded_answer`).

No network is trained.

Belief propagation in block models: Decelle, Krzakala, Moore and Zdeborova 2011,
https://doi.org/10.1103/PhysRevE.84.066106; degrees: Karrer and Newman 2011, https://doi.org/10.1103/PhysRevE.83.016107.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, Question
from ldpsim.curator.methods.local.blink import Blink
from ldpsim.curator.methods.local.dprr import DPRR
from ldpsim.curator.methods.local.graphs import both_ways
from ldpsim.curator.methods.local.hogs import HoGS
from ldpsim.curator.methods.local.lp_and import LPAnd
from ldpsim.curator.methods.local.lpgnn import LPGNN
from ldpsim.curator.methods.local.rgnn import RGNN
from ldpsim.curator.methods.local.rr import RR, SymRR
from ldpsim.curator.methods.local.solitude import FPSolitude, Solitude
from ldpsim.curator.methods.parameters import one_of, parameter
from ldpsim.curator.methods.spec import MethodSpec
from ldpsim.curator.privacy.guarantee import Claim, Guarantee
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings
    from ldpsim.curator.posterior.estimate import Estimate

_ASKED = (HoGS, RGNN, LPGNN, Solitude, FPSolitude, Blink, RR, SymRR, DPRR, LPAnd)
ASKED_METHODS: Mapping[str, type[LocalMethod]] = {kind.spec.name: kind for kind in _ASKED}


@dataclass(frozen=True, eq=False)
class PosteriorGraph(Graph):
    """The likely edges, weighted by their probability, and the estimate that they come from."""

    estimate: Estimate | None = field(default=None, repr=False)


@dataclass(frozen=True)
class SBP(LocalMethod):
    """The posterior.

    Args:
        asks: Method whose question is asked, with its defaults: ``hogs``, ``rgnn`` or ``lpgnn`` (a public graph, noisy
            labels), ``solitude``, ``fp-solitude``, ``blink``, ``rr``, ``symrr``, ``dprr`` or ``lp-and``.

    Raises:
        ValueError: for an unknown choice.
    """

    asks: str = parameter("hogs", one_of(*ASKED_METHODS))

    spec = MethodSpec(
        name="sbp", memory="messages",
        private=("adjacency", "features"),
        paper="this project: sparse block-model posterior of the reports of another method",
        mechanisms=("randomized_response", "one_bit", "grr"),
        # nothing to choose
        search_grid=({},), common_selection=False,
        trains_network=False, options=HoGS.spec.options,
    )  # fmt: skip

    @property
    def asked_method(self) -> LocalMethod:
        """The method whose question is asked, with its defaults."""
        return ASKED_METHODS[self.asks]()

    def effective_spec(self) -> MethodSpec:
        """As :meth:`~ldpsim.curator.methods.base.Method.effective_spec`.

        What devices are asked is the other method's.
        """
        other = self.asked_method.effective_spec()
        features = {"public_features"} if other.public_features else set()
        return replace(
            self.spec, private=other.private, options=other.options | o.NETWORK | features, finer=other.finer,
            public_graph=other.public_graph, asks_labels=other.asks_labels,
        )  # fmt: skip

    @property
    def features_optional(self) -> bool:
        """Whether the reports of HoGS's devices are asked for: the rule of ``--feature-share auto`` is for them."""
        return self.asks == "hogs"

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Return the questions of the other method."""
        return self.asked_method.questions(facts, split, budget, collection)

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return the guarantee of the other method."""
        return self.asked_method.guarantee(facts, questions, budget, collections=collections)

    def claim(self, budget: Budget) -> Claim:
        """Return the claim of the other method."""
        return self.asked_method.claim(budget)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Steps 1 to 5; the edges are the pairs with a probability of at least .02."""
        from ldpsim.curator.posterior.estimate import estimate

        knowledge = Knowledge(reports, public)
        posterior = estimate(knowledge)
        features: Any = public.features
        if features is None:
            features = csr_array((reports.facts.n, 0), dtype=np.float32)
        weights = np.tile(posterior.probability.astype(np.float32), 2)
        return PosteriorGraph(
            features, both_ways(posterior.left, posterior.right), weights, knowledge.labels.labels, knowledge.train,
            knowledge.val, {"posterior": posterior.notes()}, posterior,
        )  # fmt: skip

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Return the answer of :meth:`reconstruct`; settings, seed and device have no effect.

        Raises:
            ValueError: if no training node has a label.
        """
        import torch
        from torch import nn

        from ldpsim.curator.learning.training import NO_LABEL, TrainedNetwork

        if not len(graph.train):
            raise ValueError(NO_LABEL)
        assert isinstance(graph, PosteriorGraph) and graph.estimate is not None
        started = time.perf_counter()
        answer, model = graph.estimate.answer, nn.Module()
        parameters = {"exponents": list(answer.exponents.values()), "affinity": graph.estimate.model.affinity,
                      "edge_prior": graph.estimate.model.prior.parameters}  # fmt: skip
        for name, values in parameters.items():
            model.register_buffer(name, torch.tensor(np.asarray(values, np.float32)))
        predictions = answer.log_probability.argmax(axis=1).astype(np.int64)
        return TrainedNetwork(model, predictions, 1, answer.accuracy[answer.chosen], time.perf_counter() - started,
                              answer.log_probability)  # fmt: skip
