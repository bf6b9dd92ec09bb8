"""UPGNet (He et al., ICML 2025, https://openreview.net/forum?id=2aKHuXdr7Q), from the code of its authors.

On the devices: multi-bit (``mechanism=mbm``), or the piecewise mechanism on m features drawn without
replacement (``mpm``), with epsilon for the whole vector. The graph and the labels are public.

At the curator, with A the adjacency without self-loops and x' the unbiased estimates:

    H = shrink(D^-1 A X')                  (n, d)        NFR, "node feature regularisation"
    Z = (1/K) sum_{k=1..K} S^k H           (n, d)        HOA, "high-order aggregation"

and any two-layer network with SELU on Z. Differences between the code and the plain reading are settings:

- ``nfr``. The idea is soft thresholding, sign(x) (|x| - mu)+. ``sd``: mu is the known standard deviation
  of the neighbours' mean, that of a report over sqrt(degree), and 0 without noise. ``1`` is the
  code: 0 for |x| <= 2, else sign(x) (|x| - 1). Features in [0, 1] in clear become all 0 by it. ``off``: no shrinking.
- ``hops``. ``plain``: S = D^-1/2 A D^-1/2. ``as-printed`` divides by the degree once more, as the code does.
- ``scale``. ``raw``: Z as it is, of the size of the noise. ``unit``: Z over the known standard deviation of a report.
- ``chosen_by``. ``loss``: the epoch of the smallest validation loss. ``as-printed``: a new best epoch needs a
  smaller validation loss and larger accuracies on training and validation nodes, so one lucky epoch can block all
  later ones.

Weight decay and dropout are the code's only published ones. It trains for 500 epochs at a rate of 0.01; the defaults
0.003 and 200 had the higher validation accuracy on Cora, CiteSeer and PubMed.

The known standard deviation of a report is that of one entry at the low end of the public range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.linear.mean_of_hops import MeanOfHops
from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix, mean_matrix
from ldpsim.curator.methods.base import Graph
from ldpsim.curator.methods.local.graphs import labelled_graph
from ldpsim.curator.methods.local.public_graph import PublicGraphMethod, deviation_of
from ldpsim.curator.methods.parameters import one_of, parameter, whole
from ldpsim.curator.reports.estimates import sparse_estimates
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge
from ldpsim.devices.mechanisms import Mechanism, MultiBit, Window
from ldpsim.devices.mechanisms.window import drawn_features

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings


Shrink = Callable[[NDArray[np.float32], NDArray[np.float32]], NDArray[np.float32]]  # values and their mu


@dataclass(frozen=True)
class UPGNet(PublicGraphMethod):
    """UPGNet.

    Args:
        mechanism: ``mbm`` (multi-bit) or ``mpm`` (piecewise).
        K: Largest number of hops of HOA.
        nfr: ``sd``, ``1`` or ``off``.
        hops: ``plain`` or ``as-printed``.
        scale: ``unit`` or ``raw``.
        chosen_by: ``loss`` or ``as-printed``.

    Raises:
        ValueError: for a parameter outside its range.
    """

    mechanism: str = parameter("mbm", one_of("mbm", "mpm"))
    K: int = parameter(8, whole(1, 64))
    nfr: str = parameter("sd", one_of("sd", "1", "off"))
    hops: str = parameter("plain", one_of("plain", "as-printed"))
    scale: str = parameter("unit", one_of("unit", "raw"))
    chosen_by: str = parameter("loss", one_of("loss", "as-printed"))

    spec = replace(
        PublicGraphMethod.spec, name="upgnet",
        paper="He et al., Going Deeper into Locally Differentially Private Graph Neural Networks (UPGNet)",
        mechanisms=("multi_bit", "window", "grr"), default_gnn="sage",
        training_defaults={"lr": 0.003, "weight_decay": 1e-2, "gnn_dropout": 0.75, "epochs": 200},
        search_grid=(
            {"K": (2, 4, 8, 16), "nfr": ("sd", "off"), "scale": ("unit", "raw")},
            {"lr": (0.01, 0.001), "weight_decay": (1e-2, 1e-3, 1e-4), "gnn_dropout": (0.25, 0.5, 0.75)},
        ),
    )  # fmt: skip

    def mechanism_for(self, epsilon: float, facts: PublicFacts) -> Mechanism:
        """Return multi-bit with m = floor(eps / 2.18), or the piecewise window with m = floor(eps / 2.5)."""
        low, high = facts.feature_low, facts.feature_high
        if self.mechanism == "mbm":
            return MultiBit.from_epsilon(epsilon, d=facts.d, m="floor", low=low, high=high)
        return Window.from_epsilon(epsilon, d=facts.d, m=drawn_features(epsilon, facts.d), low=low, high=high)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """NFR and HOA on the unbiased estimates; both are constant during the training."""
        edges, adjacency = self.edges_of(public)
        estimates, constant = sparse_estimates(reports)
        deviation = deviation_of(reports.source("features"))
        shrink, mu = self._shrinking(adjacency, deviation)
        product = shrunk_mean(adjacency, estimates, constant, shrink, mu)
        if self.scale == "unit" and deviation:
            product = product.times(1 / deviation)
        product = product.propagated(MeanOfHops(self._hop(adjacency), self.K))
        features = product if product.is_cheaper() else np.asarray(product)
        notes = {"edges": edges.shape[1], "kept_entries": int(product.base.nnz)}
        return labelled_graph(features, edges, None, notes, reports, public)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Train on the labels in clear; errors: :func:`ldpsim.curator.learning.noisy_labels.train_denoised`."""
        from ldpsim.curator.learning.noisy_labels import LabelNoise, selu_network, train_denoised
        from ldpsim.curator.reports.labels import ObservedLabels

        matrix = adjacency_matrix(graph.features.shape[0], graph.edge_index)
        noise = LabelNoise(ObservedLabels(graph.labels, classes), matrix, 0, by_loss=self.chosen_by == "loss")
        return train_denoised(lambda where: selu_network(graph, settings, classes, where), graph, noise=noise,
                              settings=settings, classes=classes, seed=seed, device=device)  # fmt: skip

    def _shrinking(self, adjacency: csr_array, deviation: float) -> tuple[Shrink, NDArray[np.float32]]:
        """Return NFR and each node's mu, float32 (n,)."""
        degrees = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1)
        if self.nfr == "1":
            return shrink_as_printed, np.ones(len(degrees), np.float32)
        mu = deviation / np.sqrt(degrees) if self.nfr == "sd" else np.zeros(len(degrees))
        return soft_threshold, mu.astype(np.float32)

    def _hop(self, adjacency: csr_array) -> csr_array:
        """float32 CSR (n, n): S."""
        once = kprop_matrix(adjacency)
        if self.hops == "plain":
            return once
        degrees = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1)
        return csr_array(diags_array(1 / degrees) @ once).astype(np.float32)


