"""LPGNN: locally private graph neural networks (Sajadmanesh and Gatica-Perez, CCS 2021, https://arxiv.org/abs/2006.05535).

The graph is public. Line numbers and equations are those of the first arXiv version. x_v has d features in
[alpha, beta]; A is the adjacency (n, n), D its row sums.

Algorithm 1, on the devices, the multi-bit encoder with eps_x for the whole vector: m of the d features are drawn,

    x*_i = 2 t_i - 1 if i is drawn, else 0,    t_i ~ Bernoulli(p_i)                                  lines 3-5
    p_i  = 1 / (e^(eps_x/m) + 1) + (x_i - alpha) / (beta - alpha) (e^(eps_x/m) - 1) / (e^(eps_x/m) + 1)   line 4
    m    = max(1, min(d, floor(eps_x / 2.18)))                                                       (6)

In version ``ccs`` also GRR with eps_y on the labels of training and validation nodes. ``inf`` asks for either in clear.

At the curator:

    x' = d (beta - alpha) / (2 m) (e^(eps_x/m) + 1) / (e^(eps_x/m) - 1) x* + (alpha + beta) / 2      (4)
    h^0 = x',   h^k = S h^(k-1),  k = 1 .. K,   S = D^-1/2 A D^-1/2                Algorithm 2, lines 2 to 5

(4) is unbiased (Proposition 3.2). S has no self-loops (line 4): a node's own report is too noisy to keep.

Algorithm 3, training, in two versions:

- ``version=ccs`` (CCS 2021): the features are S^K_x X', (n, d), followed by any two-layer network with
  SELU. Labels are denoised by "Drop" with K_y hops (:mod:`ldpsim.curator.learning.noisy_labels`).
- ``version=text`` (first arXiv version): features only. Line 8 is Z = S^K_x X' W1, batch
  normalisation, SELU (UPDATE of Algorithm 2); line 10 is one GCN layer. Labels are public, and
  the epoch with the smallest validation loss is kept.

What the paper leaves open, and differences:

- ``m`` minimises the variance (5) exactly; ``m=floor`` is (6), which gives the same below eps 3.06.
- The range [alpha, beta] is public; the published code takes it from the data.
- Batch normalisation is PyTorch's: a training pass, which sees all nodes, uses its own mean and
  variance, and scoring uses their running averages (:class:`ldpsim.curator.learning.networks.KPropGCN`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix
from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, Question, of_an_edge, option_in_errors
from ldpsim.curator.methods.local.graphs import PUBLIC_GRAPH, reported_edges
from ldpsim.curator.methods.local.label_questions import ask_labels, label_mechanism
from ldpsim.curator.methods.local.sampled_features import SAMPLED, sampled_number
from ldpsim.curator.methods.parameters import one_of, parameter, whole
from ldpsim.curator.methods.spec import MethodSpec
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.estimates import smoothed
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import (
    AnalyticGaussian,
    ClearFeatures,
    ClearLabel,
    Laplace,
    Mechanism,
    MultiBit,
    RandomizedResponse,
)
from ldpsim.devices.query import Ask

if TYPE_CHECKING:
    import torch

    from ldpsim.curator.learning.networks import Network
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings


GAUSSIAN_DELTA = 1e-10  # the published code's
HOPS = whole(0, 64)


@dataclass(frozen=True, eq=False)
class ReportedGraph(Graph):
    """A graph with the reported labels."""

    observed_labels: ObservedLabels | None = field(default=None, repr=False)


@dataclass(frozen=True)
class LPGNN(LocalMethod):
    """LPGNN.

    Args:
        version: ``ccs`` or ``text``.
        k_x: Hops of KProp on features. The published 2 to 16 are in ``--tuned``. The default is as good as
            16 on Cora and CiteSeer and does not smooth away the classes of a denser graph.
        k_y: Hops of KProp on labels (``ccs``).
        mechanism: ``multi_bit``; ``one_bit_full``: multi-bit with every feature sampled;
            ``laplace``; ``gaussian`` (at delta 1e-10).
        m: Sampled features: ``optimal``, ``floor`` (eq. 6) or a number.
        self_loops: Keep a node's own value in each hop.
        adjacency: ``public``, or ``private``: rows by randomised response with ``--eps-adjacency``
            a bit, each reported 1 a directed edge (Solitude's comparison).

    Raises:
        ValueError: for a parameter outside its range.
    """

    version: str = parameter("ccs", one_of("ccs", "text"))
    k_x: int = parameter(4, HOPS)
    k_y: int = parameter(8, HOPS, version=("ccs",))
    mechanism: str = parameter("multi_bit", one_of("multi_bit", "one_bit_full", "laplace", "gaussian"))
    m: str = parameter("optimal", SAMPLED, mechanism=("multi_bit",))
    self_loops: bool = False
    adjacency: str = parameter("public", one_of("public", "private"))

    spec = MethodSpec(
        name="lpgnn",
        paper="Sajadmanesh and Gatica-Perez, Locally Private Graph Neural Networks", private=("features", "label"),
        mechanisms=("multi_bit", "laplace", "analytic_gaussian", "grr"), default_gnn="sage",
        # the published ones for Cora at finite budgets
        training_defaults={"weight_decay": 1e-3, "gnn_dropout": 0.5, "epochs": 500}, common_selection=False,
        search_grid=(
            {"k_x": (0, 2, 4, 8, 16), "k_y": (0, 2, 4, 8)},
            {"lr": (0.01, 0.001), "weight_decay": (1e-2, 1e-3, 1e-4), "gnn_dropout": (0.25, 0.5, 0.75)},
        ),
        public_graph=True, asks_labels=True,
        options=o.SPLIT | o.REPORTS | o.NETWORK | {"epsilon", "feature_share", "label_mechanism"},
        finer=("eps_features", "eps_labels"),
    )  # fmt: skip
    settings_of_options: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("eps_adjacency", "reporting"), "adjacency=private"
    )

    def effective_spec(self) -> MethodSpec:
        """As :meth:`~ldpsim.curator.methods.base.Method.effective_spec`.

        A private list has a budget of its own, public labels no part of epsilon.
        """
        spec = self.spec
        if self.version == "text":
            options = spec.options - {"feature_share", "label_mechanism"}
            spec = replace(spec, options=options, finer=("eps_features",), asks_labels=False, default_gnn="gcn",
                           networks=("gcn",))  # fmt: skip
        if self.adjacency == "private":
            spec = replace(spec, options=spec.options | self.settings_of_options.keys(), public_graph=False)
        return spec

    def budgets(self, budget: Budget) -> tuple[float, float | None]:
        """Return (eps_x, eps_y), of the whole vector and of the label; eps_y None for public labels."""
        if self.version == "text":
            return budget.eps_features or budget.epsilon, None
        eps_x = budget.eps_features or budget.feature_share * budget.epsilon
        return eps_x, budget.eps_labels or (1 - budget.feature_share) * budget.epsilon

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Algorithm 1: ask everybody for features, and training and validation nodes for labels."""
        self._check(facts, budget)
        eps_x, eps_y = self.budgets(budget)
        asks = []
        if self.adjacency == "private":
            if budget.eps_adjacency is None:
                raise SettingError("adjacency=private", "needs --eps-adjacency: lpgnn's epsilon has no share for it")
            with option_in_errors("--eps-adjacency", budget.eps_adjacency, budget, budget.eps_adjacency):
                flip = RandomizedResponse.from_epsilon(budget.eps_adjacency, n=facts.n, reporting=budget.reporting)
            asks.append(Ask("adjacency", (flip,)))
        with option_in_errors("--eps-features", budget.eps_features, budget, eps_x):
            asks.append(Ask("features", (self._features(eps_x, facts),)))
        if eps_y is None:
            return ask_labels(tuple(asks), None, facts, split, collection)
        label = ClearLabel(facts.classes) if math.isinf(eps_y) else label_mechanism(budget, eps_y, facts)
        return ask_labels(tuple(asks), label, facts, split, collection)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Eq. 4 and Algorithm 2: KProp on x'; labels as reported."""
        edges = self._edges(reports, public)
        matrix = self._kprop(reports.facts.n, edges)
        if self.version == "ccs":
            reports.needed("labels")
        knowledge = Knowledge(reports, public)
        labels, notes = knowledge.labels, {"edges": edges.shape[1], "label_truth": knowledge.labels.truth}
        features = smoothed(reports, matrix, self.k_x)
        return ReportedGraph(features, edges, None, labels.labels, knowledge.train, knowledge.val, notes, labels)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Algorithm 3: train with Drop (``ccs``), or with the plain loss on public labels (``text``).

        See :func:`ldpsim.curator.learning.noisy_labels.train_denoised` for the arguments and errors.
        """
        from ldpsim.curator.learning.noisy_labels import LabelNoise, train_denoised

        def make(where: torch.device) -> Network:
            return self._network(graph, settings, classes, where)

        ccs = self.version == "ccs"
        matrix = self._kprop(graph.features.shape[0], graph.edge_index)
        labels = (graph.observed_labels if isinstance(graph, ReportedGraph) and graph.observed_labels
                  else ObservedLabels(graph.labels, classes))  # fmt: skip
        noise = LabelNoise(labels, matrix, self.k_y if ccs else 0, by_loss=not ccs)
        return train_denoised(make, graph, noise=noise, settings=settings, classes=classes, seed=seed, device=device)

    def claim(self, budget: Budget) -> Claim:
        """Return the papers' claim."""
        eps_x, eps_y = self.budgets(budget)
        total = eps_x + (eps_y or 0)
        what = "features" if eps_y is None else "features and label"
        reasons = ["losses are computed from the report's probabilities: multi-bit spends eps_x on the whole vector"]
        if self.mechanism == "gaussian":
            reasons.append(f"Gaussian noise holds at delta = {GAUSSIAN_DELTA:g}")
        if self.adjacency == "public":
            reasons.append(PUBLIC_GRAPH)
        else:
            reasons += ["the list is not part of what is claimed: each bit of it loses eps_adjacency more",
                        of_an_edge(budget)]  # fmt: skip
        return Claim(
            f"epsilon-LDP of {what}, epsilon = {shown_loss(total)}", total if math.isfinite(total) else None,
            tuple(reasons),
        )  # fmt: skip

    def _check(self, facts: PublicFacts, budget: Budget) -> None:
        if budget.public_features:
            raise ValueError("--public-features: lpgnn asks for them; --eps-features inf asks for them in clear")
        if self.version == "text" and (budget.private_labels or budget.eps_labels is not None):
            raise SettingError("version=text", "takes labels as public; version=ccs asks for them")
        if self.adjacency == "public" and budget.eps_adjacency is not None:
            raise ValueError("--eps-adjacency: lpgnn's graph is public (--set adjacency=private asks for it)")

    def _features(self, eps_x: float, facts: PublicFacts) -> Mechanism:
        limits = {"d": facts.d, "low": facts.feature_low, "high": facts.feature_high}
        if math.isinf(eps_x):
            return ClearFeatures(facts.d, facts.feature_low, facts.feature_high)
        if self.mechanism == "laplace":
            return Laplace.from_epsilon(eps_x, **limits)  # type: ignore[arg-type]
        if self.mechanism == "gaussian":
            return AnalyticGaussian.from_epsilon(eps_x, delta=GAUSSIAN_DELTA, **limits)  # type: ignore[arg-type]
        m = facts.d if self.mechanism == "one_bit_full" else sampled_number(self.m, facts.d)
        return MultiBit.from_epsilon(eps_x, m=m, **limits)  # type: ignore[arg-type]

    def _edges(self, reports: Reports, public: PublicKnowledge) -> IntArray:
        """int64 (2, E), sources over targets."""
        if self.adjacency == "public":
            if public.edges is None:
                raise ValueError("lpgnn needs the public graph, and there is none")
            return np.concatenate([public.edges, public.edges[::-1]], axis=1)
        return reported_edges(reports.needed("adjacency"))

    def _kprop(self, n: int, edges: IntArray) -> csr_array:
        return kprop_matrix(adjacency_matrix(n, edges), self_loops=self.self_loops)

    def _network(self, graph: Graph, settings: TrainingSettings, classes: int, where: torch.device) -> Network:
        from ldpsim.curator.learning.networks import KPropGCN
        from ldpsim.curator.learning.noisy_labels import selu_network

        if self.version == "text":
            return KPropGCN(graph, hidden=settings.hidden, classes=classes, device=where)
        return selu_network(graph, settings, classes, where)
