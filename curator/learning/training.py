"""One full-batch training loop: Adam, and the weights of the best validation epoch.

Selection looks at the labels that the curator has of the validation nodes, never at a test
label: the largest accuracy, or the smallest cross-entropy. Epoch k's weights are those after
k steps; of equal epochs the first is kept. On a CPU the same seed gives the same bytes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from curator.learning.networks import HEADS, NETWORKS, Network, make_network
from curator.learning.threads import threads_for
from curator.names import nearest

if TYPE_CHECKING:
    from curator.graph import Graph

Objective = Callable[[Tensor], Tensor]
SELECTIONS = ("accuracy", "loss")
WEIGHTS = ("once", "twice")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of a training.

    Args:
        gnn: ``gcn``, ``sage``, ``gat`` or ``mlp``.
        hidden: Hidden units.
        lr: Adam's learning rate.
        weight_decay: L2 penalty, added to the gradient.
        gnn_dropout: Share of hidden values dropped between the layers, in [0, 1).
        epochs: Number of steps.
        gat_heads: Attention heads of a ``gat``, averaged; HoGS's paper has 4, Blink's code 1.
        gat_loops: Whether a node of a ``gat`` attends to itself.
        gat_weights: Whether an edge's weight counts ``once``, in the softmax of a ``gat``, or ``twice``, in
            what comes along it too (Blink's code, for ``variant=soft`` and ``hybrid``).
        selection: What the kept epoch is best at on the validation nodes, ``accuracy`` (HoGS, RGNN's
            code) or ``loss`` (Blink's code).

    Raises:
        ValueError: for a setting outside its range.
    """

    gnn: str = "gcn"
    hidden: int = 16
    lr: float = 0.01
    weight_decay: float = 1e-4
    gnn_dropout: float = 0.1
    epochs: int = 300
    gat_heads: int = HEADS
    gat_loops: bool = True
    gat_weights: str = "once"
    selection: str = "accuracy"

    def __post_init__(self) -> None:
        if self.gnn not in NETWORKS:
            raise ValueError(f"--gnn {self.gnn}: unknown{nearest(self.gnn, NETWORKS)} (known: {', '.join(NETWORKS)})")
        for name in ("hidden", "epochs", "gat_heads"):
            if getattr(self, name) < 1:
                raise ValueError(f"--set {name}={getattr(self, name)}: must be at least 1")
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise ValueError(f"--set lr={self.lr}: must be a finite number above 0")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise ValueError(f"--set weight_decay={self.weight_decay}: must be a finite number, 0 or more")
        if not 0 <= self.gnn_dropout < 1:
            raise ValueError(f"--set gnn_dropout={self.gnn_dropout}: must lie in [0, 1)")
        for name, allowed in (("selection", SELECTIONS), ("gat_weights", WEIGHTS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"--set {name}={getattr(self, name)}: must be {' or '.join(allowed)}")

    @property
    def attention(self) -> dict[str, Any]:
        """What a network is made with for its attention."""
        return {"heads": self.gat_heads, "loops": self.gat_loops, "twice": self.gat_weights == "twice"}


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network.

    Args:
        model: With the weights of ``best_epoch``; ``model.state_dict()`` holds plain CPU tensors.
        predictions: int64 (n,): every node's class.
        best_epoch: 1 .. epochs.
        val_accuracy: At that epoch; nan without a validation label (then the last epoch).
        seconds: Wall time.
    """

    model: nn.Module = field(repr=False)
    predictions: NDArray[np.int64] = field(repr=False)
    best_epoch: int
    val_accuracy: float
    seconds: float


def choose_device(name: str) -> torch.device:
    """Return the device for ``auto``, ``cpu`` or ``cuda``; ValueError for another, or CUDA where there is none."""
    if name not in ("auto", "cpu", "cuda"):
        raise ValueError(f"--device must be auto, cpu or cuda, not {name!r}")
    found = torch.cuda.is_available()
    if name == "cuda" and not found:
        raise ValueError("--device cuda: this machine has no CUDA device that torch can use")
    return torch.device("cuda" if found and name != "cpu" else "cpu")


def train(
    graph: Graph,
    *,
    settings: TrainingSettings,
    classes: int,
    seed: int,
    device: str = "auto",
    objective: Objective | None = None,
    clip_norm: float = math.inf,
) -> Trained:
    """Train a network on a graph.

    Args:
        graph: Features, edges, and the labels that may be used.
        settings: Network and optimiser.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state is left alone.
        device: ``auto``, ``cpu`` or ``cuda``.
        objective: The loss as a function of the scores, float32 (n, classes) on that device;
            None for the mean cross-entropy of the training nodes.
        clip_norm: Largest norm of the whole gradient, which is scaled down to it.

    Raises:
        ValueError: where no training node has a label.
    """
    if not len(graph.train):
        raise ValueError("no training node has a label: nothing can be learned")
    started = time.perf_counter()
    where = choose_device(device)
    rows, columns = graph.features.shape
    with threads_for(rows * columns), torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(seed)
        model = make_network(
            settings.gnn, graph, hidden=settings.hidden, classes=classes, device=where, **settings.attention,
        )  # fmt: skip
        best = _fit(model, graph, settings, where, objective, clip_norm)
    return Trained(model.cpu(), *best, time.perf_counter() - started)


def _fit(
    model: Network,
    graph: Graph,
    settings: TrainingSettings,
    device: torch.device,
    objective: Objective | None,
    clip_norm: float,
) -> tuple[NDArray[np.int64], int, float]:
    train_nodes, train_labels = _labelled(graph, graph.train, device)
    val_nodes, val_labels = _labelled(graph, graph.val, device)
    optimiser = Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    best_value, best_accuracy, best_epoch = -math.inf, -1.0, 0
    predictions = torch.empty(0, dtype=torch.int64)
    state: dict[str, Tensor] = {}
    # The pass that begins step k + 1 also scores the weights after step k.
    for epoch in range(settings.epochs + 1):
        with torch.set_grad_enabled(epoch < settings.epochs):
            hidden = model.hidden()
        if epoch > 0:
            with torch.no_grad():
                seen = model.output(hidden.detach())
                classes = seen.argmax(dim=1)
                hits = int((classes[val_nodes] == val_labels).sum())
                accuracy = value = hits / len(val_nodes) if len(val_nodes) else math.nan
                if settings.selection == "loss":
                    loss = float(functional.cross_entropy(seen[val_nodes], val_labels))
                    value = -math.inf if math.isnan(loss) else -loss
            if not len(val_nodes) or epoch == 1 or value > best_value:
                best_value, best_accuracy, best_epoch, predictions = value, accuracy, epoch, classes
                state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        if epoch == settings.epochs:
            break
        scores = model.output(functional.dropout(hidden, settings.gnn_dropout))
        error = functional.cross_entropy(scores[train_nodes], train_labels) if objective is None else objective(scores)
        error.backward()  # type: ignore[no-untyped-call]
        if clip_norm < math.inf:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        optimiser.step()
    model.load_state_dict(state)
    return predictions.cpu().numpy(), best_epoch, best_accuracy


def _labelled(graph: Graph, nodes: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(nodes).to(device), torch.from_numpy(graph.labels[nodes]).to(device)


class Adam:
    """Adam with an L2 penalty (Kingma and Ba 2015), the same steps as ``torch.optim.Adam``.

    torch's own loads its compiler on the first step, over a second for every process, and
    these networks have a handful of small tensors.

    Args:
        parameters: What is stepped; gradients are cleared after each step.
        lr: Learning rate.
        weight_decay: Times the weights is added to the gradient.
    """

    def __init__(self, parameters: Iterable[Tensor], *, lr: float, weight_decay: float) -> None:
        self.parameters = list(parameters)
        self.lr, self.weight_decay = lr, weight_decay
        self.steps = 0
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Take one step and clear the gradients."""
        self.steps += 1
        first, second, tiny = 0.9, 0.999, 1e-8
        rate = self.lr / (1 - first**self.steps)
        root = math.sqrt(1 - second**self.steps)
        for parameter, (mean, square) in zip(self.parameters, self.moments, strict=True):
            if parameter.grad is None:
                continue
            gradient = parameter.grad
            if self.weight_decay:
                gradient.add_(parameter, alpha=self.weight_decay)
            mean.lerp_(gradient, 1 - first)
            square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
            parameter.addcdiv_(mean, (square.sqrt() / root).add_(tiny), value=-rate)
            parameter.grad = None
