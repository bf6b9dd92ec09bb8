"""Training of the curator's networks: settings, the choice of an epoch, full batches over a graph, and mini-batches.

A full batch is one step an epoch, over all nodes of the graph (:func:`fit`). A mini-batch is a step on a few training
nodes of constant rows, and an epoch one pass over them in random order (:func:`train_in_batches`). The choice of an
epoch looks at the labels that the curator has of the validation nodes, never at a test label. The loop is
:func:`ldpsim.curator.learning.loop.optimise`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator import observer
from ldpsim.curator.learning.loop import optimise
from ldpsim.curator.learning.networks import ACTIVATIONS, HEADS, NETWORKS, Network, fresh
from ldpsim.curator.learning.own_network import make_network, place_of
from ldpsim.curator.linear.dropout import Dropout
from ldpsim.curator.linear.reused_memory import reused_memory
from ldpsim.curator.linear.threads import threads_for
from ldpsim.curator.setting_error import MOST_STEPS, SettingError
from ldpsim.curator.steps import track

if TYPE_CHECKING:
    from ldpsim.curator.graph import Graph


LossFunction = Callable[[Tensor], Tensor]  # scores, float32 (k, classes), of a training pass -> what is minimised
# validation nodes' scores without dropout, their accuracy, and that of training nodes in the pass before the step (nan
# unless the selection is ``all-three``) -> is this the best epoch so far?
Better = Callable[[Tensor, float, float], bool]


def tell_scores(graph: Graph, scores: Tensor, epoch: int) -> None:
    """Tell an observer the accuracy and mean cross-entropy of nodes with a label, of scores without dropout, (n, k)."""
    for name, nodes in (("train", graph.train), ("val", graph.val)):
        if len(nodes):
            chosen, labels = labelled(graph, nodes, scores.device)
            own = scores.index_select(0, chosen)
            observer.log_metric(f"{name}_accuracy", share_of_hits(own.argmax(dim=1), labels), epoch)
            observer.log_metric(f"{name}_loss", float(functional.cross_entropy(own.double(), labels)), epoch)


def bounded_logs(scores: Tensor, least: float) -> Tensor:
    """Return ln(p + least) of the softmax p of scores, (n, k); the scores themselves for 0."""
    if not least:
        return scores
    logs = torch.log_softmax(scores, dim=1)
    return torch.logaddexp(logs, logs.new_tensor(math.log(least)))


class BestEpoch:
    """Choice of the epoch by accuracy and loss.

    ``accuracy`` and ``loss`` choose the largest validation accuracy and the smallest validation cross-entropy. With
    ``all-three`` an epoch is better if its validation loss is smaller, and its validation accuracy and its training
    accuracy (with dropout) are larger, than those of the last better epoch.

    Args:
        targets: Labels or weights of the classes of the validation nodes.
        selection: ``accuracy``, ``loss`` or ``all-three``.
        least: Added to a probability before its logarithm is taken.
    """

    def __init__(self, targets: Tensor, selection: str = "accuracy", least: float = 0.0) -> None:
        self.targets, self.selection, self.least = targets, selection, least
        self.best: tuple[float, ...] = (-math.inf,) * (3 if selection == ALL_THREE else 1)

    def __call__(self, scores: Tensor, accuracy: float, in_training: float) -> bool:
        """Return whether this epoch, of these scores of the validation nodes, is better than all before.

        A loss of nan is the worst.
        """
        values: tuple[float, ...] = (accuracy,)
        if self.selection != "accuracy":
            loss = float(functional.cross_entropy(bounded_logs(scores, self.least), self.targets))
            values = (-loss, accuracy, in_training) if self.selection == ALL_THREE else (-loss,)
        better = all(new > old for new, old in zip(values, self.best, strict=True))
        self.best = values if better else self.best
        return better


def labelled(graph: Graph, nodes: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return nodes and their labels as int64 tensors on a device."""
    return torch.from_numpy(nodes).to(device), torch.from_numpy(graph.labels[nodes]).to(device)


def share_of_hits(classes: Tensor, labels: Tensor) -> float:
    """Return the share of equal entries; 0 for none."""
    return int((classes == labels).sum()) / max(1, len(labels))


