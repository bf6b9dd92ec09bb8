"""PrivGnn's teachers: ours against the same network in PyTorch Geometric, one at a time.

Both train the same teachers, 500 epochs on the K sampled people nearest to a query, one
thread each; ratios are of medians of CPU seconds over the same queries, taken in turns so that
a busy machine slows both. Then two processes against one, in turns as well. Amazon Computers where
LDPSIM_DATA has it, else a graph of its size.

    python -m benchmarks.speed.bench_teachers [--queries 4] [--epochs 500] [--only teachers|processes] [--save]

``--save`` enters the figures in docs/results/privgnn-measured.csv.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.speed.measured import enter
from benchmarks.speed.process import beside
from ldpsim.curator.owner.teachers.answering import Teaching
from ldpsim.curator.owner.teachers.graph import PlainGraph, cut
from ldpsim.curator.owner.teachers.randomness import Masks, weights_generator
from ldpsim.curator.owner.teachers.sage import SageSettings, train_sage
from ldpsim.curator.owner.teachers.stacked import train_stacked
from ldpsim.curator.owner.teachers.weights import Layout
from ldpsim.devices import datasets
from ldpsim.devices.data.population import Population, build_population
from ldpsim.strategies.people.owner_graphs import owned_people, public_graph
from ldpsim.strategies.people.private_and_public import divide
from ldpsim.strategies.runs.teachers import CHUNK, Classroom

CLASSES = 10
AIMS = {(300, "given"): 2.5, (750, "given"): 1.6, (300, "rotated"): 5.0, (750, "rotated"): 2.5}


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


def amazon() -> Population:
    """Amazon Computers, or a random graph of its size."""
    try:
        return datasets.load("computers")
    except ValueError:
        rng, n, d = np.random.default_rng(0), 13752, 767
        rows, columns = np.nonzero(rng.random((n, d)) < 0.35)
        return build_population(
            "computers", n=n, d=d, edges=rng.integers(0, n, (2, 245861)),
            feature_indptr=np.searchsorted(rows, np.arange(n + 1)), feature_indices=columns, feature_values=None,
            labels=rng.integers(0, CLASSES, n), classes=CLASSES,
        )  # fmt: skip


def one_pyg(piece: Any, epochs: int, device: str = "cpu") -> float:
    """CPU seconds of one teacher; on a GPU, seconds."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    started = clock()
    x, labels = torch.from_numpy(piece.features).to(device), torch.from_numpy(piece.labels).to(device)
    edges = torch.from_numpy(np.stack([piece.source, piece.target])).to(device)
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


def one_of_ours(piece: Any, settings: SageSettings) -> float:
    """CPU seconds of one teacher."""
    started = time.process_time()
    layout, generator = Layout(piece.features.shape[1], 64, CLASSES), weights_generator(0, 0)
    start = layout.draw(generator)
    masks = Masks(generator, epochs=settings.epochs, rows=len(piece), units=64, dropout=0.5)
    train_sage(piece, start, layout, masks, settings)
    return time.process_time() - started


def stacked_on_gpu(pieces: list[Any], settings: SageSettings) -> float:
    """Seconds a teacher in one stack on the GPU."""
    layout = Layout(pieces[0].features.shape[1], 64, CLASSES)
    starts, masks = [], []
    for query in range(len(pieces)):
        generator = weights_generator(0, query)
        starts.append(layout.draw(generator))
        masks.append(Masks(generator, epochs=settings.epochs, rows=len(pieces[0]), units=64, dropout=0.5))
    started = time.perf_counter()
    train_stacked(pieces, starts, layout, masks, settings, device=torch.device("cuda"))
    return (time.perf_counter() - started) / len(pieces)


def _mark(marks: list[float], phase: str, share: float | None) -> None:
    marks.append(time.perf_counter())


