"""HoGS: homophily-oriented graph synthesis (Xu et al. 2026, https://arxiv.org/abs/2602.08762).

A is the adjacency matrix, (n, n), and X are the features, (n, d). Algorithm 1, on the devices, with
eps_a = (1 - delta) eps and eps_f = delta eps; delta is ``--feature-share``, not a probability of failure:

    A~_ij = RR(A_ij, eps_a)       keeps the bit with probability e^eps_a / (1 + e^eps_a)           line 3
    X~_ik = 1-Bit(X_ik, eps_f)    1 with probability (1 + X_ik (e^eps_f - 1)) / (1 + e^eps_f),     line 7
                                  where X_ik lies in [0, 1]

Algorithm 2, topology reconstruction, for every pair of nodes:

    s_ij = X~_i . X~_j / (||X~_i|| ||X~_j||)                                     (6)
    l_ij = Pr[(A~_ij, A~_ji) | an edge],   l'_ij = Pr[(A~_ij, A~_ji) | no edge]  (7), (8)
    P_ij = l_ij s_ij / (l_ij s_ij + l'_ij (1 - s_ij))                            (9)
    E^ = {(v_i, v_j) : P_ij >= tau}                                              line 11

Algorithm 3, feature reconstruction, with X^(0) = X~, and t = 1 .. l:

    V_i = {v_j : P_ij >= .5},   X^(t)_i = sum_{V_i} P_ij X^(t-1)_j / sum_{V_i} P_ij   (10)

A graph network (``--gnn``) is then trained on the edges E^ and the features X^(l), with the labels of the training
people. With public features nobody is asked for them: X stands for X~, and eps_a = eps.

What the paper does not say, and where this differs:

- A device is not asked about itself. s_ii = 1 gives P_ii = 1, so V_i holds v_i with weight 1;
  E^ has no self-loop.
- A pair with one report has the likelihood of this report alone (the other device did not answer, or
  reporting is one-end). A pair without a report is never an edge.
- A device that did not answer has no X~_i: its cosines and its row of X^ are 0. Without a report of its
  features it gets no edge.
- The paper does not say how X^ is scaled. Its bits are biased by a large constant, and a GNN
  trained on them predicts the majority class. ``scaling="standardised"`` (the default) brings
  every column to mean 0 and standard deviation 1; ``"debiased"`` takes the mechanism's unbiased
  estimate, ((e^eps_f + 1) X^ - 1) / (e^eps_f - 1); ``"literal"`` leaves X^ as it is.

The ablation (Section V-D) replaces parts, or leaves them out. ``topology="blink"`` takes the pairs that Blink's
posterior (:mod:`ldpsim.curator.methods.local.blink`) finds more likely than not, and its P_ij as the weights of
eq. 10. The degree that Blink needs is asked for ``degree_share`` of eps_a. ``"and"`` and ``"or"`` take the pairs whose
reports all, or any, say 1; ``"noisy"`` takes each reported 1 as a directed edge. ``features="kprop"`` replaces
Algorithm 3 by LPGNN's KProp with K = l on the reconstructed edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.factored import product_of
from ldpsim.curator.linear.packed_bits import LARGE, PackedBits
from ldpsim.curator.linear.propagation import adjacency_matrix, bit_strips, kprop_matrix, mean_matrix, propagate
from ldpsim.curator.linear.scaling import PUBLIC_SCALINGS, scale_public, standardise
from ldpsim.curator.links.hogs import likely_links
from ldpsim.curator.links.similarity import BitRows, Rows, public_rows
from ldpsim.curator.methods.base import (
    Budget,
    Graph,
    LocalMethod,
    MethodSpec,
    Question,
    of_an_edge,
    option_in_errors,
)
from ldpsim.curator.methods.local import blink
from ldpsim.curator.methods.local.feature_questions import ask_features, split_budget
from ldpsim.curator.methods.local.graphs import both_ways, labelled_graph, reported_edges
from ldpsim.curator.methods.local.label_questions import with_labels
from ldpsim.curator.methods.parameters import ABOVE_0, SHARE, one_of, parameter, whole
from ldpsim.curator.methods.spec import TRAINING_GRID
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.pairs import reported_pairs
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import noisy_rows_of_bits
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask

HOPS, SCALING = whole(0, 100), one_of("standardised", "literal", "debiased")
POTENTIAL = 0.5  # smallest P_ij of a potential neighbour, Section III-D


@dataclass(frozen=True)
class HoGS(LocalMethod):
    """HoGS, and the parts of its ablation.

    Args:
        tau: Smallest P_ij of an edge, in (0, 1).
        l: Number of feature reconstructions; 0 for none.
        scaling: Scaling of reconstructed private features.
        public_scaling: Scaling of public features.
        topology: ``hogs`` (Algorithm 2), ``blink``, ``and``, ``or`` or ``noisy``.
        features: ``weighted`` (Algorithm 3) or ``kprop``.
        degree_share: Share of eps_a for the degree that ``topology="blink"`` asks for, in (0, 1).

    Raises:
        ValueError: for a parameter outside its range.

    >>> HoGS(tau=0.7).topology
    'hogs'
    """

    tau: float = parameter(0.9, SHARE, topology=("hogs",))
    l: int = parameter(2, HOPS)  # noqa: E741 - the paper's name
    scaling: str = parameter("standardised", SCALING, public_features=(False,))
    public_scaling: str = parameter("literal", one_of(*PUBLIC_SCALINGS), public_features=(True,))
    topology: str = parameter("hogs", one_of("hogs", "blink", "and", "or", "noisy"))
    features: str = parameter("weighted", one_of("weighted", "kprop"), l=ABOVE_0)
    degree_share: float = parameter(0.1, SHARE, topology=("blink",))

    spec = MethodSpec(
        name="hogs",
        # For each likely pair: both ends and P in both directions, the keys by which pairs are sorted, their order.
        memory="likely pairs",
        private=("adjacency", "features"),
        paper="Xu et al., HoGS: Homophily-Oriented Graph Synthesis for Local DP GNN Training",
        mechanisms=("randomized_response", "one_bit", "grr"),
        # l, weight decay and dropout: measured better than l 1, 1e-4 and .1 (docs/results/earlier.md)
        training_defaults={"weight_decay": 1e-3, "gnn_dropout": 0.5},
        search_grid=(
            {"tau": (0.5, 0.7, 0.9), "l": (0, 1, 2), "lr": (0.01, 0.1)},
            {"weight_decay": (1e-3, 1e-4, 1e-5), "gnn_dropout": (0.1, 0.5)},
        ),
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS
        | {"epsilon", "feature_share", "public_features", "reporting"}, finer=("eps_adjacency", "eps_features"),
    )  # fmt: skip

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Algorithm 1: one question to everybody; private labels are asked of the labelled nodes only."""
        eps_a, eps_f = split_budget(budget)
        with option_in_errors("--eps-adjacency", budget.eps_adjacency, budget, eps_a):
            asks = [Ask("adjacency", self.perturb_adjacency(facts, budget, eps_a))]
        if eps_f is not None:
            asks.append(ask_features(facts, budget, eps_f))
        return with_labels(tuple(asks), facts, split, budget, collection, self.spec.name)

    def perturb_adjacency(self, facts: PublicFacts, budget: Budget, eps_a: float) -> tuple[Mechanism, ...]:
        """Algorithm 1, lines 2 to 4: randomised response with eps_a a bit; Blink's topology asks for the degree too."""
        if self.topology == "blink":
            share = self.degree_share
            return blink.row_and_degree(facts, budget, (1 - share) * eps_a, share * eps_a, "topology=blink")
        return (RandomizedResponse.from_epsilon(eps_a, n=facts.n, reporting=budget.reporting),)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Algorithms 2 and 3."""
        if reports.features is None and public.features is None:
            raise ValueError("hogs needs features: neither reported nor public ones are there")
        edges, weights, notes = self.reconstruct_topology(reports, public)
        if self.features == "kprop":
            weights = kprop_matrix(adjacency_matrix(reports.facts.n, edges))
        if reports.features is None:
            features: Any = scale_public(propagate(weights, public.features, self.l), self.public_scaling)
        else:
            features = reconstruct_features(reports, weights, self.l, self.scaling, notes)
        return labelled_graph(features, edges, None, notes, reports, public)

    def reconstruct_topology(
        self, reports: Reports, public: PublicKnowledge
    ) -> tuple[IntArray, csr_array, dict[str, Any]]:
        """Algorithm 2, or its replacement.

        Returns:
            E^, int64 (2, E) in both directions; the weights of eq. 10, float32 CSR (n, n), which Algorithm 2 leaves
            empty where ``l`` is 0; diagnostics.
        """
        n = reports.facts.n
        if self.topology == "blink":
            posterior, notes = blink.link_posterior(reports)
            pairs, _ = blink.chosen_links(posterior, "hard", 0.0, notes)
            return both_ways(pairs.left, pairs.right), link_weights(pairs, n), notes
        if self.topology != "hogs":
            graph = reported_pairs(reports, self.topology).astype(np.float32)  # i takes the features of row i
            edges = reported_edges(graph)
            undirected = np.unique(edges.min(axis=0) * n + edges.max(axis=0))
            return edges, mean_with_self(graph), {"edges": len(undirected)}
        bits = noisy_rows_of_bits(reports)
        if reports.features is not None:
            bits_of_features(reports)
        rows: Rows = public_rows(public.features) if reports.features is None else BitRows(reports.features)
        links = likely_links(bits, rows, min(self.tau, POTENTIAL) if self.l else self.tau)
        edge = links.at_least(self.tau)
        edges = both_ways(edge.left, edge.right)
        notes = {"edges": len(edge), "pairs_compared": links.looked_at, "path": links.path}
        if not self.l:  # the pairs between POTENTIAL and tau are not there, and no feature is reconstructed
            return edges, csr_array((n, n), dtype=np.float32), notes
        potential = links.at_least(POTENTIAL)
        return edges, link_weights(potential, n), {**notes, "potential_links": len(potential)}

    def effective_spec(self) -> MethodSpec:
        """As :meth:`~ldpsim.curator.methods.base.Method.effective_spec`.

        Blink's topology fits whole degrees, which both ends report.
        """
        options = self.spec.options - ({"reporting"} if self.topology == "blink" else set())
        return replace(self.spec, options=options)

    def claim(self, budget: Budget) -> Claim:
        """Return Theorem 4, or Lemma 3 for public features."""
        eps_a, eps_f = split_budget(budget)
        reasons: tuple[str, ...] = (
            "Theorem 4 adds one bit of a list and one feature of one person; Definition 1 (any two inputs) "
            "needs the whole record, the row 'a person'",
            of_an_edge(budget),
        )
        if self.topology == "blink":
            reasons += ("Blink's topology asks for the degree too: eps_a is what bit and degree lose together",)
        if eps_f is None:
            return Claim(f"epsilon-edge LDP, epsilon = {shown_loss(eps_a)} (Lemma 3)", eps_a, reasons)
        total = eps_a + eps_f
        return Claim(f"epsilon-LDP of links and features, epsilon = {shown_loss(total)} (Theorem 4)", total, reasons)


@dataclass(frozen=True)
class Noisy(HoGS):
    """The network on the reports of HoGS's devices, without any reconstruction.

    Each reported 1 is a directed edge. The reported feature bits are the features, each column
    brought to mean 0 and standard deviation 1. The parameters can put parts of HoGS back.
    """

    l: int = parameter(0, HOPS)  # noqa: E741 - the paper's name
    topology: str = parameter("noisy", one_of("hogs", "blink", "and", "or", "noisy"))

    spec = replace(
        HoGS.spec, name="noisy", memory="edges",
        paper="reference: the reports of HoGS as they came", search_grid=(TRAINING_GRID,),
    )  # fmt: skip


def link_weights(pairs: Any, n: int) -> csr_array:
    """float32 CSR (n, n): P_ij / sum_{V_i} P_ij of eq. 10 for these pairs, with P_ii = 1."""
    p = coo_array((pairs.probability, (pairs.left, pairs.right)), shape=(n, n))
    return mean_with_self(p + p.T)


def mean_with_self(weights: Any) -> csr_array:
    """float32 CSR (n, n): weights plus the identity, divided by the sum of each row."""
    n = weights.shape[0]
    return mean_matrix(csr_array(weights + eye_array(n, format="csr")))


def bits_of_features(reports: Reports) -> Mechanism:
    """Return the mechanism whose reports are a bit for each feature; ValueError where they are something else."""
    mechanism = reports.source("features")
    if not isinstance(mechanism, OneBit):
        raise ValueError(f"the reports of {mechanism.name} are not a bit for each feature")
    return mechanism


def reconstruct_features(reports: Reports, weights: csr_array, times: int, scaling: str, notes: dict[str, Any]) -> Any:
    """Algorithm 3: return X^, float32 (n, d): ``weights`` applied ``times`` times to X~, then scaled.

    It works on a strip of columns at a time, so the result is the only n x d array. Very many standardised bits stay
    packed (:class:`ldpsim.curator.linear.factored.Factored`). The notes get ``feature_centre`` and ``feature_scale``,
    float32 (d,): X^ in its own units is ``X^ * feature_scale + feature_centre``.
    """
    one_bit, d = bits_of_features(reports), reports.facts.d
    reported = reports.reported("features")
    if scaling == "standardised" and reports.facts.n * d > LARGE:
        bits = PackedBits(reports.needed("features"), np.ones(d, np.float32))
        product, centre, scale = product_of(bits, weights, times).standardised(reported)
        notes.update(feature_centre=centre, feature_scale=scale)
        return product
    result = np.empty((reports.facts.n, d), np.float32)
    centre, scale = np.zeros(d, np.float32), np.ones(d, np.float32)
    for columns, strip in bit_strips(reports.needed("features"), d):
        for _ in range(times):
            strip = weights @ strip
        if scaling == "standardised":
            centre[columns], scale[columns] = standardise(strip, reported)
        elif scaling == "debiased":
            strip[reported] = one_bit.estimate(strip[reported])
        result[:, columns] = strip
    notes.update(feature_centre=centre, feature_scale=scale)
    return result
