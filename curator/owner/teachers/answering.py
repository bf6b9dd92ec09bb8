"""One query of PrivGnn: sample people, take the nearest, train a teacher on them, ask it.

Lines 2 to 6 of Algorithm 1 (Olatunji, Funke and Khosla), before the noise. People are drawn by
independent Bernoulli(gamma) trials, as the accounting assumes, by default anew for each query.

Two rules for small samples, neither of which looks at the data: a sample of fewer than K people
is taken whole; for a sample of fewer than two people, or without a label, the posterior is
uniform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from ldpsim.curator.draws import private_generator, teacher_seed
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import Sage, SageSettings, rows_of, train
from ldpsim.devices.array_types import IntArray

DISTANCES = ("euclidean", "cosine")
SAMPLINGS = ("fresh", "once")
STACK = 4  # networks trained at once on a CPU: more of them leave its caches


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """Settings and seeds of the teachers.

    Args:
        neighbours: K, the number of sampled people that a teacher is trained on.
        gamma: Probability with which a person is in a sample.
        sampling: ``fresh`` for each query, or ``once`` for all of them.
        distance: Between features: ``euclidean`` or ``cosine``.
        classes: Number of classes.
        settings: Training of a teacher.
        noise_seed: Seed of the samples.
        training_seed: Seed of weights and dropout.
    """

    neighbours: int = 300
    gamma: float = 0.3
    sampling: str = "fresh"
    distance: str = "euclidean"
    classes: int
    settings: SageSettings = field(default_factory=SageSettings)
    noise_seed: int
    training_seed: int

    def sample(self, people: int, query: int) -> IntArray:
        """Return the sorted ids of the people drawn for a query (line 2)."""
        number = query if self.sampling == "fresh" else 0
        drawn = private_generator(self.noise_seed, "sample", number).random(people) < self.gamma
        return np.flatnonzero(drawn)

    def nearest(self, private: PlainGraph, sampled: IntArray, point: NDArray[np.float32]) -> IntArray:
        """Return the sorted ids of the K sampled people nearest to a point (line 4); the first of equal ones."""
        if len(sampled) <= self.neighbours:
            return sampled
        people = private.features[sampled]
        # torch's product keeps to torch's number of threads; numpy's sums depend on the number of cores
        product = torch.mv(torch.from_numpy(people), torch.from_numpy(np.array(point))).numpy()
        squares = np.einsum("ij,ij->i", people, people)
        if self.distance == "euclidean":
            distance = squares - 2 * product
        else:
            norms = np.sqrt(squares) * np.sqrt(np.einsum("i,i->", point, point))
            distance = -product / np.where(norms > 0, norms, 1)
        return np.sort(sampled[np.argsort(distance, kind="stable")[: self.neighbours]])


def posteriors(
    private: PlainGraph,
    public: PlainGraph,
    queries: Sequence[tuple[int, int]],
    teaching: Teaching,
    *,
    device: str = "cpu",
) -> NDArray[np.float64]:
    """Return float64 (queries, classes): each query's teacher's posterior, a point of the simplex.

    Args:
        private: The owner's graph.
        public: The graph of the queried nodes.
        queries: (number, public node) of each query; a draw depends on the number alone.
        teaching: Settings and seeds.
        device: Device of the training.
    """
    where = torch.device(device)
    points = np.full((len(queries), teaching.classes), 1 / teaching.classes)
    waiting = []
    for at, (number, node) in enumerate(queries):
        piece = private.part(teaching.nearest(private, teaching.sample(len(private), number), public.features[node]))
        if len(piece) >= 2 and (piece.labels >= 0).any():
            waiting.append((at, number, node, piece))
    # All have K rows, whoever is in the samples: what a query is answered depends on its own sample alone.
    stack = STACK if where.type == "cpu" else max(1, len(waiting))
    for start in range(0, len(waiting), stack):
        places, numbers, nodes, pieces = zip(*waiting[start : start + stack], strict=True)
        seeds = [teacher_seed(teaching.training_seed, number) for number in numbers]
        networks = train(pieces, seeds, teaching.classes, teaching.settings,
                         rows=teaching.neighbours, device=where)  # fmt: skip
        for at, place in enumerate(places):
            points[place] = on_simplex(posterior_of(networks, public, nodes[at])[at])
    return points


def posterior_of(networks: Sage, public: PlainGraph, node: int) -> NDArray[np.float64]:
    """Return the scores (networks, classes) of a public node, from its two-hop neighbourhood in the public graph."""
    around = np.concatenate([[node], public.neighbours(node)])
    inputs = np.concatenate([public.mean_features[around], public.features[around]], axis=1)
    hidden = networks.hidden(torch.from_numpy(inputs))
    near = hidden[:, 1:].mean(1, keepdim=True) if len(around) > 1 else torch.zeros_like(hidden[:, :1])
    return networks.scores(hidden[:, :1], near)[:, 0].double().numpy()


def ask_all(network: Sage, graph: PlainGraph) -> NDArray[np.float64]:
    """Return the scores (n, classes) of every node of a graph, by a stack of one network."""
    hidden = network.hidden(rows_of(graph))
    near = torch.from_numpy(graph.mean @ hidden[0].numpy())
    return network.scores(hidden, near)[0].double().numpy()


def on_simplex(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax of scores; uniform if a score is not finite, so that the guarantee holds for every training."""
    powers = np.exp(scores - scores.max())
    if not np.isfinite(powers).all():
        return np.full(len(scores), 1 / len(scores))
    return powers / powers.sum()
