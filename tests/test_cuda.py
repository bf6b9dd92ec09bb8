"""Training on a CUDA device gives what it gives on the CPU: networks, stacked teachers, whole runs.

``make gpu`` runs the tests marked ``gpu``. Without a CUDA device they are skipped. Each test also
runs with the CPU in the place of CUDA: this checks the test itself, on every machine.
Sums are added in another order on a GPU. So values are compared with tolerances, which float32
determines, and dropout, whose random numbers are the device's own, is off.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.graph import Graph
from ldpsim.curator.learning import dense_attention, networks
from ldpsim.curator.learning.own_network import make_network
from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings, choose_device, labelled, train
from ldpsim.curator.owner.teachers import answering
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.sage import train as train_teachers

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
N, D, CLASSES = 200, 30, 3
FORMS = ["gcn", "sage", "gat along edges", "gat over pairs", "gat with weights twice", "mlp"]


@pytest.fixture(params=[pytest.param("cuda", marks=pytest.mark.gpu), "the CPU in its place"])
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """Device of the training, which ``--device cuda`` chooses."""
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("torch finds no CUDA device on this machine: nothing was trained on a GPU")
        return CUDA
    # The function's code, because many modules hold the function itself.
    monkeypatch.setattr(choose_device, "__code__", (lambda name: torch.device("cpu")).__code__)
    monkeypatch.setattr(answering, "train", lambda *given, device, **more: train_teachers(*given, device=CPU, **more))
    return CPU


def blocks(sparse: bool = False, weighted: bool = False) -> Graph:
    """Three classes that are linked inside, with noisy features; nobody validates, so the last epoch is kept."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, N)
    same = labels[:, None] == labels
    left, right = np.nonzero(np.triu(rng.random((N, N)) < np.where(same, 0.08, 0.01), 1))
    features: Any = (rng.standard_normal((N, D)) + np.eye(D)[labels]).astype(np.float32)
    if sparse:
        features = csr_array(features * (features > 1))
    weight = rng.random(len(left)).astype(np.float32) + 0.1 if weighted else None
    edges = np.stack([np.r_[left, right], np.r_[right, left]])
    both = None if weight is None else np.r_[weight, weight]
    return Graph(features, edges, both, labels, np.arange(100), np.zeros(0, np.int64))


