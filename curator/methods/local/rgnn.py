"""RGNN: reconstruction-based private GNN (Bhaila, Huang, Wu and Wu, SDM 2024, https://arxiv.org/abs/2309.08569).

The graph is public. n people have d features with g_i values each, and C_y classes; V^L are the people whose label is
asked for. Line numbers are those of Algorithm 1.

On the devices:

    x'_v = GRR-FS(x_v)    m of the d features are drawn and reported by GRR with eps_x each,         line 1
                          the other d - m are drawn uniformly from their values
    y'_v = GRR(y_v)       for v in V^L, with eps_y                                                  line 2
    p = e^eps / (e^eps + g - 1),   q = 1 / (e^eps + g - 1)

At the curator, with lambda'_v the mean of the one-hot reports over N(v) and v, taken K times (Algorithms 2 and 3):

    pi~_vj = d lambda'_vj / (m (p - q)) + (m - d - m g q) / (m g (p - q))                           (2)
    x~_v   = argmax_j pi~_vj; pi~_v2 itself for a feature of two values          f_X, line 5, (n, d)
    pi~_v  = P^-1 lambda'_v,  P the matrix of GRR (C_y, C_y)                                        (4)
    y~_v   = argmax_c pi~_vc                                                     f_Y, line 6, (n,)

    b'_r = mean of y'_v over the people of V^L in METIS's cluster r,   b~_r = P^-1 b'_r      lines 3, 4, 7
    b^_r = mean of the network's predictions over the same people                                line 10
    minimise  L_gnn + alpha L_llp                                                        (5), line 13
    L_gnn = mean over V^L of the cross-entropy of the prediction against y~_v                    line 11
    L_llp = mean over the clusters of KL(b~_r || b^_r)                                           line 12

The two estimates are :mod:`ldpsim.curator.reports.frequency_estimation`, L_llp is
:mod:`ldpsim.curator.learning.label_proportions`. The weights kept are those of the best epoch on *reconstructed*
validation labels, the only ones there are.

What the paper leaves open, or prints in another way:

- Section 4.1 prints e^(eps_x + g) - 1 in the denominators of p and q. Algorithm 2, line 9, has the ones above.
- Section 4.3 sums L_llp over the clusters; line 12 takes the mean, as here.
- Line 12 prints the divergence the other way round, and b~_r has negative entries: what is done about both stands in
  :mod:`ldpsim.curator.learning.label_proportions`.
- The split: labels are asked of training and of validation people.

The published code clips the gradient at norm 5, and so does this. It differs from the paper in three points:

- It takes the cross-entropy of the softmax, a softmax too many (``loss="softmax"``, for more
  than two classes); ``"logits"`` is the cross-entropy. The published figures need the former:
  on CiteSeer with eps_y = 3 it has 57 here, as published, and the cross-entropy has 64 (equal for
  eps_y of 1 and less). So the stored settings (``--tuned``) name it, and the default is ``"logits"``.
- It builds proportions from labels that are already reconstructed, and inverts P a
  second time (``proportions="twice"``); ``"raw"`` is the paper's Algorithm 1.
- It finds domain sizes in the private data, and along the wrong axis. Here they are public.

The paper's ablation (Section 5): ``features="noisy"`` (without f_X), ``labels="noisy"`` (without f_Y),
``alpha=0`` (without LLP). All three together are its GraphSAGE baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ldpsim.curator import options as o
from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.linear.propagation import both_directions
from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, MethodSpec, Question, option_in_errors
from ldpsim.curator.methods.local.graphs import PUBLIC_GRAPH
from ldpsim.curator.methods.local.label_questions import ask_labels, label_mechanism
from ldpsim.curator.methods.parameters import ABOVE_0, NUMBER, one_of, parameter, whole
from ldpsim.curator.privacy.guarantee import Claim, Guarantee, local_guarantee
from ldpsim.curator.reports.frequency_estimation import (
    code_features,
    estimate_features,
    estimate_labels,
    neighbourhood_mean,
)
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRRFS, round_up
from ldpsim.devices.query import Ask

if TYPE_CHECKING:
    from ldpsim.curator.learning.label_proportions import Bags
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings

SOURCE, HOPS = one_of("reconstructed", "noisy"), whole(0, 100)
_CLIP_NORM = 5.0  # of the gradient, in the published code


@dataclass(frozen=True, eq=False)
class BaggedGraph(Graph):
    """A graph with the label proportions of its clusters, None without L_llp."""

    bags: Bags | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RGNN(LocalMethod):
    """RGNN and the parts of its ablation.

    Without ``--eps-features`` (eps_x) and ``--eps-labels`` (eps_y) the features' share of
    ``--epsilon`` goes to the whole vector, eps_x = share * epsilon / m, and the rest to
    the label. Epsilon is then the loss of a person's whole report.

    Args:
        m: Number of features that a device samples.
        group: Number of binary columns that form one feature, their OR; 1 for no grouping.
        Kx, Ky: Hops of the reconstruction of features and labels; the published 16 is in ``--tuned``.
        C: Clusters.
        alpha: Weight of L_llp; 0 leaves it out.
        features: ``reconstructed``, or ``noisy`` as reported.
        labels: The same.
        loss: Argument of the cross-entropy, ``softmax`` or ``logits``.
        proportions: ``raw`` or ``twice``.

    Raises:
        ValueError: for a parameter outside its range.
    """

    m: int = parameter(10, whole(1, 1 << 16))
    group: int = parameter(1, whole(1, 1 << 20))
    Kx: int = parameter(4, HOPS, features=("reconstructed",))
    Ky: int = parameter(4, HOPS, labels=("reconstructed",))
    C: int = parameter(16, whole(1), alpha=ABOVE_0)
    alpha: float = parameter(0.1, NUMBER)
    features: str = parameter("reconstructed", SOURCE)
    labels: str = parameter("reconstructed", SOURCE)
    loss: str = parameter("logits", one_of("softmax", "logits"))
    proportions: str = parameter("raw", one_of("raw", "twice"), alpha=ABOVE_0)

    spec = MethodSpec(
        name="rgnn",
        paper="Bhaila et al., Local Differential Privacy in GNNs: a Reconstruction Approach (RGNN)",
        private=("features", "label"), mechanisms=("grr_fs", "grr"), default_gnn="sage",
        training_defaults={"weight_decay": 0.0, "gnn_dropout": 0.0, "epochs": 100},
        search_grid=(
            {"Kx": (4, 16), "Ky": (4, 16)},
            {"C": (16, 64, 128), "alpha": (0.0, 0.1, 1.0, 10.0)},
            {"lr": (0.01, 0.001)},
        ),
        public_graph=True, asks_labels=True,
        options=o.SPLIT | o.REPORTS | o.NETWORK | {"epsilon", "feature_share", "label_mechanism"},
        finer=("eps_features", "eps_labels"),
    )  # fmt: skip

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Lines 1-2: ask everybody for features, and training and validation nodes for labels."""
        if budget.public_features:
            raise ValueError("rgnn reconstructs private features: --public-features does not fit")
        if facts.feature_low != 0:
            raise ValueError("rgnn needs binary or categorical features")
        if self.alpha > 0 and self.C > facts.n:
            raise SettingError(f"C={self.C}", f"{facts.n} nodes cannot be cut into more clusters than there are nodes")
        if facts.domains and self.group != 1:
            raise SettingError(f"group={self.group}", "only binary columns can be grouped, these are categories")
        count = len(facts.domains) or -(-facts.d // self.group)
        if self.m > count:
            raise SettingError(f"m={self.m}", f"of {count} features 1..{count} can be sampled")
        eps_x = budget.eps_features or budget.feature_share * budget.epsilon / self.m
        eps_y = budget.eps_labels or (1 - budget.feature_share) * budget.epsilon
        with option_in_errors("--eps-features", budget.eps_features, budget, eps_x):
            sampling = GRRFS.from_epsilon(eps_x, facts=facts, m=self.m, block=self.group)
        truth = label_mechanism(budget, eps_y, facts)
        return ask_labels((Ask("features", (sampling,)),), truth, facts, split, collection)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Lines 3 to 7."""
        if public.edges is None:
            raise ValueError("rgnn needs the public graph")
        codes, sampling = reports.needed("features"), cast(GRRFS, reports.source("features"))
        if not isinstance(sampling, GRRFS):
            raise ValueError(f"rgnn reads a category of each feature, and {sampling.name} reports something else")
        reports.needed("labels")
        observed = Knowledge(reports, public).labels
        mean, reported = neighbourhood_mean(public.facts.n, public.edges), reports.reported("features")
        if self.features == "reconstructed":
            features = estimate_features(codes, reported, sampling, mean, self.Kx)
        else:
            features = code_features(codes, reported, sampling)
        labels = observed.labels
        if self.labels == "reconstructed" and self.Ky:
            labels = estimate_labels(observed.everybody(), mean, self.Ky)
        targets = np.full(public.facts.n, -1, np.int64)
        targets[public.split.labelled] = labels[public.split.labelled]
        train, val = (nodes[targets[nodes] >= 0] for nodes in (public.split.train, public.split.val))
        bags, notes = self._bags(observed, targets if self.proportions == "twice" else None, public)
        return BaggedGraph(features, both_directions(public.edges), None, targets, train, val, notes, bags)

    def _bags(
        self, observed: ObservedLabels, again: IntArray | None, public: PublicKnowledge
    ) -> tuple[Bags | None, dict[str, Any]]:
        if self.alpha == 0:
            return None, {}
        from ldpsim.curator.learning.label_proportions import make_bags, metis_clusters

        assert public.edges is not None
        cluster = metis_clusters(public.facts.n, public.edges, self.C)
        bags = make_bags(cluster, observed, public.split.train, again)
        count = bags.target.shape[0]
        return bags if count else None, {"clusters": count, "clusters_without_labels": self.C - count}

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Lines 8 to 13: Adam on L_gnn + alpha L_llp, the gradient's norm clipped at 5."""
        import torch
        from torch.nn import functional

        from ldpsim.curator.learning.label_proportions import ProportionLoss
        from ldpsim.curator.learning.training import choose_device, labelled, train

        where = choose_device(device)
        labels = labelled(graph, graph.train, where)[1]
        bags = graph.bags if isinstance(graph, BaggedGraph) else None
        llp = ProportionLoss(bags, graph.train, where) if bags is not None and self.alpha > 0 else None
        # for two classes the published code has one score and takes its cross-entropy
        twice = self.loss == "softmax" and classes > 2

        def loss(scores: torch.Tensor) -> torch.Tensor:
            predicted = torch.softmax(scores, dim=1)
            l_gnn = functional.cross_entropy(predicted if twice else scores, labels)
            return l_gnn + self.alpha * llp(predicted) if llp is not None else l_gnn

        return train(
            graph, settings=settings, classes=classes, seed=seed, device=device, loss=loss, clip_norm=_CLIP_NORM
        )

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return Theorem 3's claim beside what holds."""
        mechanisms = [m for q in questions for a in q.query.asks for m in a.mechanisms]
        sampling: Any = next(m for m in mechanisms if "features" in m.reads)
        truth = next(m for m in mechanisms if "label" in m.reads)
        vector, eps_y = sampling.claimed_loss(), truth.loss().vector
        text = f"(eps_X + eps_Y)-LDP, eps_X = {shown_loss(vector)} (Theorem 1), eps_Y = {shown_loss(eps_y)} (Theorem 3)"
        reasons = [
            f"Theorem 1 takes sampling {sampling.m} of {sampling.d} features for a sampling of people: whichever are "
            f"drawn, {sampling.m} values of the same person are reported, and the vector loses m eps_x = "
            f"{shown_loss(sampling.loss().vector)}",
            PUBLIC_GRAPH,
        ]
        if sampling.block > 1:
            reasons.append(f"a feature is the OR of {sampling.block} columns: 'bit_feature' is about one of those")
        claim = Claim(text, round_up(vector + eps_y), tuple(reasons))
        return local_guarantee(facts, questions, claim=claim, collections=collections, public_edges=True)
