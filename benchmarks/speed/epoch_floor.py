"""CPU seconds of an epoch of a GCN, of its products alone, and of plain PyTorch Geometric, in a process of one thread.

    python -m benchmarks.speed.epoch_floor PEOPLE FEATURES EPOCHS [--pyg]

It prints two numbers: our epoch, and the floor; with ``--pyg`` PyG's epoch in the place of the floor. Features are
dense; of more than 100,000 people they are sparse, 16 ones a person. Ten neighbours a person, 16 hidden units, 5
classes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.networks import GCN
from ldpsim.curator.learning.training import TrainingSettings, train

CLASSES, HIDDEN, ONES, DENSE_UNTIL = 5, 16, 16, 100_000


def graph_of(people: int, features: int) -> Graph:
    """Return a random graph: half of the people to learn from, a quarter to choose the epoch."""
    rng = np.random.default_rng(1)
    rows: Any
    if people <= DENSE_UNTIL:
        rows = rng.random((people, features), np.float32)
    else:
        starts, columns = np.arange(0, ONES * people + 1, ONES), rng.integers(0, features, ONES * people)
        rows = csr_array((np.ones(len(columns), np.float32), columns, starts), shape=(people, features))
        rows.sum_duplicates()
    ends = rng.integers(0, people, (2, 5 * people))
    labels, order = rng.integers(0, CLASSES, people), rng.permutation(people)
    return Graph(rows, np.concatenate([ends, ends[::-1]], axis=1), None, labels, np.sort(order[: people // 2]),
                 np.sort(order[people // 2 : people * 3 // 4]))  # fmt: skip


def cpu_of(work: Callable[[], Any]) -> float:
    """Return CPU seconds of a call."""
    before = time.process_time()
    work()
    return time.process_time() - before


def ours(graph: Graph, epochs: int) -> float:
    """CPU seconds an epoch of ours: a long training less a short one, so that the set-up does not count."""

    def run(count: int) -> float:
        settings = TrainingSettings(epochs=count, gnn_dropout=0.5)
        return cpu_of(lambda: train(graph, settings=settings, classes=CLASSES, seed=1, device="cpu"))

    return (run(epochs + 1) - run(1)) / epochs


def products(graph: Graph) -> Callable[[], Tensor]:
    """Return the products of an epoch on the same arrays: one pass forward, and one back.

    The second layer's are those of the training nodes and of the validation nodes, forward; back it has those of all.
    """
    model = GCN(graph, hidden=HIDDEN, classes=CLASSES, device=torch.device("cpu"))
    people = len(graph.labels)
    read = [model.spread.rows(torch.from_numpy(nodes)) for nodes in (graph.train, graph.val)]
    taught, judged = (part or model.spread for part in read)
    hidden, scores = torch.rand(people, HIDDEN), torch.rand(people, CLASSES)
    inputs = model.inputs

    def once() -> Tensor:
        with torch.no_grad():
            model.inputs @ model.weight1
            for part in (taught, judged):  # the training pass, and the scores that choose the epoch
                part @ (hidden @ model.weight2)
            gradient = model.spread.transposed @ scores
            hidden.t() @ gradient
            gradient @ model.weight2.t()
            product: Tensor = inputs.transposed @ hidden if inputs.sparse else hidden.t() @ inputs.matrix
            return product

    return once


def plain_pyg(graph: Graph) -> Callable[[], None]:
    """Return an epoch as a page of PyG has it: two cached convolutions, dropout, torch's Adam, an evaluation."""
    from torch_geometric.nn import GCNConv

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = GCNConv(graph.features.shape[1], HIDDEN, cached=True)
            self.second = GCNConv(HIDDEN, CLASSES, cached=True)

        def forward(self, rows: Tensor, edges: Tensor) -> Tensor:
            hidden = torch.relu(self.first(rows, edges))
            return self.second(torch.nn.functional.dropout(hidden, 0.5, self.training), edges)

    model, edges = Net(), torch.from_numpy(graph.edge_index)
    rows, labels = torch.from_numpy(np.asarray(graph.features)), torch.from_numpy(graph.labels)
    train_nodes, val_nodes = torch.from_numpy(graph.train), torch.from_numpy(graph.val)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)

    def once() -> None:
        model.train()
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(rows, edges)[train_nodes], labels[train_nodes])
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        model.eval()
        with torch.no_grad():
            (model(rows, edges).argmax(dim=1)[val_nodes] == labels[val_nodes]).float().mean().item()

    return once


def main() -> None:
    """Print both numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("people", "features", "epochs"):
        parser.add_argument(name, type=int)
    parser.add_argument("--pyg", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    graph = graph_of(arguments.people, arguments.features)
    once = plain_pyg(graph) if arguments.pyg else products(graph)
    for _ in range(2):  # the first steps load and allocate
        once()
    ours(graph, 1)
    seconds = ours(graph, arguments.epochs)
    print(seconds, cpu_of(lambda: [once() for _ in range(arguments.epochs)]) / arguments.epochs)


if __name__ == "__main__":
    main()
