"""References without noise: the accuracy of the same network on the true graph.

They read an :class:`~ldpsim.curator.owned.OwnedGraph`, ask no device and guarantee nothing.

References of LPGNN's paper (https://arxiv.org/abs/2006.05535) that use no private features: the graph is public.

``rnd``: d columns of uniform noise. ``ohd``: the degree as a one-hot vector of d columns; the
last column is for degrees of d - 1 and more. Both have the data's own d, as in the paper, and
use the labels of training and validation nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.scaling import PUBLIC_SCALINGS, scale_public
from ldpsim.curator.methods.base import Budget, Graph, GraphMethod, MethodSpec, Question
from ldpsim.curator.methods.parameters import one_of, parameter
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.privacy.guarantee import Guarantee, open_guarantee
from ldpsim.devices.facts import PublicFacts


@dataclass(frozen=True)
class Reference(GraphMethod):
    """A method on raw data; ``reads`` names the parts of the data that it uses.

    Args:
        scaling: Scaling of the features.

    Raises:
        ValueError: for an unknown scaling.
    """

    scaling: str = parameter("row-normalised", one_of(*PUBLIC_SCALINGS))

    spec: ClassVar[MethodSpec] = MethodSpec(
        trust="none", paper="reference", options=o.SPLIT | o.NETWORK,
    )  # fmt: skip

    def from_owned(self, owned: OwnedGraph) -> Graph:
        """Return the true graph."""
        edges = owned.edges if "adjacency" in self.spec.reads else np.zeros((2, 0), np.int64)
        labels = np.full(owned.facts.n, -1, np.int64)
        split = owned.split
        labels[split.labelled] = owned.labels[split.labelled]
        train, val = (nodes[labels[nodes] >= 0] for nodes in (split.train, split.val))
        both = np.concatenate([edges, edges[::-1]], axis=1)
        features: Any = scale_public(self.inputs(owned), self.scaling)
        return Graph(features, both, None, labels, train, val, {"edges": edges.shape[1]})

    def inputs(self, owned: OwnedGraph) -> Any:
        """Return the features (n, d) before scaling."""
        return owned.features

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return a guarantee of nothing."""
        return open_guarantee(self.spec.reads, trust=self.spec.trust, statement="none: a reference without noise")


@dataclass(frozen=True)
class Raw(Reference):
    """The chosen GNN on the true graph with the true features."""

    spec = replace(Reference.spec, name="raw", reads=("adjacency", "features", "label"))


@dataclass(frozen=True)
class MLP(Reference):
    """A perceptron on the true features, no graph."""

    spec = replace(Reference.spec, name="mlp", default_gnn="mlp", options=o.SPLIT, reads=("features", "label"))


@dataclass(frozen=True)
class PublicGraph(Reference):
    """The chosen GNN on the true graph with made-up features."""

    scaling: str = parameter("literal", one_of(*PUBLIC_SCALINGS))

    spec = replace(
        Reference.spec, paper="Sajadmanesh and Gatica-Perez, LPGNN (its references)", reads=("adjacency", "label")
    )  # fmt: skip


@dataclass(frozen=True)
class RandomFeatures(PublicGraph):
    """Uniform noise in [0, 1).

    Args:
        scaling: Scaling of the features.
        feature_seed: Seed of the noise.
    """

    feature_seed: int = 0

    spec = replace(PublicGraph.spec, name="rnd")

    def inputs(self, owned: OwnedGraph) -> Any:
        shape = (owned.facts.n, max(1, owned.facts.d))
        return np.random.default_rng(self.feature_seed).random(shape, np.float32)


@dataclass(frozen=True)
class OneHotDegree(PublicGraph):
    """The degree as a one-hot vector."""

    spec = replace(PublicGraph.spec, name="ohd")

    def inputs(self, owned: OwnedGraph) -> Any:
        n = owned.facts.n
        degrees = np.bincount(owned.edges.ravel(), minlength=n)
        d = owned.facts.d or int(degrees.max(initial=0)) + 1
        places = np.minimum(degrees, d - 1)
        return csr_array((np.ones(n, np.float32), (np.arange(n), places)), shape=(n, d))
