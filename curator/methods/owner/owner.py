"""Methods of an owner with raw private data and a public graph: shared parts and the baselines.

The owner asks its teachers about public nodes and releases noisy labels. A student trained on
these labels is published. The baselines have no noise and no privacy. Methods and baselines are
those of Olatunji, Funke and Khosla, https://arxiv.org/abs/2109.08907.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator import options as o
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods.base import Budget, Method, MethodSpec, Question
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.owner.privacy.account import Account, LabelRelease, account, small_delta
from ldpsim.curator.owner.teachers.answering import SELECTIONS, Teaching, ask_all, noisy_labels, private_generator
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.student import Student, train_network
from ldpsim.curator.privacy.guarantee import Guarantee, open_guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.curator.setting_error import MOST
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts

_PAPER = "Olatunji, Funke, Khosla, Releasing Graph Neural Networks with Differential Privacy Guarantees"

_TRAINING = frozenset({"hidden", "lr", "weight_decay", "gnn_dropout", "epochs"})


class OwnerMethod(Method):
    """A method on an :class:`OwnedGraph` and a public graph."""

    spec: ClassVar[MethodSpec] = MethodSpec(
        paper=_PAPER, default_gnn="sage", trained_by="owner", options=frozenset(), training_read=_TRAINING,
        reference_read=_TRAINING, common_selection=False,
        training_defaults={"hidden": 64, "lr": 0.01, "weight_decay": 0.0, "gnn_dropout": 0.5, "epochs": 500},
    )  # fmt: skip
    scores: str = "votes"  # of its teachers: what gets the noise

    @property
    def hands_over(self) -> bool:
        """Whether private people hand their records over; else the owner's data are read as such."""
        return self.spec.trust != "none"

    def check(self, *, people: int, asked: int, classes: int) -> None:
        """Check that the method fits.

        Args:
            people: Number of private people.
            asked: Number of public nodes for queries.
            classes: Number of classes.

        Raises:
            ValueError: for a parameter that does not fit these numbers.
        """

    def account(self, people: int, classes: int) -> Account | None:
        """Return the privacy cost of the release; None for a method that releases nothing under noise."""
        return None


def sage_settings(training: TrainingSettings) -> SageSettings:
    """Return the settings of an owner's networks.

    Raises:
        ValueError: for another network than GraphSAGE.
    """
    if training.gnn != "sage":
        raise ValueError(f"--gnn {training.gnn}: an owner's teachers and student are GraphSAGE (sage)")
    return SageSettings(hidden=training.hidden, lr=training.lr, weight_decay=training.weight_decay,
                        dropout=training.gnn_dropout, epochs=training.epochs)  # fmt: skip


def private_graph(owned: OwnedGraph) -> PlainGraph:
    """Return an owner's graph; TypeError for anything but owned data."""
    if not isinstance(owned, OwnedGraph):
        raise TypeError(f"an owner's method reads an OwnedGraph, not {type(owned).__name__}")
    return PlainGraph.build(owned.features, owned.edges, owned.labels)


