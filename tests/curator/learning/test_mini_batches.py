"""Training in batches: the layers, the kept epoch, patience, and the same bytes for the same seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.training import PlainLayers, TrainingSettings, train_in_batches
from ldpsim.curator.observer import watched

SETTINGS = TrainingSettings(gnn="mlp", hidden=8, epochs=30, gnn_dropout=0.2)
SIZES = {"layers": 2, "batch": 16, "patience": 30}


@pytest.fixture
def graph() -> Graph:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 90)
    rows = (np.eye(3, 6)[labels] + rng.normal(scale=0.2, size=(90, 6))).astype(np.float32)
    return Graph(rows, np.zeros((2, 0), np.int64), None, labels, np.arange(60), np.arange(60, 75))


def test_layers_of_one_width_have_a_sum_with_the_layer_before() -> None:
    model = PlainLayers(4, 2, replace(SETTINGS, hidden=4), layers=3)
    first, second, last = (weight.detach() for weight in model.weights)
    rows = torch.randn(5, 4)
    one = torch.relu(rows @ first) + rows
    two = torch.relu(one @ second) + one
    torch.testing.assert_close(model.scores(rows), two @ last)
    wider = PlainLayers(3, 2, SETTINGS, layers=2)
    rows = torch.randn(5, 3)
    torch.testing.assert_close(wider.scores(rows), torch.relu(rows @ wider.weights[0]) @ wider.weights[1])
    assert wider.weights[1].abs().max() <= 3**0.5


def test_it_learns_and_a_seed_gives_the_same_bytes(graph: Graph) -> None:
    one, same, other = (train_in_batches(graph, **SIZES, settings=SETTINGS, classes=3, seed=seed) for seed in (1, 1, 2))
    assert np.mean(one.predictions[75:] == graph.labels[75:]) > 0.8
    states = [torch.cat([w.ravel() for w in found.model.state_dict().values()]) for found in (one, same, other)]
    assert torch.equal(states[0], states[1]) and not torch.equal(states[0], states[2])


def test_the_first_best_epoch_is_kept_and_patience_ends_the_training(graph: Graph) -> None:
    told: list[tuple[str, float, int]] = []
    with watched(lambda *figure: told.append(figure)):
        found = train_in_batches(graph, **{**SIZES, "patience": 4}, settings=SETTINGS, classes=3, seed=3)
    accuracy = [value for name, value, _ in told if name == "val_accuracy"]
    assert len(accuracy) == found.best_epoch + 4 < 30
    assert accuracy.index(max(accuracy)) + 1 == found.best_epoch
    assert found.val_accuracy == pytest.approx(max(accuracy))


def test_without_validation_the_last_epoch_is_kept_and_without_training_there_is_none(graph: Graph) -> None:
    settings = replace(SETTINGS, epochs=3)
    blind = train_in_batches(replace(graph, val=np.zeros(0, np.int64)), **SIZES, settings=settings, classes=3,
                             seed=0)  # fmt: skip
    assert blind.best_epoch == 3
    with pytest.raises(ValueError, match="nothing can be learned"):
        train_in_batches(replace(graph, train=np.zeros(0, np.int64)), **SIZES, settings=settings, classes=3, seed=0)
