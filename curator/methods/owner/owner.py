"""Methods of an owner with raw private data and a public graph.

The owner asks its teachers about public nodes and releases noisy labels. A student trained on
these labels is published. The baselines have no noise and no privacy. Methods and baselines are
those of Olatunji, Funke and Khosla, https://arxiv.org/abs/2109.08907.

PrivGnn: a personalised teacher for every query. Algorithm 1: lines 2 to 7 are
:mod:`ldpsim.curator.owner.teachers.answering`, line 8 :mod:`ldpsim.curator.owner.teachers.student`. Three differences
from the printed algorithm or the published code; the original is available for each:

- Line 2 draws one sample; the paper's accounting is about a fresh one for each query.
  ``sampling="fresh"`` is the default. ``"once"`` is line 2 and is accounted as such.
- Noise is added to the softmax posterior, as the text says. The published code adds it to the
  log-softmax, which is unbounded, so nothing is guaranteed: ``scores="log-posterior"``.
- Only labels are released, so what holds is the loss of the label.

PATE-G and PATE-M, the PATE baselines of the PrivGnn paper.

PATE: Papernot et al. 2017, https://arxiv.org/abs/1610.05755. As baselines for graphs: Olatunji,
Funke and Khosla, https://arxiv.org/abs/2109.08907.

Each private person is put into one of several disjoint parts by an independent draw. On each part
a teacher is trained: GraphSAGE on the part's own edges, or a perceptron on features alone. Each
teacher votes on every query, Laplace noise of scale 1 / lambda is added to each count, and the
arg max is released. (The paper's published code re-initialises its teachers before they vote, and
truncates the noise to integers. Neither is done here.)

The draws are independent for a reason. If a shuffled list were cut into equal lengths, one person
more or less would move *other* people into other parts, and several votes could change. Here all
others stay in their parts, and one teacher changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator import options as o
from ldpsim.curator.draws import derive, private_generator, teacher_seed
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods.base import Budget, Method, MethodSpec, Question
from ldpsim.curator.methods.parameters import FRACTION, POSITIVE, between, one_of, parameter, whole
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.owner.privacy.account import Account, LabelRelease, account, small_delta
from ldpsim.curator.owner.teachers.answering import DISTANCES, SAMPLINGS, Teaching, ask_all
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.perceptron import perceptron_scores, train_perceptron
from ldpsim.curator.owner.teachers.release import log_posteriors, noisy_labels
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.selection import SELECTIONS
from ldpsim.curator.owner.teachers.student import Student, train_network
from ldpsim.curator.privacy.guarantee import Guarantee, open_guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts

_PAPER = "Olatunji, Funke, Khosla, Releasing Graph Neural Networks with Differential Privacy Guarantees"
_FIRST = 1  # weights of teacher k: number k + 1

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

    def check(self, *, people: int, candidates: int, classes: int) -> None:
        """Check that the method fits.

        Args:
            people: Number of private people.
            candidates: Number of public nodes for queries.
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
    """Return an owner's graph."""
    return PlainGraph.build(owned.features, owned.edges, owned.labels)


@dataclass(frozen=True)
class LabelAnswers(OwnerMethod):
    """An owner that answers queries with noisy labels.

    Args:
        queries: Number of queried public nodes.
        lambda_: 1 / scale of the Laplace noise on each class.
        delta: Of the guarantee; 0: the largest power of ten below 1 / private people.
        query_selection: Choice of these nodes: random, pagerank or degree.

    Raises:
        ValueError: for a parameter outside its range.
    """

    queries: int = parameter(1000, whole(1))
    lambda_: float = parameter(0.4, POSITIVE)
    delta: float = parameter(0.0, between(0, 1))
    query_selection: str = parameter("random", one_of(*SELECTIONS))

    spec = replace(
        OwnerMethod.spec, trust="trusted curator", private=("adjacency", "features", "label"), mechanisms=("laplace",),
        options=o.QUESTION, own_budget=("lambda_", "λ"),
    )  # fmt: skip

    def release(self, people: int, classes: int) -> LabelRelease:
        """Return the description of the release, for the accountant; ValueError if it does not fit."""
        delta = self.delta or small_delta(people)
        return LabelRelease(queries=self.queries, lambda_=self.lambda_, delta=delta, classes=classes, nodes=people)

    def check(self, *, people: int, candidates: int, classes: int) -> None:
        """As :meth:`OwnerMethod.check`."""
        if self.queries > candidates:
            raise SettingError(f"queries={self.queries}", f"must be 1 to {candidates}, the number of public nodes")
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

    def guarantee_of(self, cost: Account, collections: int = 1) -> Guarantee:
        """Return the printed figure beside what holds for a person in the owner's data.

        Args:
            cost: Account of one release.
            collections: Number of such releases about the same people, each with fresh noise.
        """
        to_owner = Level("unprotected", reason="the record is handed to the trusted owner in clear")
        holds = {**dict.fromkeys(LEVELS, to_owner), "central_node": cost.central_node(collections)}
        return Guarantee(self.spec.trust, cost.claim(), holds, tuple(self.reasons())).over(collections)


