"""CPU time of GAP at the edge level against plain PyTorch Geometric training of the same networks, in one process.

    python -m benchmarks.speed.bench_gap [--dataset cora] [--turns 5]

Both train the encoder, add K = 2 hops and train the classifier: 100 full batches each, the same sizes, one thread. The
plain way is written as PyTorch Geometric's users write it, with ``SimpleConv``, ``torch.optim.Adam`` and no noise. The
ratio is that of the medians of turns, taken one after the other so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods.owner.gap import Gap
from ldpsim.curator.owner.aggregation.layers import Classifier, Encoder
from ldpsim.curator.owner.aggregation.sums import HandedLists
from ldpsim.curator.owner.aggregation.training import Learners
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.strategies.people.owned_graph import sparse_features
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import load_population

AIM = 2.0


def ours(people: Population, learners: Learners) -> None:
    """Train GAP as a run does."""
    method = Gap()
    settings = TrainingSettings(gnn="mlp", **method.in_force().training_defaults)
    released = method.release(people=len(people), training=len(learners.train), epochs=settings.epochs, epsilon=4.0)
    senders = np.repeat(np.arange(len(people)), np.diff(people.neighbour_indptr))
    data = HandedLists(sparse_features(people), people.labels, senders, people.neighbour_indices.astype(np.int64))
    method.learn(data, learners, released, settings, classes=people.facts.classes, order_seed=0, noise_seed=0, seed=0)


def plain(people: Population, learners: Learners) -> None:
    """Train the same networks with PyTorch Geometric, without noise."""
    from torch_geometric.nn import SimpleConv

    settings = TrainingSettings(gnn="mlp", **Gap().in_force().training_defaults)
    x = torch.from_numpy(sparse_features(people).toarray())
    y, train = torch.from_numpy(people.labels), torch.from_numpy(learners.train)
    edges = torch.from_numpy(np.concatenate([people.edges, people.edges[::-1]], axis=1).astype(np.int64))
    encoder = Encoder(x.shape[1], settings.hidden, people.facts.classes, norm="batch")
    _adam(encoder, [x], y, train, settings)
    with torch.no_grad():
        encoder.eval()
        cached, hop = [encoder.encoded(x)], SimpleConv(aggr="sum")
        for _ in range(2):
            cached.append(functional.normalize(hop(cached[-1], edges), dim=1))
    classifier = Classifier(3, settings.hidden, people.facts.classes, norm="batch")
    _adam(classifier, cached, y, train, settings)
    with torch.no_grad():
        classifier.eval()
        classifier(cached).argmax(1)


def _adam(network: Any, inputs: list[torch.Tensor], y: torch.Tensor, train: torch.Tensor, settings: Any) -> None:
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.lr)
    for _ in range(settings.epochs):
        network.train()
        optimiser.zero_grad()
        functional.cross_entropy(network([each[train] for each in inputs]), y[train]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    people = load_population(RunOptions(dataset=given.dataset))
    split = make_split("random", people, 0)
    learners = Learners(people.labels, split.train, split.val)
    seconds: dict[Any, list[float]] = {ours: [], plain: []}
    for turn in range(given.turns + 1):
        for work, taken in seconds.items():
            started = time.process_time()
            work(people, learners)
            if turn:  # the first one loads libraries
                taken.append(time.process_time() - started)
    first, second = (statistics.median(taken) for taken in seconds.values())
    print(f"GAP {first:.2f} CPU s, plain {second:.2f} CPU s: {first / second:.2f} x (at most {AIM:g} x)")


if __name__ == "__main__":
    main()
