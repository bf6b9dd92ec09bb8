"""Methods of an owner who holds the whole graph and publishes predictions from noisy sums over neighbours.

Everybody hands the record over. The owner sums the neighbours' rows under Gaussian noise, keeps the noisy sums, and
trains small networks on them. Predictions are transductive: they read the sums that are kept, so any number of answers
costs nothing more. Sums about another graph would be another release.

What is published protects friendships (``level=edge``) or people (``level=node``) from whoever reads it. The owner
itself has every record in clear.

Differences from the public code of GAP and ProGAP, each with the printed way as a setting:

- An undirected edge is in the rows of both ends, so the noise is calibrated to root 2 and not to 1 (``edges=arc``).
- Who is sent to from a list longer than ``degree`` is decided by a public order of ids, and not by a draw from the
  list. One person who leaves then moves nobody else's choice.
- The last epoch is kept, and not the one with most validation people right (``keep=best``). At the node level that
  choice would read validation labels, and no loss would bound it.
- Nobody is left out: neither isolated people nor the last one.
- Noise is calibrated by the exact curve or by privacy loss distributions (``accountant=rdp`` is the printed way).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ldpsim.curator import options as o
from ldpsim.curator.draws import derive, private_generator
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods.owner.owner import OwnerMethod
from ldpsim.curator.methods.parameters import NUMBER, POSITIVE, between, one_of, parameter, whole
from ldpsim.curator.methods.spec import MethodSpec
from ldpsim.curator.owner.aggregation.layers import Alone, made
from ldpsim.curator.owner.aggregation.sums import FloatRows, HandedLists, noisy_sums, rows_of_norm_1
from ldpsim.curator.owner.aggregation.training import Learners, PrivateSteps, as_read, fit_in_place, scores
from ldpsim.curator.owner.privacy.account import small_delta
from ldpsim.curator.owner.privacy.aggregation import ACCOUNTANTS, NoisyTraining
from ldpsim.curator.owner.privacy.graph_account import EDGE, LEVELS, NODE, GraphRelease
from ldpsim.curator.privacy.federated import MOST_EPSILON
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import IntArray


@dataclass(frozen=True)
class GraphOwner(OwnerMethod):
    """A method on noisy sums over neighbours.

    Args:
        level: What is protected from readers: ``edge``, or ``node`` (a person).
        hops: Number K of noisy sums, each over the one before; 0: no graph at all.
        edges: What the noise is calibrated to: an ``undirected`` edge, or one ``arc`` of it.
        degree: Largest number of people that one person sends to.
        longer: What is done with a list of more people: ``cut`` it, or ``refuse`` the run.
        batch: Expected number of people in a private step; at most all training people.
        clip: Largest norm of a person's gradient.
        keep: Epoch that is kept: ``last``, or ``best`` on validation people.
        accountant: ``tight`` (exact, or privacy loss distributions), or ``rdp``.
        noise_multiplier: Noise divided by sensitivity; 0: from --epsilon.
        delta: Of the guarantee; 0: the largest power of ten below 1 / training people (``node``), or below
            1 / (10 people), as the number of edges is not public (``edge``).

    Raises:
        ValueError: for a parameter outside its range.
    """

    level: str = parameter(EDGE, one_of(*LEVELS))
    hops: int = parameter(2, whole(0, 10))
    edges: str = parameter("undirected", one_of("undirected", "arc"), level=(EDGE,))
    degree: int = parameter(100, whole(1), level=(NODE,))
    longer: str = parameter("cut", one_of("cut", "refuse"), level=(NODE,))
    batch: int = parameter(256, whole(1), level=(NODE,))
    clip: float = parameter(1.0, POSITIVE, level=(NODE,))
    keep: str = parameter("last", one_of("last", "best"))
    accountant: str = parameter("tight", one_of(*ACCOUNTANTS))
    noise_multiplier: float = parameter(0.0, NUMBER)
    delta: float = parameter(0.0, between(0, 1))

    spec = replace(
        OwnerMethod.spec, trust="trusted curator", private=("adjacency", "features", "label"), mechanisms=("gaussian",),
        default_gnn="mlp", trained_by="graph owner", options=o.QUESTION | {"split", "label_rate", "epsilon"},
        training_read=frozenset({"hidden", "lr", "weight_decay", "epochs"}),
        reference_read=frozenset({"hidden", "lr", "weight_decay", "epochs"}),
        training_defaults={"hidden": 16, "lr": 0.01, "weight_decay": 0.0, "gnn_dropout": 0.0, "epochs": 100},
    )  # fmt: skip
    stages_norm: ClassVar[str] = "none"  # of networks that clip gradients
    printed_by: ClassVar[str] = "tight"  # accountant of the edge level in its public code

    def effective_spec(self) -> MethodSpec:
        """As :meth:`~ldpsim.curator.methods.base.Method.effective_spec`.

        Private steps cost noise, and a given multiplier stands in epsilon's place.
        """
        spec = self.spec
        if self.level == NODE:
            spec = replace(spec, training_defaults={**spec.training_defaults, "epochs": 10})
        return replace(spec, options=spec.options - {"epsilon"}) if self.noise_multiplier else spec

    def trainings(self) -> int:
        """Return the number of trainings, each of which is private at the node level."""
        raise NotImplementedError

    def release(self, *, people: int, training: int, epochs: int, epsilon: float) -> GraphRelease:
        """Return the description of what is published, with its noise.

        Args:
            people: Number of people.
            training: Number of training people, which is public.
            epochs: Passes of one training over these people.
            epsilon: Loss to which the noise is calibrated.

        Raises:
            ValueError: for an epsilon or a delta that does not fit.
        """
        if not (math.isfinite(epsilon) and 0 < epsilon <= MOST_EPSILON):
            raise ValueError(f"--epsilon {epsilon:g}: must be above 0 and at most {MOST_EPSILON:g} for "
                             f"{self.spec.name}")  # fmt: skip
        rate, steps = 1.0, 0
        if self.level == NODE:
            rate = min(1.0, self.batch / max(1, training))
            steps = self.trainings() * max(1, math.floor(epochs / rate + 1e-9))
        delta = self.delta or small_delta(max(2, training) if self.level == NODE else 10 * people)
        largest = 1 / max(2, training if self.level == NODE else people)
        if delta >= largest:
            raise SettingError(f"delta={delta:g}", f"must be below 1 / {round(1 / largest):,} people = {largest:.4g}")
        return GraphRelease(
            self.spec.name, self.level, NoisyTraining(self.hops, steps, rate, delta), epsilon,
            undirected=self.edges == "undirected", degree=self.degree, refuses=self.longer == "refuse",
            chosen=self.keep == "best", accountant=self.accountant, printed_by=self.printed_by,
            noise_multiplier=self.noise_multiplier,
        )  # fmt: skip

    def without_graph(self) -> GraphOwner:
        """Return the same method on own features alone, as private as the level asks for."""
        return replace(self, hops=0, noise_multiplier=0.0)

    def learn(
        self, data: HandedLists, people: Learners, released: GraphRelease, settings: TrainingSettings, *,
        classes: int, order_seed: int, noise_seed: int, seed: int, noise: bool = True,
    ) -> tuple[IntArray, nn.Module]:  # fmt: skip
        """Return everybody's class, int64 (n,), and the trained network.

        Args:
            data: The records.
            people: Who trains and who validates.
            released: What :meth:`release` returns.
            settings: Of the training.
            classes: Number of classes.
            order_seed: Public seed of the order by which lists are cut.
            noise_seed: Of the noise and of the people that steps draw.
            seed: Of the weights.
            noise: False: the same work without noise, clipping and draws, for the reference.

        Raises:
            ValueError: for a list longer than ``degree`` where these are refused, or no label to learn from.
        """
        if not len(people.train):
            raise ValueError("no training node has a label: nothing can be learned")
        capped = self.degree if self.level == NODE and noise else None
        if capped is not None and released.refuses and data.longest > capped:
            raise SettingError(f"longer=refuse, degree={capped}", f"a list has {data.longest:,} people")
        work = Work(self, data, people, released, settings, classes, noise_seed, seed, noise)
        work.arcs = data.arcs(order_seed, capped) if self.hops else None
        return self.trained(work) if self.hops else work.alone()

    def trained(self, work: Work) -> tuple[IntArray, nn.Module]:
        """Return everybody's class and the network, of one hop or more."""
        raise NotImplementedError


