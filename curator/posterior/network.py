"""Graph for a network on the likely edges: their probabilities as weights, and the posterior beside the features.

The ln-probabilities of belief propagation are centred for each person and clipped. They never hold a person's own
label, so training and test people have inputs of one law.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from ldpsim.curator.graph import Graph
from ldpsim.curator.linear.tfidf import weighted_rows
from ldpsim.devices.array_types import DoubleArray

_MOST = 8.0
_SCALE = 0.125  # the largest entry is 1, as long as a person's row of features


def with_beliefs(graph: Graph, log_probability: DoubleArray) -> Graph:
    """Return the graph with rows of length 1 of its features, and the beliefs beside them.

    Args:
        graph: Its features are (n, d), numpy or CSR; d is 0 where the curator has none.
        log_probability: float64 (n, classes): everybody's ln-probabilities, without the own label.
    """
    centred = log_probability - log_probability.mean(axis=1, keepdims=True)
    beliefs: Any = (np.clip(centred, -_MOST, _MOST) * _SCALE).astype(np.float32)
    if not graph.features.shape[1]:
        return replace(graph, features=beliefs)
    rows = weighted_rows(graph.features)
    if isinstance(rows, np.ndarray):
        return replace(graph, features=np.concatenate([rows, beliefs], axis=1))
    return replace(graph, features=csr_array(hstack([rows, csr_array(beliefs)]), dtype=np.float32))
