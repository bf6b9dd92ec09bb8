"""References of LPGNN's paper (https://arxiv.org/abs/2006.05535) that use no private features: the graph is public.

``rnd``: d columns of uniform noise. ``ohd``: the degree as a one-hot vector of d columns; the
last column is for degrees of d - 1 and more. Both have the data's own d, as in the paper, and
use the labels of training and validation nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.methods.references.references import Reference
from ldpsim.curator.owned import OwnedGraph


@dataclass(frozen=True)
class PublicGraph(Reference):
    """The chosen GNN on the true graph with made-up features."""

    scaling: str = "literal"

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

    def features(self, owned: OwnedGraph) -> Any:
        shape = (owned.facts.n, max(1, owned.facts.d))
        return np.random.default_rng(self.feature_seed).random(shape, np.float32)


@dataclass(frozen=True)
class OneHotDegree(PublicGraph):
    """The degree as a one-hot vector."""

    spec = replace(PublicGraph.spec, name="ohd")

    def features(self, owned: OwnedGraph) -> Any:
        n, d = owned.facts.n, max(1, owned.facts.d)
        degrees = np.bincount(owned.edges.ravel(), minlength=n)
        places = np.minimum(degrees, d - 1)
        return csr_array((np.ones(n, np.float32), (np.arange(n), places)), shape=(n, d))
