"""HoGS: homophily-oriented graph synthesis (Xu et al. 2026, https://arxiv.org/abs/2602.08762).

Algorithm 1, on the devices, with eps_a = (1 - delta) eps and eps_f = delta eps:

    A~_ij = RR(A_ij, eps_a),   X~_ik = 1-Bit(X_ik, eps_f)                        lines 3 and 7

Algorithm 2, topology reconstruction, for every pair of nodes:

    s_ij = X~_i . X~_j / (||X~_i|| ||X~_j||)                                     (6)
    l_ij = Pr[(A~_ij, A~_ji) | an edge],   l'_ij = Pr[(A~_ij, A~_ji) | no edge]  (7), (8)
    P_ij = l_ij s_ij / (l_ij s_ij + l'_ij (1 - s_ij))                            (9)
    E^ = {(v_i, v_j) : P_ij >= tau}                                              line 11

Algorithm 3, feature reconstruction, l times:

    V_i = {v_j : P_ij >= .5},   X^_i = sum_{V_i} P_ij X~_j / sum_{V_i} P_ij      (10)

Points on which the paper is silent, and deviations:

- A device is not asked about itself. s_ii = 1 gives P_ii = 1, so V_i holds v_i with weight 1;
  E^ has no self-loop.
- A pair with one report has the likelihood of this report alone (the other device is silent, or
  reporting is one-end). A pair without a report is never an edge.
- A silent device has no X~_i: its cosines and its row of X^ are 0. Without a report of its
  features it gets no edge.
- The paper does not say how X^ is scaled. Its bits are biased by a large constant, and a GNN
  trained on them predicts the majority class. ``scaling="standardised"`` (the default) brings
  every column to mean 0 and standard deviation 1; ``"debiased"`` removes the mechanism's bias;
  ``"literal"`` leaves X^ as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.factored import PackedBits, product_of
from ldpsim.curator.linear.propagation import bit_strips, mean_matrix, propagate
from ldpsim.curator.linear.scaling import PUBLIC_SCALINGS, scale_public, standardise
from ldpsim.curator.links.hogs import likely_links
from ldpsim.curator.links.similarity import BitRows, Rows, public_rows
from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, MethodSpec, Question, require_reports, spending
from ldpsim.curator.methods.local.links import both_ways, labelled_graph, with_labels
from ldpsim.curator.methods.memory import MemoryLaw
from ldpsim.curator.methods.parameters import check_choices, check_range, check_shares, parameter
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import FlippedRows, noisy_rows_of_bits
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask

LARGE = 1 << 28  # reported bits above which they stay packed: as numbers they would take more than 1 GiB, twice
SCALINGS = ("standardised", "literal", "debiased")
POTENTIAL = 0.5  # smallest P_ij of a potential neighbour, Section III-D


@dataclass(frozen=True)
class HoGS(LocalMethod):
    """HoGS.

    Args:
        tau: Smallest P_ij of an edge, in (0, 1).
        l: Number of feature reconstructions; 0 for none.
        scaling: Scaling of reconstructed private features.
        public_scaling: Scaling of public features.

    Raises:
        ValueError: for a parameter outside its range.

    >>> HoGS(tau=0.7)
    HoGS(tau=0.7, l=2, scaling='standardised', public_scaling='literal')
    """

    tau: float = 0.9
    l: int = 2  # noqa: E741 - the paper's name
    scaling: str = parameter("standardised", public_features=(False,))
    public_scaling: str = parameter("literal", public_features=(True,))

    spec = MethodSpec(
        name="hogs",
        # Ones are transposed in parts. A pair: ends and P twice, keys and their order, and the parts that are joined.
        memory=MemoryLaw(work=1.0, likely=140.0, estimates=True, large=1 << 28, large_rows=0.0),
        private=("adjacency", "features"),
        paper="Xu et al., HoGS: Homophily-Oriented Graph Synthesis for Local DP GNN Training",
        mechanisms=("randomized_response", "one_bit", "grr"),
        # l, weight decay and dropout: measured better than l 1, 1e-4 and .1 (docs/results/hogs-defaults.md)
        training_defaults={"weight_decay": 1e-3, "gnn_dropout": 0.5},
        search_grid=(
            {"tau": (0.5, 0.7, 0.9), "l": (0, 1, 2), "lr": (0.01, 0.1)},
            {"weight_decay": (1e-3, 1e-4, 1e-5), "gnn_dropout": (0.1, 0.5)},
        ),
        query_grid={"feature_share": (0.1, 0.3, 0.5, 0.7, 0.9)},
        options=o.SPLIT
        | o.REPORTS
        | o.NETWORK
        | o.LABELS
        | {"epsilon", "feature_share", "public_features", "reporting"}, finer=("eps_adjacency", "eps_features"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_shares(self, "tau")
        check_reconstruction(self)
        check_choices(self, public_scaling=PUBLIC_SCALINGS)

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Algorithm 1: one question to everybody; private labels are asked of the labelled nodes only."""
        eps_a, eps_f = split_budget(budget)
        with spending("--eps-adjacency", budget.eps_adjacency, budget, eps_a):
            asks = [Ask("adjacency", self.perturb_adjacency(facts, budget, eps_a))]
        if eps_f is not None:
            if facts.d < 1:
                raise ValueError("hogs compares feature vectors, and these people have no features")
            asks.append(ask_features(facts, budget, eps_f))
        return with_labels(tuple(asks), facts, split, budget, collection, self.spec.name)

    def perturb_adjacency(self, facts: PublicFacts, budget: Budget, eps_a: float) -> tuple[Mechanism, ...]:
        """Algorithm 1, lines 2 to 4: randomised response with eps_a a bit."""
        return (RandomizedResponse.from_epsilon(eps_a, n=facts.n, reporting=budget.reporting),)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Algorithms 2 and 3."""
        require_reports(reports, self.spec.name)
        if reports.features is None and public.features is None:
            raise ValueError("hogs needs features: neither reported nor public ones are there")
        edges, weights, notes = self.reconstruct_topology(reports, public)
        if reports.features is None:
            features: Any = scale_public(propagate(weights, public.features, self.l), self.public_scaling)
        else:
            features = reconstruct_features(reports, weights, self.l, self.scaling, notes)
        return labelled_graph(features, edges, None, notes, reports, public)

    def reconstruct_topology(
        self, reports: Reports, public: PublicKnowledge
    ) -> tuple[IntArray, csr_array, dict[str, Any]]:
        """Algorithm 2.

        Returns:
            E^, int64 (2, E) in both directions; the weights of eq. 10, float32 CSR (n, n); diagnostics.
        """
        bits, rows = self._evidence(reports, public)
        links = likely_links(bits, rows, self.in_force().least_posterior or self.tau)
        edge, potential = links.at_least(self.tau), links.at_least(POTENTIAL)
        notes = {"edges": len(edge), "potential_links": len(potential), "pairs_compared": links.looked_at,
                 "path": links.path}  # fmt: skip
        weights = link_weights(potential.left, potential.right, potential.probability, reports.facts.n)
        return both_ways(edge.left, edge.right), weights, notes

    def in_force(self) -> MethodSpec:
        """As :meth:`Method.in_force`; a potential neighbour is held where features are averaged."""
        return replace(self.spec, least_posterior=min(self.tau, POTENTIAL) if self.l else self.tau)

    def _evidence(self, reports: Reports, public: PublicKnowledge) -> tuple[FlippedRows, Rows]:
        """Return the reported bits, and the rows whose cosines are s_ij."""
        bits = noisy_rows_of_bits(reports)
        if reports.features is not None:
            bits_of_features(reports)
        rows: Rows = public_rows(public.features) if reports.features is None else BitRows(reports.features)
        return bits, rows

    def claim(self, budget: Budget) -> Claim:
        """Return Theorem 4, or Lemma 3 for public features."""
        eps_a, eps_f = split_budget(budget)
        if eps_f is None:
            return Claim(f"epsilon-edge LDP, epsilon = {shown_loss(eps_a)} (Lemma 3)", eps_a)
        total = eps_a + eps_f
        return Claim(f"epsilon-LDP of links and features, epsilon = {shown_loss(total)} (Theorem 4)", total)

    def reasons(self, budget: Budget) -> tuple[str, ...]:
        """As :meth:`LocalMethod.reasons`, and what Theorem 4 adds up."""
        return (
            "Theorem 4 adds one bit of a list and one feature of one person; Definition 1 (any two inputs) "
            "needs the whole record, the row 'user'",
            *super().reasons(budget),
        )


def split_budget(budget: Budget) -> tuple[float, float | None]:
    """Return (eps_a, eps_f): per adjacency bit and per feature; eps_f None if features are public or not asked.

    Features that are not asked leave the whole epsilon to the adjacency.
    """
    if budget.public_features or not (budget.eps_features or budget.feature_share):
        return budget.eps_adjacency or budget.epsilon, None
    eps_a = budget.eps_adjacency or (1 - budget.feature_share) * budget.epsilon
    return eps_a, budget.eps_features or budget.feature_share * budget.epsilon


def ask_features(facts: PublicFacts, budget: Budget, eps_f: float) -> Ask:
    """Algorithm 1, line 7: the 1-bit mechanism with eps_f a feature."""
    with spending("--eps-features", budget.eps_features, budget, eps_f):
        one_bit = OneBit.from_epsilon(eps_f, d=facts.d, low=facts.feature_low, high=facts.feature_high)
    return Ask("features", (one_bit,))


def check_reconstruction(method: Any) -> None:
    """Refuse parameters of Algorithm 3, ``l`` and ``scaling``, outside their range (ValueError)."""
    check_range(method, "l", least=0, most=100)
    check_choices(method, scaling=SCALINGS)


def link_weights(left: IntArray, right: IntArray, probability: FloatArray, n: int) -> csr_array:
    """float32 CSR (n, n): P_ij / sum_{V_i} P_ij of eq. 10 for potential links, with P_ii = 1."""
    p = coo_array((probability, (left, right)), shape=(n, n))
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