class Work:
    """Steps that the methods share: draw a network, train it, add a noisy hop."""

    arcs: Any

    def __init__(
        self, method: GraphOwner, data: HandedLists, people: Learners, released: GraphRelease,
        settings: TrainingSettings, classes: int, noise_seed: int, seed: int, noise: bool,
    ) -> None:  # fmt: skip
        self.method, self.people, self.released, self.settings = method, people, released, settings
        self.noise, self.classes = noise, classes
        self.private = noise and method.level == NODE
        self.norm = method.stages_norm if self.private else "batch"
        self.features = data.features
        self.sizes = (self.features.shape[1], settings.hidden, classes)
        self._generator = torch.Generator().manual_seed(derive(seed, "graph owner"))
        self._noise_seed, self._hop, self._training = noise_seed, 0, 0

    def network(self, kind: Any, *sizes: int, **more: Any) -> Any:
        """Return a network with fresh weights."""
        return made(lambda: kind(*(sizes or self.sizes), norm=self.norm, **more), self._generator)

    def train(self, network: nn.Module, inputs: list[Any], weights: list[nn.Parameter] | None = None) -> None:
        """Train a network in place."""
        self._training += 1
        settings, released, steps = self.settings, self.released, None
        if self.private:
            each = released.training.steps // self.method.trainings()
            draws = private_generator(self._noise_seed, "graph owner training", self._training)
            steps = PrivateSteps(each, released.training.rate, released.multiplier, self.method.clip, draws)
        fit_in_place(network, inputs, self.people, weights=list(network.parameters()) if weights is None else weights,
            lr=settings.lr, weight_decay=settings.weight_decay, epochs=settings.epochs, keep=self.method.keep,
            private=steps)  # fmt: skip

    def hop(self, rows: Tensor) -> FloatRows:
        """Return the noisy sums of the neighbours' rows, which are scaled to norm 1 before."""
        self._hop += 1
        draws = private_generator(self._noise_seed, "graph owner hop", self._hop)
        return noisy_sums(
            self.arcs, rows_of_norm_1(rows.numpy()), self.released.deviation if self.noise else 0.0, draws
        )

    def classes_of(self, network: nn.Module, inputs: list[Any]) -> IntArray:
        """int64 (n,): everybody's class."""
        return np.asarray(scores(network, as_read(inputs)).argmax(1).numpy(), np.int64)

    def alone(self) -> tuple[IntArray, nn.Module]:
        """Train the network without a graph."""
        network = self.network(Alone)
        self.train(network, [self.features])
        return self.classes_of(network, [self.features]), network
