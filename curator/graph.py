"""Graph that a method makes of reports, and that a GNN is trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ldpsim.devices.array_types import IntArray


@dataclass(frozen=True, eq=False)
class Graph:
    """Graph that a GNN is trained on.

    Args:
        features: float32 (n, d), a numpy array or a scipy CSR array.
        edge_index: int64 (2, E), sources over targets, without self-loops; an
            undirected edge stands in both directions.
        edge_weight: float32 (E,), or None where every edge weighs 1.
        labels: int64 (n,), -1 where the curator knows none.
        train, val: int64 index arrays of the nodes whose labels may be used.
        notes: Diagnostics for the result (edges kept, pairs looked at, ...).
    """

    features: Any = field(repr=False)
    edge_index: IntArray = field(repr=False)
    edge_weight: Any = field(repr=False)
    labels: IntArray = field(repr=False)
    train: IntArray = field(repr=False)
    val: IntArray = field(repr=False)
    notes: Mapping[str, Any] = field(default_factory=dict)
