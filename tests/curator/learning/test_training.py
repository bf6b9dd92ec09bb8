"""Training of networks, all at once and in batches."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn import functional

from ldpsim.curator.learning.loop import Adam
from ldpsim.curator.learning.perceptron import Perceptron
from ldpsim.curator.learning.training import (
    BestEpoch,
    TrainingSettings,
    choose_device,
    train,
    train_in_batches,
)
from ldpsim.curator.linear import threads
from ldpsim.curator.methods import Graph
from ldpsim.curator.observer import watched
from tests.curator.worlds import labelled_graph


def _graph() -> Graph:
    return labelled_graph(200, inside=0.06, outside=0.008, noise=1.2)[0]


def test_all_three_measures_of_the_last_accepted_epoch_are_beaten() -> None:
    """Nodes 0 and 1 have class 0. Loss alone, or a tie in an accuracy, accepts no epoch."""
    labels = torch.zeros(2, dtype=torch.int64)

    def scores(first: float, second: float) -> torch.Tensor:
        return torch.tensor([[first, 0.0], [second, 0.0]])

    better = BestEpoch(labels, "all-three")
    series = [  # scores, validation accuracy, training accuracy, accepted
        (scores(-1, -1), 0.0, 0.2, True),
        (scores(1, -1), 0.5, 0.2, False),  # training accuracy ties
        (scores(-0.5, -0.5), 0.0, 0.4, False),  # validation accuracy ties
        (scores(1, -3), 0.5, 0.4, False),  # loss rises
        (scores(1, -1), 0.5, 0.3, True),
        (scores(2, 1), 1.0, 0.25, False),  # the training accuracy is compared with the last accepted epoch's
        (scores(1, 1), 1.0, 0.4, True),
        (scores(math.nan, 1), 1.0, 0.9, False),
    ]
    assert [better(*epoch[:3]) for epoch in series] == [accepted for *_, accepted in series]


def test_a_floor_bounds_what_one_sure_mistake_costs() -> None:
    """The second epoch is right about one more person, and surer where it is wrong."""
    wrong, sure = torch.tensor([[-20.0, 0.0], [-20.0, 0.0]]), torch.tensor([[1.0, 0.0], [-60.0, 0.0]])
    for floor, accepted in ((0.0, False), (1e-9, True)):
        better = BestEpoch(torch.zeros(2, dtype=torch.int64), "loss", floor)
        assert [better(scores, math.nan, math.nan) for scores in (wrong, sure)] == [True, accepted]


def test_a_training_ends_after_epochs_without_a_better_one(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _graph()
    settings = TrainingSettings(epochs=200, lr=0.05, selection="all-three", activation="selu", gnn_dropout=0.5)
    seen: list[tuple[float, float]] = []
    whole = BestEpoch.__call__

    def noted(self: BestEpoch, scores: torch.Tensor, accuracy: float, in_training: float) -> bool:
        seen.append((accuracy, in_training))
        return whole(self, scores, accuracy, in_training)

    monkeypatch.setattr(BestEpoch, "__call__", noted)
    found = train(graph, settings=settings, classes=3, seed=0, device="cpu", patience=20)
    assert len(seen) == found.best_epoch + 20 < 200 and found.val_accuracy == seen[found.best_epoch - 1][0]
    assert all(0 <= share <= 1 for _, share in seen) and len({share for _, share in seen}) > 3
    alone = replace(graph, val=np.arange(0))
    last = train(alone, settings=replace(settings, epochs=9), classes=3, seed=0, device="cpu", patience=2)
    assert last.best_epoch == 9


@pytest.mark.parametrize("selection", ["accuracy", "loss", "all-three"])
def test_a_training_that_diverges_still_ends_with_an_epoch(selection: str) -> None:
    graph = _graph()
    huge = replace(graph, features=graph.features * np.float32(1e30))
    settings = TrainingSettings(epochs=5, lr=1e20, selection=selection)
    trained = train(huge, settings=settings, classes=3, seed=0, device="cpu")
    assert trained.best_epoch >= 1 and len(trained.predictions) == len(graph.labels)


def test_without_validation_labels_the_last_epoch_counts_and_without_training_labels_none() -> None:
    graph = _graph()
    alone = replace(graph, val=np.arange(0))
    trained = train(alone, settings=TrainingSettings(epochs=7), classes=3, seed=0, device="cpu")
    assert trained.best_epoch == 7 and math.isnan(trained.val_accuracy)
    with pytest.raises(ValueError, match="no training node has a label"):
        train(replace(graph, train=np.arange(0)), settings=TrainingSettings(), classes=3, seed=0)


@pytest.mark.parametrize(("values", "message"), [
    ({"gnn": "gatt"}, "did you mean gat"), ({"lr": 0.0}, "lr=0.0"), ({"lr": math.nan}, "lr=nan"),
    ({"lr": 1e308}, "lr=1e\\+308: must be above 0 and at most 1e\\+30"),
    ({"weight_decay": -1.0}, "weight_decay=-1.0"), ({"gnn_dropout": 1.0}, "gnn_dropout=1.0"),
    ({"epochs": 0}, "epochs=0"), ({"hidden": 0}, "hidden=0"),
    ({"selection": "f1"}, "selection=f1: must be accuracy or loss or all-three"),
    ({"activation": "tanh"}, "activation=tanh: must be relu or selu"),
])  # fmt: skip
def test_settings_outside_their_range_get_one_clear_line(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingSettings(**values)


def test_devices() -> None:
    assert choose_device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="--device must be"):
        choose_device("gpu")
    if not torch.cuda.is_available():
        assert choose_device("auto").type == "cpu"
        with pytest.raises(ValueError, match="no CUDA device"):
            choose_device("cuda")


def test_a_loss_of_ones_own_and_a_clipped_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _graph()
    labels = torch.from_numpy(graph.labels[graph.train])
    norms: list[float] = []

    class Watched(Adam):
        def step(self) -> None:
            norms.append(math.sqrt(sum(float(p.grad.square().sum()) for p in self.parameters if p.grad is not None)))
            super().step()

    monkeypatch.setattr("ldpsim.curator.learning.loop.Adam", Watched)
    given = {"settings": TrainingSettings(epochs=4, gnn_dropout=0.0), "classes": 3, "seed": 0, "device": "cpu"}
    steep = lambda scores: 1000 * torch.nn.functional.cross_entropy(scores, labels)  # noqa: E731
    train(graph, loss=steep, **given)
    assert min(norms) > 5
    norms.clear()
    train(graph, loss=steep, clip_norm=5.0, **given)
    assert norms == pytest.approx([5.0] * 4, rel=1e-4)


def test_the_number_of_threads_follows_the_problem_and_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr(threads, "_most", 2)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for entries, expected in ((0, 1), ((1 << 25) - 1, 1), (1 << 25, 2), (1 << 30, 2)):
            with threads.threads_for(entries):
                assert torch.get_num_threads() == expected
            assert torch.get_num_threads() == 3
        with pytest.raises(KeyError), threads.threads_for(0):
            raise KeyError
        assert torch.get_num_threads() == 3
        for cores in (None, 1):
            monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
            with threads.threads_for(1 << 30):
                assert torch.get_num_threads() == 1
        threads.limit_threads(1)
        assert torch.get_num_threads() == 1
        monkeypatch.setattr("os.cpu_count", lambda: 8)
        with threads.threads_for(1 << 30):
            assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


SETTINGS = TrainingSettings(gnn="mlp", hidden=8, epochs=30, gnn_dropout=0.2)


SIZES = {"batch": 16, "patience": 30}


def make(width: int) -> Perceptron:
    return Perceptron([width, 8, 3], drop=partial(functional.dropout, p=0.2))


@pytest.fixture
def graph() -> Graph:
    return labelled_graph(90, noise=0.2)[0]


def test_the_first_best_epoch_is_kept_and_patience_ends_the_training(graph: Graph) -> None:
    told: list[tuple[str, float, int]] = []
    with watched(lambda *figure: told.append(figure)):
        found = train_in_batches(make, graph, **{**SIZES, "patience": 4}, settings=SETTINGS, seed=3)
    accuracy = [value for name, value, _ in told if name == "val_accuracy"]
    assert len(accuracy) == found.best_epoch + 4 < 30
    assert accuracy.index(max(accuracy)) + 1 == found.best_epoch
    assert found.val_accuracy == pytest.approx(max(accuracy))


def test_without_validation_the_last_epoch_is_kept_and_without_training_there_is_none(graph: Graph) -> None:
    given, nobody = {**SIZES, "settings": replace(SETTINGS, epochs=3), "seed": 0}, np.zeros(0, np.int64)
    assert train_in_batches(make, replace(graph, val=nobody), **given).best_epoch == 3
    with pytest.raises(ValueError, match="nothing can be learned"):
        train_in_batches(make, replace(graph, train=nobody), **given)