@dataclass(frozen=True)
class PrivGnn(LabelAnswers):
    """PrivGnn.

    Args:
        gamma: Probability that a person is in a sample.
        sampling: ``fresh`` for each query, or ``once``.
        K: Number of sampled people, the nearest to the query, that a teacher learns from.
        distance: ``euclidean`` or ``cosine``.
        scores: Vector that gets the noise: ``posterior``, or ``log-posterior`` (no guarantee).
        others: The parameters of :class:`LabelAnswers`.

    Raises:
        ValueError: for a parameter outside its range.
    """

    gamma: float = parameter(0.3, FRACTION)
    sampling: str = parameter("fresh", one_of(*SAMPLINGS))
    K: int = parameter(300, whole(2))
    distance: str = parameter("euclidean", one_of(*DISTANCES))
    scores: str = parameter("posterior", one_of("posterior", "log-posterior"))

    spec = replace(LabelAnswers.spec, name="privgnn")

    def teaching(self, training: TrainingSettings, *, classes: int, noise_seed: int, training_seed: int) -> Teaching:
        """Return settings and seeds of the teachers; ValueError if they do not fit."""
        return Teaching(
            neighbours=self.K, gamma=self.gamma, sampling=self.sampling, distance=self.distance, classes=classes,
            settings=sage_settings(training), noise_seed=noise_seed, training_seed=training_seed,
        )  # fmt: skip

    @property
    def trained(self) -> int:
        """As :attr:`LabelAnswers.trained`: one for each query."""
        return self.queries

    def labels(self, values: NDArray[np.float64], *, noise_seed: int) -> IntArray:
        """As :meth:`LabelAnswers.labels`."""
        return super().labels(log_posteriors(values) if self.scores == "log-posterior" else values,
                              noise_seed=noise_seed)  # fmt: skip

    def release(self, people: int, classes: int) -> LabelRelease:
        """As :meth:`LabelAnswers.release`."""
        release = super().release(people, classes)
        return replace(release, gamma=self.gamma, sampling=self.sampling)  # type: ignore[arg-type]  # checked there

    def reasons(self) -> list[str]:
        """As :meth:`LabelAnswers.reasons`."""
        reasons = [
            "two private graphs can give posteriors that differ by 2 in the L1 norm; the printed analysis takes 1",
            "the printed tables are at ten times the delta that their text states",
            *super().reasons(),
        ]
        if self.sampling == "once":
            reasons.append("one sample answers all queries here; the printed analysis is about a fresh one for each")
        if self.scores == "log-posterior":
            reasons.append("noise on log-softmax scores has unbounded sensitivity: no guarantee at any epsilon")
        return reasons

    def guarantee_of(self, cost: Account, collections: int = 1) -> Guarantee:
        """As :meth:`LabelAnswers.guarantee_of`; noise on log-softmax scores guarantees nothing."""
        usual = super().guarantee_of(cost, collections)
        if self.scores == "posterior":
            return usual
        open_ = Level("unprotected", reason="noise on log-softmax scores, whose sensitivity is unbounded")
        return replace(usual, holds={**usual.holds, "central_node": open_})


@dataclass(frozen=True)
class PateG(LabelAnswers):
    """PATE with GraphSAGE teachers.

    Args:
        teachers: Number of disjoint parts, of about equal size; the paper takes 20 for Amazon, 50 for ArXiv and Reddit.
        others: The parameters of :class:`LabelAnswers`.

    Raises:
        ValueError: for a parameter outside its range.
    """

    teachers: int = parameter(20, whole(1, 10_000))

    spec = replace(LabelAnswers.spec, name="pate-g")

    def check(self, *, people: int, candidates: int, classes: int) -> None:
        """As :meth:`LabelAnswers.check`."""
        super().check(people=people, candidates=candidates, classes=classes)
        if 2 * self.teachers > people:
            most = people // 2
            raise SettingError(f"teachers={self.teachers}", f"{people} private people make {most} parts at most")

    @property
    def trained(self) -> int:
        """As :attr:`LabelAnswers.trained`."""
        return self.teachers

    def parts(self, people: int, *, noise_seed: int) -> IntArray:
        """int64 (people,): each person's part, drawn independently; parts may be empty."""
        return private_generator(noise_seed, "parts", 0).integers(0, self.teachers, people)

    def votes(
        self, private: PlainGraph, public: PlainGraph, queries: IntArray, settings: SageSettings, *, classes: int,
        noise_seed: int, training_seed: int,
    ) -> NDArray[np.float64]:  # fmt: skip
        """Return float64 (queries, classes): number of teachers that vote for each class.

        A teacher whose part has fewer than two people, or no label, does not vote.
        """
        part_of = self.parts(len(private), noise_seed=noise_seed)
        counts = np.zeros((len(queries), classes))
        for number in range(self.teachers):
            own = private.part(np.flatnonzero(part_of == number))
            if len(own) >= 2 and (own.labels >= 0).any():
                votes = self._vote(own, public, settings, classes, training_seed, number)[queries]
                counts[np.arange(len(queries)), votes] += 1
        return counts

    def reasons(self) -> list[str]:
        """As :meth:`LabelAnswers.reasons`."""
        return [
            "the printed figure is the moments bound; what holds is the tighter composition of the same noise",
            *super().reasons(),
        ]

    def _vote(
        self, own: PlainGraph, public: PlainGraph, settings: SageSettings, classes: int, seed: int, number: int
    ) -> IntArray:
        people = np.flatnonzero(own.labels >= 0)
        student = train_network(own, people, own.labels[people], classes, settings,
                                seed=derive(seed, "part", number))  # fmt: skip
        return ask_all(student.network, public).argmax(1)


@dataclass(frozen=True)
class PateM(PateG):
    """PATE with perceptrons of three layers."""

    spec = replace(PateG.spec, name="pate-m")

    def _vote(
        self, own: PlainGraph, public: PlainGraph, settings: SageSettings, classes: int, seed: int, number: int
    ) -> IntArray:
        teacher = train_perceptron(own.features, own.labels, classes, settings, teacher_seed(seed, _FIRST + number))
        return perceptron_scores(teacher, public.features).argmax(1)


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
