"""GAT on graphs of more and more edges: along the list of edges, and over all pairs.

    python -m benchmarks.speed.bench_gat [--people 2708]

Both forms give the same scores (tests/curator/learning/test_networks.py). Every row is one step of training (both
layers, gradients) of each on the same random graph, in turns in one process on one thread, the
median of five turns; the ratio says from which share of pairs on the pairs are faster. The graph
of RR at epsilon 1, 2, 3 and 4 holds 27, 12, 5 and 1.8 % of all pairs.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

from curator.graph import Graph
from curator.learning import networks as gnn

SHARES = (0.01, 0.018, 0.047, 0.08, 0.119, 0.269, 0.5)
TURNS = 5


def main() -> None:
    """Time both forms and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=2708)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for share in SHARES:
        graph = _graph(given.people, share)
        times: dict[int, list[float]] = {0: [], 10**9: []}
        forms = {way: _bound(graph, way) for way in times}
        for _ in range(TURNS):
            for way, network in forms.items():
                times[way].append(_step(network))
        edges, pairs = (statistics.median(taken) for taken in times.values())
        seen = f"edges {edges:.3f} s, pairs {pairs:.3f} s a step: {edges / pairs:.1f} x"
        print(f"{share:6.1%} of pairs: {seen}", flush=True)


def _graph(people: int, share: float) -> Graph:
    rng = np.random.default_rng(0)
    edges = np.stack(np.nonzero(rng.random((people, people)) < share))
    features = rng.random((people, 32)).astype(np.float32)
    return Graph(features, edges, None, rng.integers(0, 7, people), np.arange(people), np.arange(0))


def _bound(graph: Graph, way: int) -> gnn.Network:
    gnn.CROWDED = way
    torch.manual_seed(0)
    return gnn.make_network("gat", graph, hidden=16, classes=7, device=torch.device("cpu"), heads=1)


def _step(network: gnn.Network) -> float:
    began = time.perf_counter()
    network().square().mean().backward()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
