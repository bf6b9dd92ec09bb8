"""Methods of an owner with raw private data and a public graph.

The owner asks its teachers about public nodes and releases noisy labels. A student trained on
these labels is published. The baselines have no noise and no privacy. Methods and baselines are
those of Olatunji, Funke and Khosla, https://arxiv.org/abs/2109.08907.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator import options as o
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods.base import Method, MethodSpec
from ldpsim.curator.methods.parameters import POSITIVE, between, one_of, parameter, whole
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.owner.privacy.account import Account, LabelRelease, account, small_delta
from ldpsim.curator.owner.teachers.answering import Teaching
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.release import noisy_labels
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.selection import SELECTIONS
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import IntArray

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
        options=o.QUESTION,
    )  # fmt: skip
    budget_parameter = ("lambda_", "λ")

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