def main() -> None:
    """Print a line a measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--only", choices=("teachers", "processes"))
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    population = amazon()
    division = divide(population, 0)
    owned = owned_people(population, division)
    private = PlainGraph.build(owned.features, owned.edges, owned.labels)
    public = public_graph(population, division, labelled=False)
    machine = beside()
    print(f"{len(private):,} private people, {private.features.shape[1]} features, {given.epochs} epochs; "
          f"{machine}, torch {torch.__version__}")  # fmt: skip
    if given.only != "processes":
        _teachers(private, public, given, machine)
    if given.only != "teachers":
        _processes(private, public, given, machine)


def _teachers(private: PlainGraph, public: PlainGraph, given: argparse.Namespace, machine: str) -> None:
    """Seconds a teacher on one thread, and on a GPU where there is one."""
    for size in (300, 750):
        teaching = Teaching(classes=CLASSES, neighbours=size, noise_seed=1, training_seed=1)
        pieces = [
            cut(private, teaching.nearest(private, teaching.sample(len(private), query), public.features[query]))
            for query in range(max(given.queries, 2))
        ]
        settings = SageSettings(epochs=given.epochs)
        ways = {"given": settings, "rotated": replace(settings, basis="rotated")}
        one_pyg(pieces[0], 3)  # the first optimiser step of a process costs over a second
        one_of_ours(pieces[0], replace(settings, epochs=3))
        taken: dict[str, list[float]] = {"pyg": [], **{name: [] for name in ways}}
        for piece in pieces[: given.queries]:
            taken["pyg"].append(one_pyg(piece, given.epochs))
            for name, way in ways.items():
                taken[name].append(one_of_ours(piece, way))
        base = statistics.median(taken["pyg"])
        print(f"K={size}: PyG one at a time {base:.2f} CPU s a teacher")
        for name in ways:
            median = statistics.median(taken[name])
            print(f"  ours, {name} basis: {median:.2f} s, {base / median:.1f} x (aim {AIMS[size, name]:g})")
            if given.save:
                enter(f"a teacher on one thread, K={size}, {name} basis", f"{AIMS[size, name]:g} x",
                      f"{base / median:.1f} x ({median:.2f} CPU s; PyG one at a time {base:.2f})", machine)  # fmt: skip
        if torch.cuda.is_available():
            one_pyg(pieces[0], 3, "cuda")
            alone = one_pyg(pieces[0], given.epochs, "cuda")
            same = [piece for piece in pieces if len(piece) == len(pieces[0])] * 64
            together = stacked_on_gpu(same[:64], settings)
            print(f"  GPU: PyG {alone:.2f} s, in a stack {together:.4f} s a teacher, {alone / together:.0f} x (aim 30)")
        else:
            print("  GPU: none here, not measured")


def _processes(private: PlainGraph, public: PlainGraph, given: argparse.Namespace, machine: str) -> None:
    """Chunks a second with one and with two processes, in turns; starting them is not counted."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    epochs = max(10, given.epochs // 5)
    for turn in range(3):
        for workers in (1, 2):
            teaching = Teaching(classes=CLASSES, settings=SageSettings(epochs=epochs), noise_seed=1,
                                training_seed=turn)  # fmt: skip
            with tempfile.TemporaryDirectory() as home:
                room = Classroom.open(Path(home), private, public, teaching, np.arange(len(public)))
                marks: list[float] = []
                room.posteriors(4 * workers * CHUNK, workers=workers, tell=partial(_mark, marks))
                # from the first chunk of each worker on, when all of them are up
                rates[workers].append((len(marks) - workers) / (marks[-1] - marks[workers - 1]))
    gains = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    seen = f"{statistics.median(gains):.2f} x"
    turns = ", ".join(f"{gain:.2f}" for gain in gains)
    print(f"two processes: {seen} one (aim 1.8; turns {turns}); {epochs} epochs, K=300, chunks of {CHUNK}")
    if given.save:
        enter("two processes against one, K=300", "1.8 x", f"{seen} (turns {turns})", machine)


if __name__ == "__main__":
    main()
