"""Observer of a training: what it hears, and that watching changes no byte."""

from __future__ import annotations

import numpy as np
import torch

from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.training import TrainingSettings, train
from ldpsim.curator.observer import is_watched, log_metric, watched

HEARD = ("train_accuracy", "train_loss", "val_accuracy", "val_loss")


def small(val: int = 10) -> Graph:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 40)
    features = np.eye(3, dtype=np.float32)[labels] + rng.normal(0, 0.5, (40, 3)).astype(np.float32)
    nodes = np.arange(40)
    return Graph(features, rng.integers(0, 40, (2, 60)), None, labels, nodes[:20], nodes[20 : 20 + val])


def test_a_watched_training_gives_the_same_bytes() -> None:
    """Without validation people the last epoch is kept: it shows every draw of every epoch."""
    graph, settings = small(val=0), TrainingSettings(epochs=12, gnn_dropout=0.5)
    plain = train(graph, settings=settings, classes=3, seed=4, device="cpu")
    with watched(lambda *figure: None):
        seen = train(graph, settings=settings, classes=3, seed=4, device="cpu")
    assert plain.best_epoch == 12
    for name, tensor in plain.model.state_dict().items():
        assert torch.equal(tensor, seen.model.state_dict()[name])


def test_the_figures_are_those_of_the_weights_of_the_epoch() -> None:
    graph, settings = small(), TrainingSettings(epochs=12, gnn_dropout=0.5)
    plain = train(graph, settings=settings, classes=3, seed=4, device="cpu")
    heard: list[tuple[str, float, int]] = []
    with watched(lambda *figure: heard.append(figure)):
        seen = train(graph, settings=settings, classes=3, seed=4, device="cpu")
    assert seen.best_epoch == plain.best_epoch and np.array_equal(seen.predictions, plain.predictions)
    assert [(name, step) for name, _, step in heard] == [(name, step) for step in range(1, 13) for name in HEARD]
    best = {step: value for name, value, step in heard if name == "val_accuracy"}
    assert best[plain.best_epoch] == plain.val_accuracy == max(best.values())
    # the figures of the best epoch are those of the weights that are kept
    scores = seen.model()
    loss = torch.nn.functional.cross_entropy(scores[graph.val], torch.from_numpy(graph.labels[graph.val]))
    told = next(value for name, value, step in heard if name == "val_loss" and step == plain.best_epoch)
    np.testing.assert_allclose(told, loss.item(), rtol=1e-5)


def test_without_validation_people_there_are_figures_of_training_alone() -> None:
    heard: list[str] = []
    with watched(lambda name, value, step: heard.append(name)):
        train(small(val=0), settings=TrainingSettings(epochs=2), classes=3, seed=4, device="cpu")
    assert heard == ["train_accuracy", "train_loss"] * 2


def test_only_the_block_is_watched_and_none_is_nobody() -> None:
    heard: list[str] = []
    with watched(lambda name, value, step: heard.append(name)):
        with watched(None):
            assert not is_watched()
            log_metric("inside", 1.0, 1)
        log_metric("outside", 1.0, 1)
    log_metric("after", 1.0, 1)
    assert heard == ["outside"] and not is_watched()