def soft_threshold(values: NDArray[np.float32], mu: NDArray[np.float32]) -> NDArray[np.float32]:
    """sign(x) (|x| - mu)+, the proximal step of an L1 penalty."""
    return np.sign(values) * np.maximum(np.abs(values) - mu, 0)


def shrink_as_printed(values: NDArray[np.float32], mu: NDArray[np.float32]) -> NDArray[np.float32]:
    """The code's three steps in place: 0 for |x| <= 2 mu, else sign(x) (|x| - mu)."""
    return np.where(np.abs(values) > 2 * mu, values - np.sign(values) * mu, np.float32(0))


def shrunk_mean(
    adjacency: csr_array, estimates: csr_array, constant: float, shrink: Shrink, mu: NDArray[np.float32]
) -> Factored:
    """Return shrink(D^-1 A (estimates + constant)), sparse but for one number a node.

    Args:
        adjacency: float32 CSR (n, n).
        estimates: float32 CSR (n, d).
        constant: Added to every entry.
        shrink: Function of values and their mu.
        mu: float32 (n,).
    """
    mean = mean_matrix(adjacency)
    common = np.float32(constant) * (np.diff(mean.indptr) > 0).astype(np.float32)
    base = shrink(common, mu)
    entries = csr_array(mean @ estimates)
    rows = np.repeat(np.arange(len(mu)), np.diff(entries.indptr))
    entries.data = shrink(entries.data + common[rows], mu[rows]) - base[rows]
    entries.eliminate_zeros()
    return Factored(entries.astype(np.float32), (), base[:, None], np.ones((1, entries.shape[1]), np.float32))
