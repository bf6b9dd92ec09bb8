"""Student: a network trained on the public graph with the labels that the owner released.

It is the same two-layer GraphSAGE as a teacher, transductive: all public nodes pass through it,
and the queried nodes have labels.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ldpsim.curator.draws import teacher_seed
from ldpsim.curator.owner.teachers.answering import ask_all
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import Sage, SageSettings, train
from ldpsim.devices.array_types import IntArray

_STUDENT = 0  # number of its seed


@dataclass(frozen=True, eq=False)
class Student:
    """A student and its predictions.

    Args:
        network: The network, a stack of one.
        predictions: int64 (n,), each node's class.
        seconds: Wall time.
    """

    network: Sage
    predictions: IntArray
    seconds: float


def train_network(graph: PlainGraph, nodes: IntArray, labels: IntArray, classes: int, settings: SageSettings, *,
                  seed: int) -> Student:  # fmt: skip
    """Train on a whole graph with the labels of some of its nodes; keep the last epoch.

    Args:
        graph: The graph; its own labels are not used.
        nodes: Nodes with a label.
        labels: Their labels.
        classes: Number of classes.
        settings: Settings of the training.
        seed: Training seed.

    Raises:
        ValueError: if no node has a label.
    """
    started = time.perf_counter()
    seen = np.full(len(graph), -1, np.int64)
    seen[nodes] = labels
    network = train([replace(graph, labels=seen)], [teacher_seed(seed, _STUDENT)], classes, settings)
    return Student(network, ask_all(network, graph).argmax(1), time.perf_counter() - started)