def form(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[TrainingSettings, Graph]:
    """Settings and graph of one form of a network; attention over pairs has several blocks of rows."""
    monkeypatch.setattr(networks, "CROWDED", 10**9 if name == "gat over pairs" else 0)
    monkeypatch.setattr(dense_attention, "_BLOCK", 50 * N)
    twice = name == "gat with weights twice"
    settings = TrainingSettings(
        gnn=name.partition(" ")[0], epochs=40, gnn_dropout=0.0, gat_weights="twice" if twice else "once"
    )
    return settings, blocks(sparse=name in ("gcn", "mlp"), weighted=name.startswith("gat"))


@pytest.mark.parametrize("name", FORMS)
def test_scores_and_gradients_of_a_network(name: str, where: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, graph = form(name, monkeypatch)

    def found(device: torch.device) -> dict[str, torch.Tensor]:
        torch.manual_seed(1)
        model = make_network(settings.gnn, graph, classes=CLASSES, device=device, **settings.sizes)
        scores = model()
        loss = torch.nn.functional.cross_entropy(scores[graph.train], labelled(graph, graph.train, device)[1])
        loss.backward()  # type: ignore[no-untyped-call]
        gradients = {key: value.grad for key, value in model.named_parameters() if value.grad is not None}
        assert set(gradients) == {key for key, _ in model.named_parameters()} and scores.device.type == device.type
        return {"scores": scores.detach().cpu(), **{key: value.cpu() for key, value in gradients.items()}}

    ours, expected = found(where), found(CPU)
    for key, value in expected.items():
        assert float(value.abs().max()) > 0
        torch.testing.assert_close(ours[key], value, rtol=1e-3, atol=1e-5, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize("name", FORMS)
def test_a_trained_network(name: str, where: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, graph = form(name, monkeypatch)

    def trained(device: str) -> TrainedNetwork:
        return train(graph, settings=settings, classes=CLASSES, seed=1, device=device)

    ours, other = trained("cuda"), trained("cpu")
    assert {value.device.type for value in ours.model.state_dict().values()} == {"cpu"}
    assert ours.best_epoch == other.best_epoch == settings.epochs
    assert np.mean(ours.predictions == other.predictions) >= 0.98
    right = np.mean(ours.predictions == graph.labels)
    assert right > (0.5 if name == "mlp" else 0.8)


def private(n: int, seed: int = 0) -> PlainGraph:
    """A graph of people whose features tell the class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, n)
    features = (rng.random((n, D)) < np.where(np.arange(D) % CLASSES == labels[:, None], 0.5, 0.1)).astype(np.float32)
    left, right = rng.integers(0, n - 6, (2, 6 * n))
    same = (labels[left] == labels[right]) | (rng.random(6 * n) < 0.1)
    return PlainGraph.build(features, np.stack([left, right])[:, same], labels)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_stacked_teachers_equal_those_of_a_cpu_in_float64(where: torch.device, dropout: float) -> None:
    """Dropout is drawn on the CPU for every device."""
    graph, settings = private(60), SageSettings(hidden=16, epochs=40, dropout=dropout)
    exact, rng = replace(graph, features=graph.features.astype(np.float64)), np.random.default_rng(5)
    parts = [exact.part(np.sort(rng.choice(60, size, replace=False))) for size in (30, 25, 30, 28)]
    stacked, expected = (
        train_teachers(parts, range(4), CLASSES, settings, rows=30, device=device) for device in (where, CPU)
    )
    for ours, other in zip(stacked.state_dict().values(), expected.state_dict().values(), strict=True):
        assert ours.device == CPU and ours.dtype == torch.float64
        torch.testing.assert_close(ours, other, rtol=0, atol=1e-6)
    start = train_teachers(parts, range(4), CLASSES, replace(settings, lr=1e-12), rows=30)
    assert float((expected.first - start.first).abs().max()) > 0.1  # it was trained


Shown = Callable[..., dict[str, Any]]


@pytest.fixture
def ldpsim(tmp_path: Path) -> Shown:
    def run(*arguments: str) -> dict[str, Any]:
        from ldpsim.devices.client_app import open_state

        devices = () if "raw" in arguments else ("--workers", "1")  # raw asks nobody
        given = ["run", *arguments, "--no-reference", "--no-nulls", "--json", *devices, "--out", str(tmp_path)]
        shown = CliRunner().invoke(app, given)
        open_state.cache_clear()
        assert shown.exit_code == 0, shown.output
        return dict(json.loads(shown.stdout))

    return run


@pytest.mark.parametrize(
    ("method", "more"), [("hogs", ("--gnn", "gat")), ("lpgnn", ()), ("solitude", ()), ("raw", ("--gnn", "sage"))]
)
def test_a_whole_run(method: str, more: tuple[str, ...], where: torch.device, ldpsim: Shown) -> None:
    """Reports and losses are the same bytes and numbers; the accuracy is that of the same network."""
    common = ("--method", method, *more, "--clients", "200", "--set", "epochs=20", "--set", "gnn_dropout=0")
    ours, expected = ldpsim(*common, "--device", "cuda"), ldpsim(*common, "--device", "cpu")
    assert (ours["device"], expected["device"]) == (where.type, "cpu")
    assert ours["devices"]["reports_sha256"] == expected["devices"]["reports_sha256"]
    assert ours["privacy"]["holds"] == expected["privacy"]["holds"]
    assert ours["reconstruction"] == expected["reconstruction"]
    assert abs(ours["accuracy"]["test"] - expected["accuracy"]["test"]) <= 0.1  # of 50 people
