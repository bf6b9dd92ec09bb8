"""PrivGnn's teachers: ours against the same network in PyTorch Geometric, one at a time.

Both train the same teachers, 500 epochs on the K sampled people nearest to a query, one
thread each; ours are trained in stacks. Ratios are of medians of CPU seconds over the same queries,
taken in turns so that a busy machine slows both. On Amazon Computers (LDPSIM_DATA).

    python -m benchmarks.speed.bench_teachers [--queries 8] [--epochs 500]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.speed.process import beside
from ldpsim.curator.owner.teachers.answering import STACK, Teaching
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import SageSettings, train
from ldpsim.devices import datasets
from ldpsim.strategies.people.owner_graphs import divide, owned_people, public_graph

CLASSES = 10
AIM = 1.3


class PyGTeacher(nn.Module):
    """The teacher as PyTorch Geometric's users write it."""

    def __init__(self, d: int, hidden: int, classes: int) -> None:
        from torch_geometric.nn import SAGEConv

        super().__init__()
        self.first, self.norm = SAGEConv(d, hidden, bias=False), nn.BatchNorm1d(hidden)
        self.second = SAGEConv(hidden, classes)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        hidden = functional.dropout(torch.relu(self.norm(self.first(x, edges))), 0.5, self.training)
        return functional.log_softmax(self.second(hidden, edges), dim=1)


def one_pyg(piece: PlainGraph, epochs: int, device: str = "cpu") -> float:
    """CPU seconds of one teacher; on a GPU, seconds."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    started = clock()
    x, labels = torch.from_numpy(piece.features).to(device), torch.from_numpy(piece.labels).to(device)
    targets = np.repeat(np.arange(len(piece)), np.diff(piece.indptr))
    edges = torch.from_numpy(np.stack([piece.indices, targets])).to(device)
    model = PyGTeacher(x.shape[1], 64, CLASSES).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimiser.zero_grad()
        loss: Any = functional.nll_loss(model(x, edges), labels)
        loss.backward()
        optimiser.step()
    if device == "cuda":
        torch.cuda.synchronize()
    return clock() - started


def one_of_ours(pieces: list[PlainGraph], rows: int, settings: SageSettings, device: str = "cpu") -> float:
    """CPU seconds of a teacher in a stack; on a GPU, seconds."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    started = clock()
    train(pieces, range(len(pieces)), CLASSES, settings, rows=rows, device=device)
    return (clock() - started) / len(pieces)


def main() -> None:
    """Print a line a measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=500)
    given = parser.parse_args()
    torch.set_num_threads(1)
    population = datasets.load("computers")
    division = divide(population, 0)
    owned = owned_people(population, division)
    private = PlainGraph.build(owned.features, owned.edges, owned.labels)
    public = public_graph(population, division, labelled=False)
    print(f"{len(private):,} private people, {private.features.shape[1]} features, {given.epochs} epochs; "
          f"{beside()}, torch {torch.__version__}")  # fmt: skip
    for size in (300, 750):
        teaching = Teaching(classes=CLASSES, neighbours=size, noise_seed=1, training_seed=1)
        pieces = [
            private.part(teaching.nearest(private, teaching.sample(len(private), query), public.features[query]))
            for query in range(max(given.queries, 2))
        ]
        settings = SageSettings(epochs=given.epochs)
        one_pyg(pieces[0], 3)  # the first optimiser step of a process costs over a second
        one_of_ours(pieces[:1], size, SageSettings(epochs=3))
        theirs, ours = [], []
        for start in range(0, given.queries, STACK):
            stack = pieces[start : start + STACK]
            theirs += [one_pyg(piece, given.epochs) for piece in stack]
            ours.append(one_of_ours(stack, size, settings))
        base, median = statistics.median(theirs), statistics.median(ours)
        seen = f"{base / median:.1f} x ({median:.2f} CPU s; PyG one at a time {base:.2f})"
        print(f"K={size}: ours in stacks of {STACK}: {seen}, aim {AIM:g} x")
        if torch.cuda.is_available():
            one_pyg(pieces[0], 3, "cuda")
            alone = one_pyg(pieces[0], given.epochs, "cuda")
            together = one_of_ours((pieces * 64)[:64], size, settings, "cuda")
            print(f"  GPU: PyG {alone:.2f} s, in a stack {together:.4f} s a teacher, {alone / together:.0f} x (aim 30)")
        else:
            print("  GPU: none here, not measured")


if __name__ == "__main__":
    main()
