"""PrivGE (Li et al., CIKM 2024, https://arxiv.org/abs/2310.11060), from the authors' code.

On the devices (HDS): m of the d features are drawn without replacement, and each is reported by the
square wave with epsilon / m. The graph and the labels are public.

At the curator: a drawn entry becomes low + (high - low) (out + 1) / 2, the others 0. Then personalised
PageRank, Z = sum_k alpha (1 - alpha)^k (D^(r-1) A D^-r)^k X', and a perceptron without biases on Z, in batches
(:mod:`ldpsim.curator.learning.mini_batches`). Z is constant during the training.

The entries are biased: the square wave shrinks t by kappa, and only m of d features are drawn. The code
undoes neither, which is ``debias=false``. By default the entries are the unbiased estimates, over the known standard
deviation of one. On validation nodes that is as good at epsilon 1. At epsilon 8 it is far better with few drawn
features: the code's entry of a feature at ``low`` is then nearly 0, and such a report names nobody.

m is a hyper-parameter of the code, 1 to 50 by data set, and it waits for 50 epochs; ``--tuned`` has its values. The
default 1 has the smallest variance up to epsilon 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.pagerank import personalized_pagerank, walk_matrix
from ldpsim.curator.methods.base import Graph, require_reports
from ldpsim.curator.methods.local.links import labelled_graph
from ldpsim.curator.methods.local.public_graph import PublicGraphMethod, deviation_of
from ldpsim.curator.methods.memory import MemoryLaw
from ldpsim.curator.methods.parameters import check_numbers, check_range, check_shares
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

    m: int = 1
    alpha: float = 0.1
    r: float = 0.1
    debias: bool = True
    layers: int = 2
    batch: int = 256
    patience: int = 20

    spec = replace(
        PublicGraphMethod.spec, name="privge", memory=MemoryLaw(rows=1.0, codes=0.1),
        paper="Li et al., Privacy-Preserving Graph Embedding based on Local Differential Privacy (PrivGE)",
        mechanisms=("window", "grr"), default_gnn="mlp", options=PublicGraphMethod.spec.options - o.NETWORK,
        training_defaults={"hidden": 128, "weight_decay": 5e-4, "gnn_dropout": 0.7, "epochs": 1000},
        search_grid=(
            {"alpha": (0.05, 0.1, 0.2), "r": (0.1, 0.5), "debias": (False, True)},
            {"lr": (0.01, 0.001), "weight_decay": (0.0, 5e-4), "gnn_dropout": (0.1, 0.5, 0.7), "layers": (2, 3)},
        ),
        query_grid={"m": (1, 3, 5, 20)},
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_range(self, "m", "layers", "batch", "patience", least=1)
        check_shares(self, "alpha")
        check_numbers(self, "r")
        if self.r > 1:
            raise SettingError(f"r={self.r:g}", "must lie between 0 and 1")

    def mechanism_for(self, epsilon: float, facts: PublicFacts) -> Mechanism:
        """Return the square wave on m drawn features."""
        if self.m > facts.d:
            raise SettingError(f"m={self.m}", f"of {facts.d} features 1..{facts.d} can be drawn")
        low, high = facts.feature_low, facts.feature_high
        return Window.from_epsilon(epsilon, d=facts.d, m=self.m, kind="sw", low=low, high=high)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Personalised PageRank of the reports."""
        require_reports(reports, self.spec.name)
        edges, adjacency = self.edges_of(public)
        features = personalized_pagerank(walk_matrix(adjacency, self.r), self._entries(reports), self.alpha)
        return labelled_graph(features, edges, None, {"edges": edges.shape[1]}, reports, public)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Train the perceptron; see :func:`ldpsim.curator.learning.mini_batches.train_in_batches` for the errors."""
        from ldpsim.curator.learning.mini_batches import Batches, train_in_batches

        if settings.gnn != "mlp":
            raise ValueError(f"--gnn {settings.gnn}: {self.spec.name} trains a perceptron on PageRank (--gnn mlp)")
        sizes = Batches(self.layers, self.batch, self.patience)
        return train_in_batches(graph, batches=sizes, settings=settings, classes=classes, seed=seed, device=device)

    def _entries(self, reports: Reports) -> csr_array:
        """float32 CSR (n, d): X'."""
        mechanism: Any = reports.source("features")
        if mechanism.in_clear:
            return sparse_estimates(reports)[0]
        if self.debias:
            found, _ = sparse_estimates(reports)
            found.data /= np.float32(deviation_of(mechanism))
            return found
        found = mechanism.centred(reports.needed("features"))
        found.data = (mechanism.low + (mechanism.high - mechanism.low) * (found.data + 1) / 2).astype(np.float32)
        return found