ALL_THREE = "all-three"
SELECTIONS, WEIGHTS = ("accuracy", "loss", ALL_THREE), ("once", "twice")
_MOST = {"hidden": 1 << 14, "epochs": MOST_STEPS, "gat_heads": 1 << 8}  # hidden as on devices
LARGEST_STEP = 1e30  # of a learning rate or a penalty: float32 weights overflow with much larger ones
NO_LABEL = "no training node has a label: nothing can be learned"


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of a training.

    Args:
        gnn: ``gcn``, ``sage``, ``gat`` or ``mlp``, or a class (:mod:`ldpsim.curator.learning.own_network`).
        hidden: Hidden units.
        lr: Adam's learning rate.
        weight_decay: L2 penalty, added to the gradient.
        gnn_dropout: Share of hidden values dropped between the layers, in [0, 1).
        epochs: Number of steps.
        gat_heads: Attention heads of a ``gat``, averaged; HoGS's paper has 4, Blink's code 1.
        gat_joined: Whether the heads of the first layer stand side by side, and the second has one (FeatFree).
        gat_loops: Whether a node of a ``gat`` attends to itself.
        gat_weights: Use of an edge's weight in a ``gat``: ``once``, in the softmax, or ``twice``, in the
            message too (Blink's code, for ``variant=soft`` and ``hybrid``).
        selection: Measure on the validation nodes that chooses the epoch: ``accuracy`` (HoGS, RGNN's
            code), ``loss`` (Blink's code) or ``all-three`` (:class:`BestEpoch`).
        activation: Of the hidden layer: ``relu`` or ``selu``.

    Raises:
        ValueError: for a setting outside its range, or the name of no network. No class is imported.

    >>> TrainingSettings(gnn="sage", epochs=100).hidden
    16
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
    gat_joined: bool = False
    selection: str = "accuracy"
    activation: str = "relu"

    def __post_init__(self) -> None:
        if self.gnn not in NETWORKS:
            place_of(self.gnn)  # settings are data: the class is imported where it trains
        for name, most in _MOST.items():
            if not 1 <= getattr(self, name) <= most:
                raise SettingError(f"{name}={getattr(self, name)}", f"must be 1..{most}")
        if not 0 < self.lr <= LARGEST_STEP:
            raise SettingError(f"lr={self.lr}", f"must be above 0 and at most {LARGEST_STEP:g}")
        if not 0 <= self.weight_decay <= LARGEST_STEP:
            raise SettingError(f"weight_decay={self.weight_decay}", f"must lie in [0, {LARGEST_STEP:g}]")
        if not 0 <= self.gnn_dropout < 1:
            raise SettingError(f"gnn_dropout={self.gnn_dropout}", "must lie in [0, 1)")
        for name, allowed in (("selection", SELECTIONS), ("gat_weights", WEIGHTS), ("activation", ACTIVATIONS)):
            if getattr(self, name) not in allowed:
                raise SettingError(f"{name}={getattr(self, name)}", f"must be {' or '.join(allowed)}")

    @property
    def sizes(self) -> dict[str, Any]:
        """Arguments of a network: its hidden units and their activation, and those about attention."""
        return {"hidden": self.hidden, "heads": self.gat_heads, "loops": self.gat_loops,
                "twice": self.gat_weights == "twice", "joined": self.gat_joined,
                "activation": ACTIVATIONS[self.activation]}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """Result of a training.

    Args:
        model: Network with the weights of ``best_epoch``; ``model.state_dict()`` holds plain CPU tensors.
        predictions: int64 (n,): class of each node.
        best_epoch: 1 .. epochs.
        val_accuracy: Accuracy at that epoch; nan without a validation label (then the last epoch is kept).
        seconds: Wall time.
        log_probability: float (n, classes): ln of each node's class distribution; None of a method without one.
    """

    model: nn.Module = field(repr=False)
    predictions: NDArray[np.int64] = field(repr=False)
    best_epoch: int
    val_accuracy: float
    seconds: float
    log_probability: NDArray[Any] | None = field(default=None, repr=False)


def choose_device(name: str) -> torch.device:
    """Return the device for ``auto``, ``cpu`` or ``cuda``; ValueError for another, or CUDA where there is none."""
    if name not in ("auto", "cpu", "cuda"):
        raise ValueError(f"--device must be auto, cpu or cuda, not {name!r}")
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise ValueError("--device cuda: this machine has no CUDA device that torch can use")
    return torch.device("cuda" if has_cuda and name != "cpu" else "cpu")


def train(
    graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str = "auto",
    loss: LossFunction | None = None, weights: NDArray[np.float64] | None = None, clip_norm: float = math.inf,
    patience: float = math.inf, late: bool = False,
) -> TrainedNetwork:  # fmt: skip
    """Train one of the plain networks on a graph.

    Args:
        graph: Features, edges, and the labels that may be used.
        settings: Network and optimiser.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state does not change.
        device: ``auto``, ``cpu`` or ``cuda``.
        loss: The loss as a function of the training nodes' scores, float32 (k, classes) on that device;
            None for their mean cross-entropy.
        weights: float64 (n, classes), weights of the classes, none below 0, in the place of labels: cross-entropies are
            their sums with the logarithms. None for labels.
        clip_norm: Largest norm of the whole gradient; a larger gradient is scaled down.
        patience: Epochs without a better one after which training ends.
        late: That of :class:`ldpsim.curator.learning.networks.Network`.

    Raises:
        ValueError: if no training node has a label.
    """
    where = choose_device(device)
    if weights is None:
        taught, judge = (labelled(graph, nodes, where)[1] for nodes in (graph.train, graph.val))
    else:
        taught, judge = (torch.from_numpy(weights[nodes]).float().to(where) for nodes in (graph.train, graph.val))
    return fit(
        lambda: make_network(settings.gnn, graph, classes=classes, device=where, late=late, **settings.sizes), graph,
        loss or (lambda scores: functional.cross_entropy(scores, taught)), BestEpoch(judge, settings.selection),
        reads=graph.train, settings=settings, seed=seed, device=where, clip_norm=clip_norm, patience=patience,
    )  # fmt: skip


def fit(
    make: Callable[[], Network], graph: Graph, loss: LossFunction, better: Better,
    after_step: Callable[[Network], None] | None = None, *, reads: NDArray[np.int64] | None = None,
    settings: TrainingSettings, seed: int, device: torch.device, clip_norm: float = math.inf,
    patience: float = math.inf,
) -> TrainedNetwork:  # fmt: skip
    """Train a network and keep the weights of its best epoch.

    Args:
        make: Makes the network with fresh weights from torch's current random state.
        graph: The graph that the network is bound to; its training and validation nodes.
        loss: The loss as a function of the scores of a training pass.
        better: Tells whether an epoch is the best so far. The first epoch is always kept.
        after_step: Called with the network after every step of the optimiser.
        reads: int64, the training nodes, if the loss gets their scores alone; None for all nodes.
        settings: Optimiser, dropout and number of epochs.
        seed: Seed of the initial weights and of dropout; torch's global state does not change.
        device: Device of the network.
        clip_norm: Largest norm of the whole gradient.
        patience: Epochs without a better one after which training ends; not read without a validation label.

    Raises:
        ValueError: if no training node has a label.
    """
    if not len(graph.train):
        raise ValueError(NO_LABEL)
    started = time.perf_counter()
    rows, columns = graph.features.shape
    on_gpu = device.type == "cuda"
    again = reused_memory(torch.float32.itemsize * rows * settings.hidden)
    with threads_for(rows * columns), again, torch.random.fork_rng(devices=[device] if on_gpu else [], enabled=on_gpu):
        model, generator = fresh(make, seed)
        dropout = Dropout(0.0 if model.drops_itself else settings.gnn_dropout, None if on_gpu else generator)
        batch = _FullBatch(model, graph, loss, better, reads, settings, dropout, device)
        best_epoch = optimise(
            model, batch.gradients, steps=track(range(1, settings.epochs + 1), settings.epochs), lr=settings.lr,
            weight_decay=settings.weight_decay, better=batch.better, clip_norm=clip_norm,
            patience=patience if len(graph.val) else math.inf,
            after_step=None if after_step is None else lambda: after_step(model),
        )  # fmt: skip
    return _trained(model, batch.best_scores, best_epoch, batch.best_accuracy, started)


class _FullBatch:
    """Steps of a network over one graph. The pass that begins step k + 1 also scores the weights after step k."""

    def __init__(
        self, model: Network, graph: Graph, loss: LossFunction, better: Better, reads: NDArray[np.int64] | None,
        settings: TrainingSettings, dropout: Dropout, device: torch.device,
    ) -> None:  # fmt: skip
        self.model, self.graph, self.loss, self.chooses = model, graph, loss, better
        self.settings, self.dropout, self.everybody = settings, dropout, reads is None
        self.val, self.val_labels = labelled(graph, graph.val, device)
        self.train, self.train_labels = labelled(graph, graph.train, device)
        self.scores_to_learn = model.output if reads is None else model.output_of(self.train)
        self.val_scores = model.output_of(self.val)
        self.in_training = math.nan
        self.best_scores, self.best_accuracy = torch.empty(0, 1), math.nan
        self.z: Tensor | None = None  # the first layer before its activation, by the weights as they are
        self.active: Tensor | None = None  # its activation, where a training pass has the one that is scored

    def forward(self) -> None:
        """Compute the first layer."""
        self.z = self.model.pre_activation()
        self.active = None if self.model.normalises else self.model.activate(self.z, training=True)

    def gradients(self) -> None:
        """Set the gradients of one step."""
        if self.z is None:
            self.forward()
        z, active, self.z, self.active = self.z, self.active, None, None
        assert z is not None
        active = self.model.activate(z, training=True) if active is None else active
        del z
        scores = self.scores_to_learn(self.dropout(active))
        if self.settings.selection == ALL_THREE:
            own = scores.index_select(0, self.train) if self.everybody else scores
            self.in_training = share_of_hits(own.argmax(dim=1), self.train_labels)
        self.loss(scores).backward()  # type: ignore[no-untyped-call]

    def better(self, epoch: int) -> bool:
        """Return whether this epoch is the best so far; without validation labels the last one is."""
        last = epoch == self.settings.epochs
        with torch.set_grad_enabled(not last):
            self.forward()
        assert self.z is not None
        with torch.no_grad():
            hidden = self.model.activate(self.z, training=False) if self.active is None else self.active
            if observer.is_watched():
                tell_scores(self.graph, self.model.output(hidden), epoch)
            best, accuracy = last, math.nan
            if len(self.val):
                scores = self.val_scores(hidden)
                accuracy = share_of_hits(scores.argmax(dim=1), self.val_labels)
                best = self.chooses(scores, accuracy, self.in_training) or epoch == 1
            if best:
                self.best_accuracy, self.best_scores = accuracy, self.model.output(hidden)
        return best


def _trained(model: nn.Module, scores: Tensor, best_epoch: int, accuracy: float, started: float) -> TrainedNetwork:
    predictions, logs = scores.argmax(dim=1).cpu().numpy(), functional.log_softmax(scores, dim=1).cpu().numpy()
    return TrainedNetwork(model.cpu(), predictions, best_epoch, accuracy, time.perf_counter() - started, logs)


_ROWS_AT_ONCE = 4096


@torch.no_grad()
def scores_of_rows(network: nn.Module, rows: Tensor) -> Tensor:
    """float32 (k, classes): the scores without dropout of rows, float32 (k, width), a few at a time."""
    network.eval()
    return torch.cat([network(part) for part in torch.split(rows, _ROWS_AT_ONCE)])


def train_in_batches(
    make: Callable[[int], nn.Module], graph: Graph, *, batch: int, patience: int, settings: TrainingSettings, seed: int,
    device: str = "auto",
) -> TrainedNetwork:  # fmt: skip
    """Train on the labels of the training nodes and return the weights of the first epoch of the best accuracy.

    Args:
        make: Makes a network of rows, with fresh weights from torch's current random state, of the number of columns.
        graph: Dense features, and the labels that may be used.
        batch: Rows of a step.
        patience: Epochs without a better validation accuracy after which training ends.
        settings: Optimiser and the largest number of epochs.
        seed: Seed of the weights, the order and dropout; torch's global state does not change.
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        ValueError: if no training node has a label.
    """
    if not len(graph.train):
        raise ValueError(NO_LABEL)
    where = choose_device(device)
    started = time.perf_counter()
    with threads_for(math.prod(graph.features.shape)), torch.random.fork_rng([where] if where.type == "cuda" else []):
        torch.manual_seed(seed)
        rows = torch.from_numpy(np.ascontiguousarray(graph.features)).to(where)
        train, train_labels = labelled(graph, graph.train, where)
        val, val_labels = labelled(graph, graph.val, where)
        val_rows, chooses, accuracies = rows[val], BestEpoch(val_labels), [math.nan]
        network, left = make(rows.shape[1]).to(where), list[Tensor]()  # batches of this epoch that are not taken yet

        def gradients() -> None:
            if not left:
                left.extend(reversed(torch.split(torch.randperm(len(train), device=where), batch)))
            chosen = left.pop()
            functional.cross_entropy(network(rows[train[chosen]]), train_labels[chosen]).backward()  # type: ignore[no-untyped-call]

        def better(epoch: int) -> bool:
            if observer.is_watched():
                tell_scores(graph, scores_of_rows(network, rows), epoch)
            if not len(val):
                return epoch == settings.epochs
            scores = scores_of_rows(network, val_rows)
            accuracy = share_of_hits(scores.argmax(dim=1), val_labels)
            best = chooses(scores, accuracy, math.nan)
            accuracies.extend([accuracy] if best else [])
            return best

        epoch_steps = -(-len(train) // batch)
        steps = settings.epochs * epoch_steps
        best_epoch = optimise(
            network, gradients, steps=track(range(1, steps + 1), steps), epoch_steps=epoch_steps, lr=settings.lr,
            weight_decay=settings.weight_decay, better=better, patience=patience if len(val) else math.inf,
        )  # fmt: skip
        return _trained(network, scores_of_rows(network, rows), best_epoch, accuracies[-1], started)
