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

from ldpsim.curator.owner.teachers.graph import Piece, PlainGraph, cut
from ldpsim.curator.owner.teachers.randomness import Masks, private_generator, weights_generator
from ldpsim.curator.owner.teachers.sage import SageSettings, train_sage
from ldpsim.curator.owner.teachers.stacked import train_stacked
from ldpsim.curator.owner.teachers.weights import Layout, TeacherWeights
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import IntArray

DISTANCES = ("euclidean", "cosine")
SAMPLINGS = ("fresh", "once")


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

    Raises:
        ValueError: for a value outside its range.
    """

    neighbours: int = 300
    gamma: float = 0.3
    sampling: str = "fresh"
    distance: str = "euclidean"
    classes: int
    settings: SageSettings = field(default_factory=SageSettings)
    noise_seed: int
    training_seed: int

    def __post_init__(self) -> None:
        check_sampling(self.neighbours, self.gamma, self.sampling, self.distance)

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


def check_sampling(neighbours: int, gamma: float, sampling: str, distance: str) -> None:
    """Refuse values outside their range (ValueError)."""
    if neighbours < 2:
        raise SettingError(f"K={neighbours}", "a teacher needs 2 people or more")
    if not 0 < gamma <= 1:
        raise ValueError(f"--gamma {gamma:g}: must be above 0 and at most 1")
    if sampling not in SAMPLINGS:
        raise ValueError(f"--sampling {sampling}: must be one of {', '.join(SAMPLINGS)}")
    if distance not in DISTANCES:
        raise SettingError(f"distance={distance}", f"must be one of {', '.join(DISTANCES)}")


def posteriors(
    private: PlainGraph,
    public: PlainGraph,
    queries: Sequence[tuple[int, int]],
    teaching: Teaching,
    *,
    device: torch.device | None = None,
) -> NDArray[np.float64]:
    """Return float64 (queries, classes): each query's teacher's posterior, a point of the simplex.

    Args:
        private: The owner's graph.
        public: The graph of the queried nodes.
        queries: (number, public node) of each query; a draw depends on the number alone.
        teaching: Settings and seeds.
        device: A CUDA device trains the teachers of all these queries as one stack.
    """
    layout = Layout(private.features.shape[1], teaching.settings.hidden, teaching.classes)
    found = np.full((len(queries), teaching.classes), 1 / teaching.classes)
    waiting: list[tuple[int, Piece, torch.Tensor, Masks]] = []
    for at, (number, node) in enumerate(queries):
        people = teaching.nearest(private, teaching.sample(len(private), number), public.features[node])
        piece = cut(private, people)
        if len(piece) < 2 or not (piece.labels >= 0).any():
            continue
        generator = weights_generator(teaching.training_seed, number)
        start = layout.draw(generator)
        masks = Masks(generator, epochs=teaching.settings.epochs, rows=len(piece), units=layout.h,
                      dropout=teaching.settings.dropout)  # fmt: skip
        if device is not None and device.type == "cuda":
            waiting.append((at, piece, start, masks))
            continue
        trained = train_sage(piece, start, layout, masks, teaching.settings)
        found[at] = on_simplex(ask(trained, public, node))
    for size in sorted({len(piece) for _, piece, _, _ in waiting}):
        places, pieces, starts, masks_of = zip(*(w for w in waiting if len(w[1]) == size), strict=True)
        assert device is not None
        networks = train_stacked(pieces, starts, layout, masks_of, teaching.settings, device=device)
        for at, trained in zip(places, networks, strict=True):
            found[at] = on_simplex(ask(trained, public, queries[at][1]))
    return found


def ask(trained: TeacherWeights, public: PlainGraph, node: int) -> NDArray[np.float64]:
    """Return the scores (classes,) of a public node, from its two-hop neighbourhood in the public graph."""
    around = np.concatenate([[node], public.neighbours(node)])
    hidden = trained.hidden(*(torch.from_numpy(matrix[around]) for matrix in (public.features, public.mean_features)))
    near = hidden[1:].mean(0, keepdim=True) if len(around) > 1 else torch.zeros_like(hidden[:1])
    return trained.scores(hidden[:1], near)[0].double().numpy()


def ask_all(trained: TeacherWeights, graph: PlainGraph) -> NDArray[np.float64]:
    """Return the scores (n, classes) of every node of a graph."""
    hidden = trained.hidden(torch.from_numpy(np.asarray(graph.features)), torch.from_numpy(graph.mean_features))
    near = PlainGraph(hidden.numpy(), graph.indptr, graph.indices, graph.labels).mean_features
    return trained.scores(hidden, torch.from_numpy(near)).double().numpy()


def on_simplex(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax of scores; uniform if a score is not finite, so that the guarantee holds for every training."""
    powers = np.exp(scores - scores.max())
    if not np.isfinite(powers).all():
        return np.full(len(scores), 1 / len(scores))
    return powers / powers.sum()
