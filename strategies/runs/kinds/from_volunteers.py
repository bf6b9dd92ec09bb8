"""A training in rounds that starts from volunteers, whose labels and features are public; nobody is asked for them.

- The first weights are those of the same network, trained on the training volunteers; the validating volunteers choose
  the epoch.
- The validating volunteers choose the round whose weights are kept, or the first weights. The weights of each round are
  private, so this loses nothing more.
- A device evaluates two models on its own features: the network with the kept weights, and the linear model of the
  volunteers. Their exponents have the smallest negative log-likelihood of the validating volunteers' labels. The device
  also knows the volunteers among its friends, by the rule of every device model (:mod:`ldpsim.devices.prediction`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax

from ldpsim.curator.device_model import DeviceModelInputs, labelled_shares
from ldpsim.curator.friend_affinity import FriendAffinity
from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.pool import OpinionPool, fit_pool
from ldpsim.curator.learning.training import TrainingSettings, train
from ldpsim.curator.nulls.inputs import NullInputs, known_from_graph
from ldpsim.curator.votes.volunteer_knowledge import ASSUMED
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.data.population import records_of
from ldpsim.devices.mechanisms.feature_model import UNIT
from ldpsim.devices.network import FloatArray
from ldpsim.devices.prediction import DeviceModel
from ldpsim.devices.training_task import Task
from ldpsim.strategies.people.owner_graphs import owned_graph
from ldpsim.strategies.runs.kinds.network import class_scores, scaled_features
from ldpsim.strategies.runs.repeat import Repeat

_PRIOR = {"volunteers": 1.0, "network": 0.0}  # exponents before a label is seen


@dataclass(frozen=True, eq=False)
class StartFromVolunteers:
    """Weights and public data that volunteers give to a training in rounds.

    Args:
        repeat: The repeat.
        task: The task of the devices.
        weights: (size,): weights of the network of volunteers.
        null_inputs: Labels and features of the volunteers, and of nobody else.
        model: The device model of volunteers alone.
        held_out: float64 (volunteers, classes): ln p of each volunteer's class, by fits without this volunteer's label.
    """

    repeat: Repeat
    task: Task
    weights: FloatArray = field(repr=False)
    null_inputs: NullInputs = field(repr=False)
    model: DeviceModel = field(repr=False)
    held_out: DoubleArray = field(repr=False)

    @staticmethod
    def of(repeat: Repeat, task: Task) -> StartFromVolunteers:
        """Train the network of the volunteers."""
        setup, split = repeat.setup, repeat.split
        owned = owned_graph(setup.population, split, trust="none")
        null_inputs = replace(known_from_graph(owned, ("features", "label")), volunteers_alone=True)
        shares = labelled_shares(null_inputs)
        friends = FriendAffinity.of_homophily(ASSUMED, shares, "assumed")
        inputs = DeviceModelInputs(null_inputs, setup.facts, shares, friends, friends)
        model, linear = inputs.build_without_reports(), inputs.features
        assert model is not None and linear is not None
        volunteers = split.labelled
        rows = scaled_features(setup.population, task.scaling)[volunteers]
        train_rows, val_rows = (np.searchsorted(volunteers, part) for part in (split.train, split.val))
        no_edges, labels = np.zeros((2, 0), np.int64), null_inputs.labels.labels[volunteers]
        graph = Graph(rows, no_edges, None, labels, train_rows, val_rows, {})
        # Without an edge a GCN is the perceptron of the devices, with the same four arrays.
        settings = TrainingSettings(gnn="gcn", hidden=task.hidden, gnn_dropout=0.5, selection="loss")
        trained = train(graph, settings=settings, classes=task.classes, seed=repeat.seeds.training, device="cpu")
        names = ("weight1", "bias1", "weight2", "bias2")
        flat = torch.cat([getattr(trained.model, name).detach().ravel() for name in names])
        return StartFromVolunteers(
            repeat, task, flat.numpy().astype(np.float32), null_inputs, model, linear.log_probability
        )

    def loss(self, weights: FloatArray) -> float:
        """Return the mean negative log-likelihood of the validating volunteers' labels on their devices, in nats."""
        people = self.repeat.split.val
        log_probability = log_softmax(self._pool(self._network_scores(weights, people), people).log_probability, axis=1)
        return -float(log_probability[np.arange(len(people)), self.null_inputs.labels.labels[people]].mean())

    def scores_on_devices(self, weights: FloatArray) -> DoubleArray:
        """float64 (n, classes): the score of each class on everybody's device, in nats, with the kept network."""
        facts = self.repeat.setup.facts
        everybody, people = records_of(self.repeat.setup.population, range(facts.n)), np.arange(facts.n)
        list_scores = (self.model.scores(everybody, people) - self._feature_scores) / UNIT
        return np.asarray(self._pool(self._network_scores(weights, people), people).log_probability + list_scores)

    @cached_property
    def _inputs(self) -> Any:
        return scaled_features(self.repeat.setup.population, self.task.scaling)

    @cached_property
    def _feature_scores(self) -> IntArray:
        """int64 (n, classes): scores by the volunteers' model of features, in units."""
        people = np.arange(self.repeat.setup.facts.n)
        return self.model.scores(records_of(self.repeat.setup.population, people.tolist()), people, lists=False)

    @cached_property
    def _feature_log_probability(self) -> DoubleArray:
        """float64 (n, classes): ln p by the same model; of a volunteer by a fit without this volunteer's label."""
        rows = log_softmax(self._feature_scores / UNIT, axis=1)
        rows[self.repeat.split.labelled] = self.held_out
        return np.asarray(rows)

    def _network_scores(self, weights: FloatArray, people: IntArray) -> DoubleArray:
        parts = self.task.shape.parts(weights)
        scores = class_scores(parts, "own", self._inputs[people], self.repeat.setup.population)
        return np.asarray(log_softmax(np.asarray(scores, np.float64), axis=1))

    def _pool(self, network: DoubleArray, people: IntArray) -> OpinionPool:
        """Return the pool of both models about these people, fitted to the validating volunteers among them."""
        labels = self.null_inputs.labels.of(people)
        validating = np.flatnonzero(np.isin(people, self.repeat.split.val))
        parts = {"volunteers": self._feature_log_probability[people], "network": network}
        return fit_pool(parts, labels, validating, prior=_PRIOR)
