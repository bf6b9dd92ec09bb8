"""A small private graph and a public one."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.owner.teachers.graph import PlainGraph


def make_graph(n: int = 60, d: int = 40, classes: int = 3, *, seed: int = 0, isolated: int = 6) -> PlainGraph:
    """Features that tell the class, edges mostly inside it; the last nodes have no neighbour."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    features = (rng.random((n, d)) < np.where(np.arange(d) % classes == labels[:, None], 0.5, 0.1)).astype(np.float32)
    left, right = rng.integers(0, n - isolated, (2, 6 * n))
    same = (labels[left] == labels[right]) | (rng.random(6 * n) < 0.1)
    return PlainGraph.build(features, np.stack([left, right])[:, same], labels)


@pytest.fixture
def private() -> PlainGraph:
    """Sixty people."""
    return make_graph()


@pytest.fixture
def public() -> PlainGraph:
    """Fifty public nodes."""
    return make_graph(50, seed=1)