@dataclass(frozen=True)
class LabelAnswers(OwnerMethod):
    """An owner that answers queries with noisy labels.

    Args:
        queries: Number of queried public nodes.
        lambda_: 1 / scale of the Laplace noise on each class.
        delta: Of the guarantee; 0: the largest power of ten below 1 / private people.
        query_selection: Choice of these nodes: random, pagerank, degree, cluster.

    Raises:
        ValueError: for a parameter outside its range.
    """

    queries: int = 1000
    lambda_: float = 0.4
    delta: float = 0.0
    query_selection: str = "random"

    spec = replace(
        OwnerMethod.spec, trust="trusted curator", private=("adjacency", "features", "label"), mechanisms=("laplace",),
        options=o.QUESTION, own_budget=("lambda_", "λ"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.queries < 1:
            raise ValueError(f"--queries {self.queries}: must be 1 or more")
        if not 0 < self.lambda_ <= MOST:
            raise ValueError(f"--lambda {self.lambda_:g}: must be a number above 0, and at most {MOST:g}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"--delta {self.delta:g}: must be above 0 and below 1 / n")
        if self.query_selection not in SELECTIONS:
            raise ValueError(f"--query-selection {self.query_selection}: must be one of {', '.join(SELECTIONS)}")

    def release(self, people: int, classes: int) -> LabelRelease:
        """Return the description of the release, for the accountant; ValueError if it does not fit."""
        delta = self.delta or small_delta(people)
        return LabelRelease(queries=self.queries, lambda_=self.lambda_, delta=delta, classes=classes, nodes=people)

    def check(self, *, people: int, asked: int, classes: int) -> None:
        """As :meth:`OwnerMethod.check`."""
        if self.queries > asked:
            raise ValueError(f"--queries {self.queries}: {asked} public nodes may be asked about; give 1 to {asked}")
        self.release(people, classes)

    @property
    def trained(self) -> int:
        """Number of teachers."""
        raise NotImplementedError

    def teaching(
        self, training: TrainingSettings, *, classes: int, noise_seed: int, training_seed: int
    ) -> Teaching | None:
        """Return settings and seeds of a teacher for each query; None for teachers who all vote on every query.

        Raises:
            ValueError: if the settings do not fit.
        """
        return None

    def votes(
        self, private: PlainGraph, public: PlainGraph, queries: IntArray, settings: SageSettings, *, classes: int,
        noise_seed: int, training_seed: int,
    ) -> NDArray[np.float64]:  # fmt: skip
        """Return float64 (queries, classes): number of teachers that vote for each class.

        Only a method without :meth:`teaching` has this.
        """
        raise NotImplementedError

    def labels(self, values: NDArray[np.float64], *, noise_seed: int) -> IntArray:
        """int64 (queries,): the released labels, from votes or posteriors."""
        return noisy_labels(values, self.lambda_, noise_seed=noise_seed)

    def account(self, people: int, classes: int) -> Account:
        """Return the privacy cost of the release."""
        return account(self.spec.name, self.release(people, classes))

    def reasons(self) -> list[str]:
        """Reasons why the printed figure and what holds differ."""
        return ["only the labels leave the owner; releasing the noisy vectors would cost the vector's figure"]

    def guarantee_of(self, found: Account, collections: int = 1) -> Guarantee:
        """Return the printed figure beside what holds for a person in the owner's data.

        Args:
            found: Account of one release.
            collections: Number of such releases about the same people, each with fresh noise.
        """
        to_owner = Level("unprotected", reason="the record is handed to the trusted owner in clear")
        holds = {**dict.fromkeys(LEVELS, to_owner), "central_node": found.central_node(collections)}
        return Guarantee(self.spec.trust, found.claim(), holds, tuple(self.reasons())).over(collections)


@dataclass(frozen=True)
class Baseline(OwnerMethod):
    """A baseline without noise and without privacy."""

    spec = replace(OwnerMethod.spec, trust="none", reference_read=frozenset())

    def predictions(
        self, owned: OwnedGraph, public: PlainGraph, asked: IntArray, settings: SageSettings, *, classes: int, seed: int
    ) -> Student:
        """Return a network and its predictions for every public node.

        Args:
            owned: The private graph.
            public: The public graph with the true labels of ``asked``.
            asked: Public nodes of the training part.
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
        self, owned: OwnedGraph, public: PlainGraph, asked: IntArray, settings: SageSettings, *, classes: int, seed: int
    ) -> Student:
        """As :meth:`Baseline.predictions`."""
        graph = self.learned_from(private_graph(owned), seed)
        known = np.flatnonzero(graph.labels >= 0)
        student = train_network(graph, known, graph.labels[known], classes, settings, seed=seed)
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

    gamma: float = 0.3

    spec = replace(B1.spec, name="b1-sampled")

    def __post_init__(self) -> None:
        if not 0 < self.gamma <= 1:
            raise ValueError(f"--gamma {self.gamma:g}: must be above 0 and at most 1")

    def learned_from(self, graph: PlainGraph, seed: int) -> PlainGraph:
        """Return the subgraph of the sampled people."""
        drawn = private_generator(seed, "b1 sample", 0).random(len(graph)) < self.gamma
        return graph.part(np.flatnonzero(drawn))


@dataclass(frozen=True)
class B2(Baseline):
    """The student's network trained on the public graph with the true labels of its training part."""

    spec = replace(Baseline.spec, name="b2")

    def predictions(
        self, owned: OwnedGraph, public: PlainGraph, asked: IntArray, settings: SageSettings, *, classes: int, seed: int
    ) -> Student:
        """As :meth:`Baseline.predictions`."""
        return train_network(public, asked, public.labels[asked], classes, settings, seed=seed)
