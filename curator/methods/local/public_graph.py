"""Base of the methods that protect features on a public graph, with labels in clear: UPGNet and PrivGE.

Every device is asked once, for its features. ``--epsilon`` is the budget of the whole vector. Labels
are public unless ``--private-labels`` asks for them by GRR.

PrivGE (Li et al., CIKM 2024, https://arxiv.org/abs/2310.11060), from the authors' code.

On the devices (HDS): m of the d features are drawn without replacement, and each is reported by the
square wave with epsilon / m. The graph and the labels are public.

At the curator: a drawn entry becomes low + (high - low) (out + 1) / 2, the others 0. Then personalised
PageRank, Z = sum_k alpha (1 - alpha)^k (D^(r-1) A D^-r)^k X', and a perceptron without biases on Z, in batches
(:mod:`ldpsim.curator.learning.training`). Z is constant during the training.

The entries are biased: the square wave shrinks t by kappa, and only m of d features are drawn. The code
undoes neither, which is ``debias=false``. By default the entries are the unbiased estimates, over the known standard
deviation of one. On validation nodes that is as good at epsilon 1. At epsilon 8 it is far better with few drawn
features: the code's entry of a feature at ``low`` is then nearly 0, and such a report names nobody.

m is a hyper-parameter of the code, 1 to 50 by data set, and it waits for 50 epochs; ``--tuned`` has its values. The
default 1 has the smallest variance up to epsilon 3.

UPGNet (He et al., ICML 2025, https://openreview.net/forum?id=2aKHuXdr7Q), from the code of its authors.

On the devices: multi-bit (``mechanism=mbm``), or the piecewise mechanism on m features drawn without
replacement (``mpm``), with epsilon for the whole vector. The graph and the labels are public.

At the curator, with A the adjacency without self-loops and x' the unbiased estimates:

    H = shrink(D^-1 A X')                                NFR, "node feature regularisation"
    Z = (1/K) sum_{k=1..K} S^k H                         HOA, "high-order aggregation"

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

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.factored import Factored, MeanOfHops
from ldpsim.curator.linear.pagerank import personalized_pagerank, walk_matrix
from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix, mean_matrix
from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, MethodSpec, Question, spending
from ldpsim.curator.methods.local.links import PUBLIC_GRAPH, both_ways, labelled_graph, with_labels
from ldpsim.curator.methods.parameters import SHARE, one_of, parameter, whole
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.estimates import sparse_estimates
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import ClearFeatures, Mechanism, MultiBit, Window
from ldpsim.devices.mechanisms.window import drawn_features
from ldpsim.devices.query import Ask

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings

LABELS = "labels and edges are sent in clear; the claim is about the features alone"
RANGES = "the range of a feature is public here; the published code takes it from the private data, without noise"


@dataclass(frozen=True)
class PublicGraphMethod(LocalMethod):
    """A method that asks for features alone; its graph is public."""

    spec = MethodSpec(
        private=("features",), common_selection=False, public_graph=True,
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon"}, finer=("eps_features",),
    )  # fmt: skip

    def mechanism_for(self, epsilon: float, facts: PublicFacts) -> Mechanism:
        """Return the mechanism about the features at a finite budget of the vector (ValueError if it does not fit)."""
        raise NotImplementedError

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Ask everybody for features; with private labels the labelled nodes are asked for them too."""
        if budget.public_features:
            raise ValueError(
                f"--public-features: {self.spec.name} asks for them; --eps-features inf asks for them in clear"
            )
        if budget.eps_adjacency is not None:
            raise ValueError(f"--eps-adjacency: {self.spec.name}'s graph is public")
        epsilon = _budget_of(budget)
        with spending("--eps-features", budget.eps_features, budget, epsilon):
            mechanism: Mechanism
            if math.isinf(epsilon):
                mechanism = ClearFeatures(facts.d, float(facts.feature_low), float(facts.feature_high))
            else:
                mechanism = self.mechanism_for(epsilon, facts)
        return with_labels((Ask("features", (mechanism,)),), facts, split, budget, collection, self.spec.name)

    def claim(self, budget: Budget) -> Claim:
        """Return the papers' claim."""
        epsilon = _budget_of(budget)
        return Claim(
            f"epsilon-LDP for features, epsilon = {shown_loss(epsilon)}", epsilon if math.isfinite(epsilon) else None,
            (LABELS, RANGES, PUBLIC_GRAPH),
        )  # fmt: skip

    def edges_of(self, public: PublicKnowledge) -> tuple[IntArray, csr_array]:
        """Return the public edges in both directions, int64 (2, E), and the adjacency, float32 CSR (n, n).

        Raises:
            ValueError: if there is no public graph.
        """
        if public.edges is None:
            raise ValueError(f"{self.spec.name} needs the public graph, and there is none")
        edges = both_ways(*public.edges)
        return edges, adjacency_matrix(public.facts.n, edges)


def _budget_of(budget: Budget) -> float:
    return budget.eps_features or budget.epsilon


def deviation_of(mechanism: Any) -> float:
    """Return the standard deviation of one entry's estimate at the low end of the range, 0 in clear."""
    if mechanism.in_clear:
        return 0.0
    d, low = mechanism.parameters()["d"], mechanism.parameters()["low"]
    return math.sqrt(float(mechanism.variance(np.full(d, low, np.float32))[0]))


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
        features = product if product.pays() else np.asarray(product)
        notes = {"edges": edges.shape[1], "kept_entries": int(product.base.nnz)}
        return labelled_graph(features, edges, None, notes, reports, public)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Train on the labels in clear; errors: :func:`ldpsim.curator.learning.noisy_labels.train_denoised`."""
        from ldpsim.curator.learning.noisy_labels import LabelNoise, selu_network, train_denoised
        from ldpsim.curator.reports.labels import LabelEvidence

        matrix = adjacency_matrix(graph.features.shape[0], graph.edge_index)
        noise = LabelNoise(LabelEvidence(graph.labels, classes), matrix, 0, by_loss=self.chosen_by == "loss")
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
