"""Student: a network trained on the public graph with the labels that the owner released.

It is the same two-layer GraphSAGE as a teacher, transductive: all public nodes pass through it,
and the queried nodes have labels.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor, nn

from ldpsim.curator.owner.teachers.answering import ask_all
from ldpsim.curator.owner.teachers.graph import PlainGraph, cut
from ldpsim.curator.owner.teachers.randomness import Masks, weights_generator
from ldpsim.curator.owner.teachers.sage import SageSettings, train_sage
from ldpsim.curator.owner.teachers.weights import Layout, TeacherWeights
from ldpsim.devices.array_types import IntArray

_STUDENT = 0  # number of its generator


class Sage(nn.Module):
    """A trained network as a torch module, for saving; ``trained`` computes with it."""

    def __init__(self, trained: TeacherWeights) -> None:
        super().__init__()
        self.trained = trained
        parts: dict[str, Tensor] = {
            **trained.layout.parts(trained.vector), "mean": trained.mean, "variance": trained.variance,
        }  # fmt: skip
        for name, part in parts.items():
            self.register_buffer(name, part.clone())


@dataclass(frozen=True, eq=False)
class Student:
    """A student and its predictions.

    Args:
        trained: The network.
        predictions: int64 (n,), each node's class.
        seconds: Wall time.
    """

    trained: TeacherWeights
    predictions: IntArray
    seconds: float


def train_network(graph: PlainGraph, known: IntArray, labels: IntArray, classes: int, settings: SageSettings, *,
                  seed: int) -> Student:  # fmt: skip
    """Train on a whole graph with the labels of some of its nodes; keep the last epoch.

    Args:
        graph: The graph; its own labels are not used.
        known: Nodes with a label.
        labels: Their labels.
        classes: Number of classes.
        settings: Settings of the training; ``basis`` is always ``given`` here.
        seed: Training seed.

    Raises:
        ValueError: if no node has a label.
    """
    started = time.perf_counter()
    seen = np.full(len(graph), -1, np.int64)
    seen[known] = labels
    piece = cut(PlainGraph(graph.features, graph.indptr, graph.indices, seen), np.arange(len(graph)))
    layout = Layout(graph.features.shape[1], settings.hidden, classes)
    generator = weights_generator(seed, _STUDENT)
    start = layout.draw(generator)
    masks = Masks(generator, epochs=settings.epochs, rows=len(piece), units=layout.h, dropout=settings.dropout)
    trained = train_sage(piece, start, layout, masks, replace(settings, basis="given"))
    predictions = ask_all(trained, graph).argmax(1)
    return Student(trained, predictions, time.perf_counter() - started)
