"""PrivGE (Li et al., CIKM 2024, https://arxiv.org/abs/2310.11060), from the authors' code.

On the devices (HDS): m of the d features are drawn without replacement, and each is reported by the
square wave with epsilon / m (:mod:`ldpsim.devices.mechanisms.window`). The graph and the labels are public.

At the curator, with out in [-1, 1] the number that is reported of a drawn feature, and A the adjacency (n, n):

    X'_ik  = low + (high - low) (out_ik + 1) / 2 of a drawn feature, 0 of the others                 (n, d)
    Z      = sum_{k >= 0} alpha (1 - alpha)^k (D^(r-1) A D^-r)^k X'       personalised PageRank      (n, d)
    h_1    = relu(drop(Z) W_1),   h_l = relu(drop(h_(l-1)) W_l) + h_(l-1)                            (n, hidden)
    scores = drop(h_(L-1)) W_L                                                                       (n, classes)

The perceptron has no biases, and a sum with the layer before wherever the widths agree. It is trained in batches of
people on constant rows Z (:func:`ldpsim.curator.learning.training.train_in_batches`).

The entries are biased: the square wave shrinks t by kappa, and only m of d features are drawn. The code
undoes neither, which is ``debias=false``. By default the entries are the unbiased estimates, over the known standard
deviation of one. On validation nodes that is as good at epsilon 1. At epsilon 8 it is far better with few drawn
features: the code's entry of a feature at ``low`` is then nearly 0, and such a report names nobody.

m is a hyper-parameter of the code, 1 to 50 by data set, and it waits for 50 epochs; ``--tuned`` has its values. The
default 1 has the smallest variance up to epsilon 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.pagerank import personalized_pagerank, walk_matrix
from ldpsim.curator.methods.base import Graph
from ldpsim.curator.methods.local.graphs import labelled_graph
from ldpsim.curator.methods.local.public_graph import PublicGraphMethod, deviation_of
from ldpsim.curator.methods.parameters import SHARE, parameter, whole
from ldpsim.curator.reports.estimates import sparse_estimates
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.facts import PublicFacts, PublicKnowledge
from ldpsim.devices.mechanisms import Mechanism, Window

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings


@dataclass(frozen=True)
class PrivGE(PublicGraphMethod):
    """PrivGE.

    Args:
        m: Number of drawn features.
        alpha: Return probability of PageRank, in (0, 1).
        r: Exponent of PageRank's normalisation, in [0, 1]: 0 is the mean over neighbours, 0.5 is symmetric.
        debias: Whether the entries are unbiased estimates, over their known standard deviation.
        layers: Layers of the perceptron.
        batch: Rows of a training step.
        patience: Epochs without a better validation accuracy after which training ends.

    Raises:
        ValueError: for a parameter outside its range.
    """

    m: int = parameter(1, whole(1))
    alpha: float = parameter(0.1, SHARE)
    r: float = parameter(0.1, ((lambda r: 0 <= r <= 1), "must lie between 0 and 1"))
    debias: bool = True
    layers: int = parameter(2, whole(1))
    batch: int = parameter(256, whole(1))
    patience: int = parameter(20, whole(1))

    spec = replace(
        PublicGraphMethod.spec, name="privge",
        paper="Li et al., Privacy-Preserving Graph Embedding based on Local Differential Privacy (PrivGE)",
        mechanisms=("window", "grr"), default_gnn="mlp", options=PublicGraphMethod.spec.options - o.NETWORK,
        training_defaults={"hidden": 128, "weight_decay": 5e-4, "gnn_dropout": 0.7, "epochs": 1000},
        search_grid=(
            {"alpha": (0.05, 0.1, 0.2), "r": (0.1, 0.5), "debias": (False, True)},
            {"lr": (0.01, 0.001), "weight_decay": (0.0, 5e-4), "gnn_dropout": (0.1, 0.5, 0.7), "layers": (2, 3)},
        ),
    )  # fmt: skip

    def mechanism_for(self, epsilon: float, facts: PublicFacts) -> Mechanism:
        """Return the square wave on m drawn features."""
        if self.m > facts.d:
            raise SettingError(f"m={self.m}", f"of {facts.d} features 1..{facts.d} can be drawn")
        low, high = facts.feature_low, facts.feature_high
        return Window.from_epsilon(epsilon, d=facts.d, m=self.m, kind="sw", low=low, high=high)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Personalised PageRank of the reports."""
        edges, adjacency = self.edges_of(public)
        features = personalized_pagerank(walk_matrix(adjacency, self.r), self._entries(reports), self.alpha)
        return labelled_graph(features, edges, None, {"edges": edges.shape[1]}, reports, public)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Train the perceptron; see :func:`ldpsim.curator.learning.training.train_in_batches` for the errors."""
        from functools import partial

        from torch.nn.functional import dropout

        from ldpsim.curator.learning.perceptron import Perceptron
        from ldpsim.curator.learning.training import train_in_batches

        def make(width: int) -> Perceptron:
            return Perceptron(
                [width, *[settings.hidden] * (self.layers - 1), classes], bias=False, residual=True, drop_input=True,
                drop=partial(dropout, p=settings.gnn_dropout), bound=lambda inputs, outputs: math.sqrt(6 / outputs),
            )  # fmt: skip

        return train_in_batches(make, graph, batch=self.batch, patience=self.patience, settings=settings, seed=seed,
                                device=device)  # fmt: skip

    def _entries(self, reports: Reports) -> csr_array:
        """float32 CSR (n, d): X'."""
        mechanism: Any = reports.source("features")
        if mechanism.in_clear:
            return sparse_estimates(reports)[0]
        if self.debias:
            entries, _ = sparse_estimates(reports)
            entries.data /= np.float32(deviation_of(mechanism))
            return entries
        entries = mechanism.centred(reports.needed("features"))
        entries.data = (mechanism.low + (mechanism.high - mechanism.low) * (entries.data + 1) / 2).astype(np.float32)
        return entries
