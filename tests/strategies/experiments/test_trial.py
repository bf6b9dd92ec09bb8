"""Score of a setting: validation as the curator sees it, test by the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings
from ldpsim.curator.methods import Raw
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.facts import PublicKnowledge
from ldpsim.strategies.experiments.tune import Trial


@dataclass(frozen=True)
class Told(Raw):
    """A training whose network is right about everybody, and whose reported validation labels say otherwise."""

    predictions: Any = None

    def train(self, graph: Any, **given: Any) -> TrainedNetwork:
        """Return the predictions given."""
        return TrainedNetwork(nn.Module(), self.predictions, 1, 0.25, 0.0)


def test_a_search_never_sees_the_truth_about_validation_or_test_people(population: Population) -> None:
    split = make_split("random", population, 0)
    public = PublicKnowledge(population.facts, split, np.full(len(population), -1))
    trial = Trial(population, split, public, None)
    right = Told(predictions=population.labels)
    graph = trial.reconstruct(right)
    assert trial.score(graph, TrainingSettings(), right) == (0.25, 1.0)
    wrong = Told(predictions=(population.labels + 1) % population.facts.classes)
    assert trial.score(graph, TrainingSettings(), wrong) == (0.25, 0.0)


def test_a_trial_prints_seeds_and_no_data(population: Population) -> None:
    split = make_split("random", population, 0)
    public = PublicKnowledge(population.facts, split, np.full(len(population), -1))
    assert repr(Trial(population, split, public, None)) == "Trial(seed=0, device='cpu')"
