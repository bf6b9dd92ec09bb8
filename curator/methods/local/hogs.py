"""HoGS: homophily-oriented graph synthesis (Xu et al.), Sections III-B to III-D.

Algorithm 1, on the devices: randomised response on the adjacency row with eps_a =
(1 - delta) eps per bit and the 1-bit mechanism with eps_f = delta eps on each feature.

Algorithm 2: the cosine s_ij of the noisy feature vectors is taken as the prior of a link,
the reported bits as its likelihood; pairs with posterior P_ij >= tau become edges
(:mod:`curator.links.hogs`).

Algorithm 3: X^_i is the mean of the noisy vectors of V_i = {j : P_ij >= .5}, weighted by
P_ij, repeated l times. s_ii = 1 puts i itself into V_i with weight 1.

Two deviations, each with the paper's own form beside it:

- The paper is silent on scaling X^. Bits that were not debiased share a large constant,
  on which a GNN trains to the majority class; ``scaling="standardised"`` (the default)
  brings every column to mean 0 and standard deviation 1, ``"literal"`` leaves X^ as it is,
  ``"debiased"`` takes the mechanism's bias out.
- A silent device has no vector: its cosines are 0, so it gets no edge, and its row of
  X^ is 0 (the mean, where columns are standardised).

The ablation (Section V-D) replaces one half at a time: ``topology="blink"`` takes the pairs
that Blink's posterior (:mod:`curator.methods.local.blink`) finds more likely than not, and its P
as the weights of Algorithm 3; the degree that it needs is asked for ``degree_share`` of
eps_a. ``features="kprop"`` takes LPGNN's KProp with K = l on the reconstructed edges
instead of Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array

from curator.linear.propagation import adjacency_matrix, bit_strips, kprop_matrix, mean_matrix, propagate
from curator.linear.scaling import PUBLIC_SCALINGS, scale_public, standardise
from curator.links.hogs import Bits, link_probabilities
from curator.links.similarity import BitRows, Rows, public_rows
from curator.methods.base import Budget, Graph, Grid, Method, Question, require_reports, spending
from curator.privacy.guarantee import Claim, Guarantee, local_guarantee
from curator.reports.agreed_pairs import agreed_pairs
from curator.reports.reports import Reports
from devices.array_types import IntArray
from devices.facts import PublicFacts, PublicKnowledge, Split
from devices.mechanisms import GRR, Mechanism, OneBit, RandomizedResponse
from devices.query import Ask, Query

TOPOLOGIES = ("hogs", "blink", "and", "or", "noisy")
FEATURES = ("weighted", "kprop")
SCALINGS = ("standardised", "literal", "debiased")
_POTENTIAL = 0.5  # V_i of Section III-D


@dataclass(frozen=True)
class HoGS(Method):
    """HoGS and the parts of its ablation.

    Args:
        tau: Smallest P of an edge, in (0, 1).
        l: How many times features are reconstructed; 0: never.
        topology: ``hogs`` or ``blink``; ``and``, ``or``: pairs whose reports all, or any, say 1;
            ``noisy``: each reported 1 is a directed edge, as it came.
        features: ``weighted`` (Algorithm 3) or ``kprop``.
        scaling: Scaling of reconstructed private features.
        public_scaling: Scaling of public features.
        degree_share: Share of eps_a for the degree that ``topology="blink"`` asks for, in (0, 1).

    Raises:
        ValueError: for a parameter outside its range.
    """

    tau: float = 0.9
    l: int = 2  # noqa: E741 - the paper's name
    topology: str = "hogs"
    features: str = "weighted"
    scaling: str = "standardised"
    public_scaling: str = "literal"
    degree_share: float = 0.1

    name: ClassVar[str] = "hogs"
    paper: ClassVar[str] = "Xu et al., HoGS: Homophily-Oriented Graph Synthesis for Local DP GNN Training"
    trust: ClassVar[str] = "untrusted curator"
    private: ClassVar[tuple[str, ...]] = ("adjacency", "features")
    mechanisms: ClassVar[tuple[str, ...]] = ("randomized_response", "one_bit", "grr")
    # l, weight decay and dropout: measured better than l 1, 1e-4 and .1 (docs/results/hogs-defaults.md)
    training_defaults: ClassVar[Mapping[str, Any]] = {"weight_decay": 1e-3, "gnn_dropout": 0.5}

    search_grid: ClassVar[tuple[Grid, ...]] = (
        {"tau": (0.5, 0.7, 0.9), "l": (0, 1, 2), "lr": (0.01, 0.1)},
        {"weight_decay": (1e-3, 1e-4, 1e-5), "gnn_dropout": (0.1, 0.5)},
    )
    query_grid: ClassVar[Grid] = {"feature_share": (0.1, 0.3, 0.5, 0.7, 0.9), "degree_share": (0.1, 0.3, 0.5)}

    def __post_init__(self) -> None:
        if not 0 < self.tau < 1:
            raise ValueError(f"--set tau={self.tau}: tau must lie between 0 and 1, both excluded")
        if not 0 <= self.l <= 100:
            raise ValueError(f"--set l={self.l}: l must be 0..100")
        if not 0 < self.degree_share < 1:
            raise ValueError(f"--set degree_share={self.degree_share}: must lie between 0 and 1, both excluded")
        named = (("topology", TOPOLOGIES), ("features", FEATURES), ("scaling", SCALINGS))
        for key, allowed in (*named, ("public_scaling", PUBLIC_SCALINGS)):
            if getattr(self, key) not in allowed:
                raise ValueError(f"--set {key}={getattr(self, key)}: must be one of {', '.join(allowed)}")

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Algorithm 1: one question to everybody; private labels are asked of the labelled nodes only."""
        eps_a, eps_f = split_budget(budget)
        with spending("--eps-adjacency", budget.eps_adjacency, budget, eps_a):
            asks = [Ask("adjacency", self._about_links(facts, budget, eps_a))]
        if eps_f is not None:
            if facts.d < 1:
                raise ValueError("hogs compares feature vectors, and these people have no features")
            with spending("--eps-features", budget.eps_features, budget, eps_f):
                mechanism = OneBit.from_epsilon(eps_f, d=facts.d, low=facts.feature_low, high=facts.feature_high)
            asks.append(Ask("features", (mechanism,)))
        plain = Query(collection, (tuple(asks),))
        if not budget.private_labels:
            return (Question(plain),)
        if budget.eps_labels is None:
            raise ValueError("--private-labels needs --eps-labels: HoGS's epsilon has no share for labels")
        with spending("--eps-labels", budget.eps_labels, budget, budget.eps_labels):
            truth = GRR.from_epsilon(budget.eps_labels, categories=facts.classes)
        asks.append(Ask("label", (truth,)))
        others = np.setdiff1d(np.arange(facts.n), split.labelled)
        labelled = Question(Query(collection, (tuple(asks),)), split.labelled)
        return (labelled, Question(plain, others)) if len(others) else (labelled,)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Algorithms 2 and 3."""
        require_reports(reports, self.name)
        pairs, weights, notes = self._links(reports, public)
        if reports.features is None:
            features: Any = scale_public(propagate(weights, public.features, self.l), self.public_scaling)
        else:
            features = self.private_features(reports, weights, notes)
        labels = public.labels if reports.labels is None else reports.labels
        split = public.split
        train, val = (nodes[labels[nodes] >= 0] for nodes in (split.train, split.val))
        return Graph(features, pairs, None, labels, train, val, notes)

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return Theorem 4's claim beside what holds."""
        eps_a, eps_f = split_budget(budget)
        total = eps_a + (eps_f or 0)
        what = "epsilon-LDP of links and features" if eps_f is not None else "epsilon-edge LDP"
        claim = Claim(f"{what}, epsilon = {total:g} ({'Theorem 4' if eps_f is not None else 'Lemma 3'})", total)
        reasons = [
            "Theorem 4 adds one bit of a list and one feature of one person; Definition 1 (any two inputs) "
            "needs the whole record, the row 'user'",
            "an undirected edge stands in both ends' lists: its loss is what both ends spend on it",
        ]
        if budget.reporting == "one-end":
            reasons[1] = "one-end reporting: an undirected edge is reported once, so its loss is that of one bit"
        if self.topology == "blink":
            reasons.append("Blink's topology asks for the degree too: eps_a is what bit and degree lose together")
        return local_guarantee(
            facts, questions, claim=claim, why_they_differ=reasons, collections=collections, labels_used=True,
            public_features=eps_f is None,
        )  # fmt: skip

    def _about_links(self, facts: PublicFacts, budget: Budget, eps_a: float) -> tuple[Mechanism, ...]:
        if self.topology != "blink":
            return (RandomizedResponse.from_epsilon(eps_a, n=facts.n, reporting=budget.reporting),)
        from curator.methods.local.blink import row_and_degree  # which builds on this module

        share = self.degree_share
        return row_and_degree(facts, budget, (1 - share) * eps_a, share * eps_a, "topology=blink")

    def _links(self, reports: Reports, public: PublicKnowledge) -> tuple[IntArray, csr_array, dict[str, Any]]:
        """Return the edges, what Algorithm 3 (or KProp) multiplies features by, and diagnostics."""
        edges, weights, notes = self._reconstructed(reports, public)
        if self.features == "kprop":
            weights = kprop_matrix(adjacency_matrix(reports.facts.n, edges))
        return edges, weights, notes

    def _reconstructed(self, reports: Reports, public: PublicKnowledge) -> tuple[IntArray, csr_array, dict[str, Any]]:
        n = reports.facts.n
        if reports.adjacency is None:
            raise ValueError("hogs needs adjacency reports, and these hold none")
        if reports.features is None and public.features is None:
            raise ValueError("hogs needs features: neither reported nor public ones are there")
        if self.topology == "blink":
            return self._as_blink(reports)
        if self.topology != "hogs":
            graph = self._plain_graph(reports).tocoo()
            edges = np.stack([graph.col, graph.row]).astype(np.int64)
            return edges, mean_with_self(graph), {"edges": _undirected(edges, n)}
        flip = reports.mechanism("adjacency", RandomizedResponse)
        rows: Rows = public_rows(public.features) if reports.features is None else BitRows(reports.features)
        # the exact odds of the threshold that was used, not of the epsilon asked for
        bits = Bits(reports.adjacency, reports.reported("adjacency"), flip.reporting == "one-end", flip.flip_odds)
        links = link_probabilities(bits, rows, min(self.tau, _POTENTIAL) if self.l else self.tau)
        edge = links.probability >= self.tau
        left, right = links.left[edge], links.right[edge]
        potential = links.probability >= _POTENTIAL
        ends = (links.left[potential], links.right[potential])
        weights = coo_array((links.probability[potential], ends), shape=(n, n))
        notes = {"edges": len(left), "potential_links": int(potential.sum()), "pairs_compared": links.looked_at,
                 "path": links.path}  # fmt: skip
        return np.stack([np.r_[left, right], np.r_[right, left]]), mean_with_self(weights + weights.T), notes

    def _as_blink(self, reports: Reports) -> tuple[IntArray, csr_array, dict[str, Any]]:
        from curator.methods.local.blink import chosen_links, link_posterior

        posterior, notes = link_posterior(reports)
        pairs, _ = chosen_links(posterior, "hard", 0.0, notes)
        ends = (pairs.left, pairs.right)
        weights = coo_array((pairs.probability, ends), shape=(reports.facts.n, reports.facts.n))
        edges = np.stack([np.r_[pairs.left, pairs.right], np.r_[pairs.right, pairs.left]])
        return edges, mean_with_self(weights + weights.T), notes

    def _plain_graph(self, reports: Reports) -> csr_array:
        ones = reports.adjacency
        assert ones is not None
        if self.topology == "and":
            return agreed_pairs(reports)
        if self.topology == "or":
            return csr_array((ones + ones.T).astype(np.float32))
        return ones.astype(np.float32)  # row i: whom i takes features from, as i reported it

    def private_features(self, reports: Reports, weights: csr_array, notes: dict[str, Any]) -> NDArray[np.float32]:
        """Algorithm 3, a strip of columns at a time: beside the result no n x d array exists.

        The notes get ``feature_centre`` and ``feature_scale``, float32 (d,), where columns
        were standardised: with them X^ can be compared in its own units.
        """
        one_bit = reports.mechanism("features", OneBit)
        assert reports.features is not None
        reported = reports.reported("features")
        result = np.empty((reports.facts.n, one_bit.d), np.float32)
        centre, scale = np.zeros(one_bit.d, np.float32), np.ones(one_bit.d, np.float32)
        for columns, strip in bit_strips(reports.features, one_bit.d):
            for _ in range(self.l):
                strip = weights @ strip
            if self.scaling == "standardised":
                centre[columns], scale[columns] = standardise(strip, reported)
            elif self.scaling == "debiased":
                strip[reported] = one_bit.estimate(strip[reported])
            result[:, columns] = strip
        notes.update(feature_centre=centre, feature_scale=scale)
        return result


def split_budget(budget: Budget) -> tuple[float, float | None]:
    """Return (eps_a, eps_f): per adjacency bit and per feature; eps_f None for public features.

    Public features leave the whole epsilon to the adjacency.
    """
    if budget.public_features:
        return budget.eps_adjacency or budget.epsilon, None
    eps_a = budget.eps_adjacency or (1 - budget.feature_share) * budget.epsilon
    return eps_a, budget.eps_features or budget.feature_share * budget.epsilon


def mean_with_self(weights: Any) -> csr_array:
    n = weights.shape[0]
    return mean_matrix(csr_array(weights + eye_array(n, format="csr")))


def _undirected(edges: IntArray, n: int) -> int:
    low, high = edges.min(axis=0), edges.max(axis=0)
    return len(np.unique(low * n + high))
