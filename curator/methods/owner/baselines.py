"""Baselines of an owner, without noise and without privacy (Olatunji, Funke and Khosla)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldpsim.curator.draws import private_generator
from ldpsim.curator.methods.base import Budget, Question
from ldpsim.curator.methods.owner.owner import OwnerMethod, private_graph
from ldpsim.curator.methods.parameters import FRACTION, parameter
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.owner.teachers.answering import ask_all
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.student import Student, train_network
from ldpsim.curator.privacy.guarantee import Guarantee, open_guarantee
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts


@dataclass(frozen=True)
class Baseline(OwnerMethod):
    """A baseline without noise and without privacy."""

    spec = replace(OwnerMethod.spec, trust="none", reference_read=frozenset())

    def predictions(
        self, owned: OwnedGraph, public: PlainGraph, nodes: IntArray, settings: SageSettings, *, classes: int, seed: int
    ) -> Student:
        """Return a network and its predictions for every public node.

        Args:
            owned: The private graph.
            public: The public graph with the true labels of ``nodes``.
            nodes: Public nodes of the training part.
            settings: Settings of the training.
            classes: Number of classes.
            seed: Training seed.
        """
        raise NotImplementedError

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return a guarantee of nothing."""
        return open_guarantee(("adjacency", "features", "label"), trust=self.spec.trust,
                              statement="none: a baseline without noise")  # fmt: skip


@dataclass(frozen=True)
class B1(Baseline):
    """One network trained on all private data, used inductively on the public graph."""

    spec = replace(Baseline.spec, name="b1")

    def predictions(
        self, owned: OwnedGraph, public: PlainGraph, nodes: IntArray, settings: SageSettings, *, classes: int, seed: int
    ) -> Student:
        """As :meth:`Baseline.predictions`."""
        graph = self.learned_from(private_graph(owned), seed)
        people = np.flatnonzero(graph.labels >= 0)
        student = train_network(graph, people, graph.labels[people], classes, settings, seed=seed)
        return replace(student, predictions=ask_all(student.network, public).argmax(1))

    def learned_from(self, graph: PlainGraph, seed: int) -> PlainGraph:
        """Return the part of the private graph that the network is trained on."""
        return graph


@dataclass(frozen=True)
class B1Sampled(B1):
    """The network of b1 on the subgraph of one Poisson sample.

    Args:
        gamma: Probability that a person is in the sample.

    Raises:
        ValueError: for a probability outside (0, 1].
    """

    gamma: float = parameter(0.3, FRACTION)

    spec = replace(B1.spec, name="b1-sampled")

    def learned_from(self, graph: PlainGraph, seed: int) -> PlainGraph:
        """Return the subgraph of the sampled people."""
        drawn = private_generator(seed, "b1 sample", 0).random(len(graph)) < self.gamma
        return graph.part(np.flatnonzero(drawn))


@dataclass(frozen=True)
class B2(Baseline):
    """The student's network trained on the public graph with the true labels of its training part."""

    spec = replace(Baseline.spec, name="b2")

    def predictions(
        self, owned: OwnedGraph, public: PlainGraph, nodes: IntArray, settings: SageSettings, *, classes: int, seed: int
    ) -> Student:
        """As :meth:`Baseline.predictions`."""
        return train_network(public, nodes, public.labels[nodes], classes, settings, seed=seed)
