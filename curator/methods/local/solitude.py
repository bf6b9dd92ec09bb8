"""Solitude (Lin, Li and Wang, "Towards Private Learning on Decentralized Graphs", https://arxiv.org/abs/2201.09398).

On the devices, for n people with d features in [x_min, x_max]:

    a~_ij = a_ij with probability e^eps_a / (1 + e^eps_a), else 1 - a_ij                             (4)
    x^_ij = -1 or 1 for m drawn features, 1 with probability                                         (7)
            1 / (e^(eps_x/m) + 1) + (x_ij - x_min) / (x_max - x_min) (e^(eps_x/m) - 1) / (e^(eps_x/m) + 1)
            and 0 for the others
    x~_ij = d (x_max - x_min) / (2 m) (e^(eps_x/m) + 1) / (e^(eps_x/m) - 1) x^_ij
            + (x_max + x_min) / 2                                                               (8), (9)

a~_i is the whole list, eps_a a bit; eps_x is for the whole vector. Each reported one is a *directed* edge: N(i) are the
nodes that i reported. Labels are public.

At the curator, with A~ (n, n) the reported ones, X^c (n, d), and theta the network's weights:

    x^c_i = sum_{j in N(i)} x~_j / (|N(i)| |N(j)|), l_x times                                       (11)
    p(y^c | x~_i) = sum_{j in N(i)} p(y | x~_j) / (|N(i)| |N(j)|), l_y times                        (12)
    L_GNN(A^c, X^c, theta) = - sum over the labelled i of ln p(y^c = y_i | x~_i)                    (13)
    min over A^c, theta of  L_GNN + lambda_1 ||A~ - A^c||_F^2 + lambda_2 ||A^c||_1                  (14)

Eqs. 12 to 14 are :mod:`ldpsim.curator.learning.edge_weights`. The prediction is argmax_y p(y | x~), without (12).

What the paper leaves open, and deviations:

- The weights of eqs. 11 and 12 do not sum to 1, so a hop shrinks features (by 1/k in a k-regular
  graph). The text says "mean aggregator", and ``smoothing="mean"`` (1/|N(i)|) is the default.
  ``"symmetric"`` is 1/sqrt(|N(i)| |N(j)|); ``"printed"`` is the equations as they stand.
- Eq. 14 is solved for the reported edges only, with the exact proximal step; elsewhere A~ is 0.
  The paper alternates steps of theta and A^c; here one backward pass serves both.
- L_GNN is the mean over the labelled nodes, where eq. 13 has the sum.
- The published code learns other labels than the paper says, ``label_target="smoothed"``, and a
  probability has a floor in its losses, ``loss_floor=1e-20``: that of training, and that of validation people which
  chooses the epoch (``selection``). Its structure learning has no effect.
- The paper is silent on scaling. ``features="standardised"`` brings every smoothed column to
  mean 0 and standard deviation 1; ``"literal"`` leaves it.
- ``topology="and"`` and ``"or"`` take the pairs that both ends, or one, reported. The paper's
  directed graph does not use this information.

``fp-solitude`` has HoGS's feature setting: the 1-bit mechanism on every feature with eps_f each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix, mean_matrix
from ldpsim.curator.linear.scaling import standardise
from ldpsim.curator.methods.base import (
    BOTH_ENDS,
    Budget,
    Graph,
    LocalMethod,
    MethodSpec,
    Question,
    option_in_errors,
)
from ldpsim.curator.methods.local.feature_questions import split_budget
from ldpsim.curator.methods.local.graphs import labelled_graph, reported_edges
from ldpsim.curator.methods.local.label_questions import with_labels
from ldpsim.curator.methods.local.sampled_features import SAMPLED, sampled_number
from ldpsim.curator.methods.parameters import ABOVE_0, NUMBER, between, one_of, parameter, unused, whole
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.estimates import smoothed
from ldpsim.curator.reports.pairs import reported_pairs
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import Mechanism, MultiBit, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings


@dataclass(frozen=True)
class Solitude(LocalMethod):
    """Solitude.

    Args:
        l_x, l_y: Hops of feature and label smoothing.
        smoothing: ``mean``, ``symmetric`` or ``printed``.
        features: ``standardised`` or ``literal``.
        lambda_1, lambda_2: Penalties of eq. 14.
        structure_rate: Learning rate of the edge weights; 0 keeps them at 1.
        label_target: Class to learn: ``own`` label, or ``smoothed``: the likeliest class after l_y hops of the labels
            (the published code, which also takes a softmax of the smoothed posteriors).
        loss_floor: Added to a probability before its logarithm is taken; the published code has 1e-20.
        topology: ``noisy``: every reported one, directed; ``and``, ``or``: pairs that both
            ends, or one, reported.
        m: Sampled features: ``optimal``, ``floor`` (LPGNN's rule) or a number.

    Raises:
        ValueError: for a parameter outside its range.
    """

    l_x: int = parameter(4, whole(0, 100))
    l_y: int = parameter(4, whole(0, 100))
    smoothing: str = parameter("mean", one_of("mean", "symmetric", "printed"))
    features: str = parameter("standardised", one_of("standardised", "literal"))
    lambda_1: float = parameter(1e-3, NUMBER, structure_rate=ABOVE_0)
    lambda_2: float = parameter(1e-3, NUMBER, structure_rate=ABOVE_0)
    structure_rate: float = parameter(0.01, NUMBER)
    label_target: str = parameter("own", one_of("own", "smoothed"), l_y=ABOVE_0)
    loss_floor: float = parameter(0.0, between(0, 1))
    topology: str = parameter("noisy", one_of("noisy", "and", "or"))
    m: str = parameter("optimal", SAMPLED)

    spec = MethodSpec(
        name="solitude", memory="weighted edges", private=("adjacency", "features"),
        paper="Lin et al., Towards Private Learning on Decentralized Graphs with Local DP (Solitude)",
        mechanisms=("randomized_response", "multi_bit", "grr"), default_gnn="sage", networks=("gcn", "sage", "gat"),
        training_defaults={"weight_decay": 1e-2, "gnn_dropout": 0.5, "epochs": 500, "activation": "selu"},
        search_grid=(
            {"l_x": (0, 2, 4), "l_y": (0, 2, 4)},
            {"smoothing": ("mean", "symmetric"), "lr": (0.01, 0.1), "weight_decay": (1e-2, 1e-3, 1e-4)},
        ),
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon", "feature_share"},
        finer=("eps_adjacency", "eps_features"),
    )  # fmt: skip
    theorem: ClassVar[str] = "Corollary 3.1"
    added: ClassVar[str] = "Corollary 3.1 adds one bit of a list and the feature vector"

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Eqs. 4 and 7: one question to everybody; private labels are asked of the labelled nodes."""
        eps_a, eps_f = split_budget(budget)
        if eps_f is None:
            raise ValueError(f"{self.spec.name} asks for features: --public-features does not fit it")
        if budget.reporting != "both":
            raise ValueError(f"--reporting {budget.reporting}: {self.spec.name} needs the whole list of everybody")
        with option_in_errors("--eps-adjacency", budget.eps_adjacency, budget, eps_a):
            flip = RandomizedResponse.from_epsilon(eps_a, n=facts.n)
        with option_in_errors("--eps-features", budget.eps_features, budget, eps_f):
            mechanism = self._features(eps_f, facts)
        asks = (Ask("adjacency", (flip,)), Ask("features", (mechanism,)))
        return with_labels(asks, facts, split, budget, collection, self.spec.name)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Eq. 11 over the noisy graph; an edge runs from j in N(i) to i."""
        edges = reported_edges(reported_pairs(reports, self.topology))
        matrix = self._smoother(adjacency_matrix(reports.facts.n, edges))
        features = smoothed(reports, matrix, self.l_x)
        notes: dict[str, Any] = {"edges": edges.shape[1]}
        if self.features == "standardised":
            if isinstance(features, Factored):
                features, centre, scale = features.standardised()
            else:
                centre, scale = standardise(features, reports.reported("features"))
            notes.update(feature_centre=centre, feature_scale=scale)
        return labelled_graph(features, edges, None, notes, reports, public)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Eqs. 12 to 14; see :func:`ldpsim.curator.learning.edge_weights.train_with_edge_weights`."""
        from ldpsim.curator.learning.edge_weights import Structure, train_with_edge_weights

        smoother = self._smoother(adjacency_matrix(graph.features.shape[0], graph.edge_index))
        structure = Structure(self.lambda_1, self.lambda_2, self.structure_rate, smoother, self.l_y,
                              self.label_target == "smoothed", self.loss_floor)  # fmt: skip
        return train_with_edge_weights(
            graph, structure=structure, settings=settings, classes=classes, seed=seed, device=device
        )

    def claim(self, budget: Budget) -> Claim:
        """Return Corollary 3.1."""
        eps_a, eps_f = split_budget(budget)
        total = eps_a + (eps_f or 0)
        return Claim(
            f"epsilon-LDP for every user, epsilon = {shown_loss(total)} ({self.theorem})", total,
            (f"{self.added}; the whole record is the row 'a person'", BOTH_ENDS),
        )  # fmt: skip

    def _features(self, eps_x: float, facts: PublicFacts) -> Mechanism:
        m, low, high = sampled_number(self.m, facts.d), facts.feature_low, facts.feature_high
        return MultiBit.from_epsilon(eps_x, d=facts.d, m=m, low=low, high=high)

    def _smoother(self, adjacency: csr_array) -> csr_array:
        if self.smoothing == "mean":
            return mean_matrix(adjacency)
        if self.smoothing == "symmetric":
            return kprop_matrix(adjacency)
        sums = np.asarray(adjacency.sum(axis=1, dtype=np.float64)).ravel()
        inverse = diags_array(np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0))
        return csr_array(inverse @ adjacency @ inverse).astype(np.float32)


@dataclass(frozen=True)
class FPSolitude(Solitude):
    """Solitude in HoGS's feature setting: each feature by 1-bit with eps_f; parameters as :class:`Solitude`."""

    m: str = unused("optimal")

    spec = replace(
        Solitude.spec, name="fp-solitude",
        paper="Solitude as compared by Xu et al. (HoGS): 1-bit on every feature",
        mechanisms=("randomized_response", "one_bit", "grr"),
    )  # fmt: skip
    theorem: ClassVar[str] = "HoGS's Theorem 4, a feature at a time"
    added: ClassVar[str] = "the claim adds one bit of a list and one feature"

    def _features(self, eps_x: float, facts: PublicFacts) -> Mechanism:
        return OneBit.from_epsilon(eps_x, d=facts.d, low=facts.feature_low, high=facts.feature_high)
