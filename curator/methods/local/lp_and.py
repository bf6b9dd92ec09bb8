"""LP-AND: label propagation on the pairs whose every reported bit is 1; the null model of link methods.

The AND graph has the pairs that every report calls an edge: both ends' bits, or the one there is. Over its matrix
S = D^-1 A, the mean over neighbours, the labels of training people spread: Y <- S Y, (n, classes), with their labels
put back in every step; a person that none reaches gets the most frequent class. Zhu and Ghahramani, Learning from
Labeled and Unlabeled Data with Label Propagation, 2002 (technical report CMU-CALD-02-107).

It has no features and no network. Any gain from features, or from a better estimate of the graph, must show above it.
All of epsilon goes to the adjacency.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.linear.propagation import adjacency_matrix, label_propagation
from ldpsim.curator.methods.base import (
    Graph,
)
from ldpsim.curator.methods.local.graphs import labelled_graph, reported_edges
from ldpsim.curator.methods.local.links import LinkMethod
from ldpsim.curator.methods.parameters import unused
from ldpsim.curator.reports.pairs import agreed_pairs
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicKnowledge

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings


@dataclass(frozen=True)
class LPAnd(LinkMethod):
    """Label propagation on the AND graph; features are not needed."""

    public_scaling: str = unused("row-normalised")

    spec = replace(
        LinkMethod.spec, public_features=False, name="lp-and", trains_network=False,
        # nothing to choose
        search_grid=({},), common_selection=False,
        paper="null model; Zhu and Ghahramani, Learning from Labeled and Unlabeled Data",
        options=LinkMethod.spec.options | {"reporting", "public_features"},
    )  # fmt: skip

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the AND graph with no feature columns."""
        edges = reported_edges(agreed_pairs(reports))
        nothing = csr_array((reports.facts.n, 0), dtype=np.float32)
        return labelled_graph(nothing, edges, None, {"edges": edges.shape[1] // 2}, reports, public)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Propagate the training labels; settings, seed and device have no effect.

        Raises:
            ValueError: if no training node has a label.
        """
        from torch import nn  # torch is only needed from here on

        from ldpsim.curator.learning.training import NO_LABEL, TrainedNetwork

        if not len(graph.train):
            raise ValueError(NO_LABEL)
        started = time.perf_counter()
        adjacency = adjacency_matrix(graph.features.shape[0], graph.edge_index)
        predictions = label_propagation(adjacency, graph.labels, graph.train, classes)
        hits = predictions[graph.val] == graph.labels[graph.val]
        share = float(hits.mean()) if len(hits) else math.nan
        return TrainedNetwork(nn.Module(), predictions, 1, share, time.perf_counter() - started)
