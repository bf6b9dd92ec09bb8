"""Graphs that local methods train on: edges of reports, and the labels that the curator has."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.methods.base import (
    Graph,
)
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicKnowledge

PUBLIC_GRAPH = "the graph is public in this setting: nothing protects an edge, at any level"


def labelled_graph(
    features: Any, edges: IntArray, weights: Any, notes: dict[str, Any], reports: Reports, public: PublicKnowledge
) -> Graph:
    """Return a graph with the labels that the curator has, reported or public."""
    knowledge = Knowledge(reports, public)
    return Graph(features, edges, weights, knowledge.labels.labels, knowledge.train, knowledge.val, notes)


def reported_edges(ones: csr_array) -> IntArray:
    """int64 (2, E): an edge to each reporter from every node that it reported."""
    entries = ones.tocoo()
    return np.stack([entries.col, entries.row]).astype(np.int64)


def both_ways(left: IntArray, right: IntArray) -> IntArray:
    """int64 (2, 2m): each pair in both directions."""
    return np.stack([np.concatenate([left, right]), np.concatenate([right, left])]).astype(np.int64)
