"""Checkpoints of a training in rounds: a killed run continues after its last finished round.

    checkpoint-0.npz       the training after a round: weights, server optimiser, random states, counts
    checkpoint-0.models    the models of all finished rounds, one after another, for their digest

Both files stay in the run's folder until result.json is written. So does the seed of draws that
nobody may predict. The first file is replaced as a whole before the first round and after each
round. It has a key: the configuration's hash and the id of the collection. A checkpoint with
another key, or an unreadable one, is ignored with a line in the log. The training then starts
again; the devices' ledgers still count the earlier answers. The arrays hold no pickled object.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp.strategy import Strategy

from ldpsim.curator import observer
from ldpsim.devices.array_types import checked_array
from ldpsim.devices.atomic_files import private_file, write_atomically
from ldpsim.devices.federated.wire import ATTEMPT, WEIGHTS, weights_record
from ldpsim.devices.network import FloatArray, are_usable, usable
from ldpsim.strategies.rounds.training_grid import RoundTally, TrainingGrid

ServerState = dict[str, np.ndarray]


def state_of(strategy: Any) -> ServerState:
    """Return what a strategy carries from one round to the next, as arrays by name; nothing for one without.

    A strategy that keeps any has ``state()`` and ``restore(state)``; the arrays hold no pickled object. Flower's own
    strategies have neither: those among them that keep state have a subclass in :mod:`ldpsim.strategies.federated`.
    """
    return strategy.state() if hasattr(strategy, "state") else {}


def restore_state(strategy: Any, state: Mapping[str, np.ndarray]) -> None:
    """Set a new strategy to what :func:`state_of` returned."""
    if state:
        strategy.restore(state)


FORMAT = 1
log = logging.getLogger("ldpsim")
Key = tuple[str, ...]


@dataclass
class Best:
    """Weights that evaluated best so far; None if nobody evaluated."""

    accuracy: float = -1.0
    weights: FloatArray | None = None


@dataclass
class TrainingState:
    """State of a training after a round.

    Args:
        weights: The global weights.
        done: Number of finished rounds.
        best: The weights with the best evaluation.
        tally: Counts of the finished rounds.
        server: State of the server's strategy, by name.
        randomness: States of ``random`` and of numpy's global generator; None: the present ones.
        again: Number of times that an unfinished round was asked again.
        lost: Number of answers in those attempts; no model was made of them.
        attempt: Number that tells this start's questions apart from those of earlier starts; 0 if
            none of its rounds was asked before. It is not saved.
        losses: Loss after each round, where it decides which weights are kept.
    """

    weights: FloatArray = field(repr=False)
    done: int = 0
    best: Best = field(default_factory=Best)
    tally: RoundTally = field(default_factory=RoundTally)
    server: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    randomness: tuple[Any, Any] | None = field(default=None, repr=False)
    again: int = 0
    lost: int = 0
    attempt: int = 0
    losses: list[float] = field(default_factory=list)


class CheckpointFile:
    """Checkpoint of one repeat, and digest of its models.

    Args:
        folder: The run's folder; None: nothing is saved, because the run keeps no folder.
        repeat: Number of the repeat.
        key: Key of the training.
    """

    def __init__(self, folder: Path | None, repeat: int, key: Key) -> None:
        self._path = None if folder is None else folder / f"checkpoint-{repeat}.npz"
        self._key = key
        self.digest = hashlib.sha256()
        self._hashed = 0

    def load(self, size: int | None = None) -> TrainingState | None:
        """Return the saved training; None if there is no readable checkpoint with this key.

        Args:
            size: Number of the model's weights; None: any.
        """
        if self._path is None or not self._path.is_file():
            return None
        try:
            with np.load(self._path, allow_pickle=False) as arrays:
                values = {name: arrays[name] for name in arrays.files}
            head = json.loads(values.pop("head").tobytes())
            if (head["format"], tuple(head["key"])) != (FORMAT, self._key):
                log.info("%s belongs to another training: rounds start again", self._path.name)
                return None
            models = self._models.read_bytes()[: head["hashed"]] if head["hashed"] else b""
            if len(models) < head["hashed"]:
                raise ValueError("models are missing")
            training = _training_state(head, values, size)
        except Exception as error:  # damaged files raise many kinds: zip, JSON, missing names
            log.info("%s cannot be read (%s): rounds start again", self._path.name, type(error).__name__)
            return None
        self.digest, self._hashed = hashlib.sha256(models), len(models)
        return training

    def add_model(self, weights: FloatArray) -> None:
        """Add the model of a finished round to the digest."""
        data = weights.tobytes()
        self.digest.update(data)
        if self._path is not None:
            if not self._models.is_file():
                with private_file(self._models):
                    pass
            with self._models.open("r+b") as file:
                file.seek(self._hashed)  # overwrites what a killed run wrote after its checkpoint
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            self._hashed += len(data)

    def save(self, training: TrainingState) -> None:
        """Replace the checkpoint. It is on the disk before this returns."""
        if self._path is None:
            return
        python, (_, words, *rest) = training.randomness or (random.getstate(), np.random.get_state())
        head = {
            "format": FORMAT, "key": self._key, "done": training.done, "tally": training.tally.to_dict(),
            "again": training.again, "lost": training.lost, "accuracy": training.best.accuracy,
            "hashed": self._hashed, "python": python, "numpy": rest,
        }  # fmt: skip
        arrays: dict[str, Any] = {f"server.{name}": value for name, value in training.server.items()}
        if training.losses:
            arrays["losses"] = np.array(training.losses)
        if training.best.weights is not None:
            arrays["best"] = training.best.weights
        buffer = io.BytesIO()
        np.savez(buffer, head=np.frombuffer(json.dumps(head).encode(), np.uint8), weights=training.weights, words=words,
                 **arrays)  # fmt: skip
        write_atomically(self._path, buffer.getvalue())

    @property
    def _models(self) -> Path:
        assert self._path is not None
        return self._path.with_suffix(".models")


def _training_state(head: Mapping[str, Any], arrays: Mapping[str, np.ndarray], size: int | None) -> TrainingState:
    for name, array in arrays.items():
        checked_array(name, array, "iuf", (size,) if name in ("weights", "best") else array.shape)
    version, inner, gauss = head["python"]
    words = arrays["words"]
    return TrainingState(
        weights=arrays["weights"], done=head["done"], best=Best(head["accuracy"], arrays.get("best")),
        losses=arrays["losses"].tolist() if "losses" in arrays else [],
        tally=RoundTally.from_dict(head["tally"]), again=head["again"], lost=head["lost"],
        server={name.removeprefix("server."): value for name, value in arrays.items() if name.startswith("server.")},
        randomness=((version, tuple(inner), gauss), ("MT19937", words, *head["numpy"])),
    )  # fmt: skip


class _NoBetterLoss(Exception):
    """End of the rounds: Flower's ``Strategy.start`` has no other."""


def run_rounds(
    strategy: Strategy, grid: TrainingGrid, start: TrainingState, task: bytes, *, rounds: int,
    file: CheckpointFile | None = None, after: Callable[[int, FloatArray], None] = lambda number, weights: None,
    timeout: float = 3600.0, loss: Callable[[FloatArray], float] | None = None, patience: int = 0,
) -> FloatArray:  # fmt: skip
    """Run the missing rounds under Flower's ``Strategy.start`` and save the training after each.

    Args:
        strategy: A new strategy, one of Flower's or a wrapper of it; it may have made an exchange before the first
            round.
        grid: Picks the nodes of each round.
        start: State after the earlier rounds; if its ``server`` is empty, the strategy is not changed.
        task: The task's bytes.
        rounds: Number of rounds, the finished ones included.
        file: The checkpoint; None: nothing is saved.
        after: Called after every round (and before the first, with those done) with its number and the global weights.
        timeout: Seconds to wait for the answers of a round, on a grid whose nodes may stay silent.
        loss: Loss of the first weights, and of those after each round, by which the server judges them; None: it
            does not.
        patience: With a loss: the rounds end where it is above its mean in so many rounds before; 0: they do not.

    Returns:
        The weights of the round that evaluated best or had the smallest loss, or the last ones if nobody evaluates.
    """
    restore_state(strategy, start.server)
    grid.go_on(start.done, start.tally)
    if start.randomness is not None:
        random.setstate(start.randomness[0])
        np.random.set_state(start.randomness[1])
    last, best = start.weights, start.best

    def note(number: int, arrays: ArrayRecord) -> None:
        nonlocal last
        last, done = arrays[WEIGHTS].numpy(), start.done + number
        if grid.accuracy is not None:
            observer.log_metric("val_accuracy", grid.accuracy, done)
            if grid.accuracy > best.accuracy:
                best.accuracy, best.weights = grid.accuracy, last
            grid.accuracy = None
        if loss is not None and (number or not done):
            start.losses.append(loss(last))
            observer.log_metric("val_loss", start.losses[-1], done)
            if start.losses[-1] == min(start.losses):
                best.weights = last
        if file is not None:
            if number:
                file.add_model(last)
            # Saved before the first message of a round: every round that is asked has a checkpoint to return to.
            file.save(replace(start, weights=last, done=done, tally=grid.tally, server=state_of(strategy),
                              randomness=None))  # fmt: skip
        after(done, last)
        before = start.losses[-patience - 1 : -1]
        if patience and len(before) == patience and start.losses[-1] > np.mean(before):
            raise _NoBetterLoss

    config = ConfigRecord({"task": task, ATTEMPT: start.attempt} if start.attempt else {"task": task})
    _prepare(strategy, start.done)
    with suppress(_NoBetterLoss):
        strategy.start(grid, weights_record(start.weights), num_rounds=rounds - start.done, timeout=timeout,
                       train_config=config, evaluate_config=ConfigRecord(dict(config)), evaluate_fn=note)  # fmt: skip
    return last if best.weights is None else best.weights


def _prepare(strategy: Strategy, done: int) -> None:
    """Make a strategy count its rounds from ``done`` + 1, and send out weights that no device refuses.

    ``Strategy.start`` begins with round 1. Updates that are as large as may be can add up to weights that are larger.
    """

    def later(step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda server_round, *rest: step(server_round + done, *rest)

    for name in ("configure_train", "aggregate_train", "configure_evaluate", "aggregate_evaluate"):
        setattr(strategy, name, later(getattr(strategy, name)))
    aggregate = strategy.aggregate_train

    def within_range(server_round: int, replies: Iterable[Message]) -> tuple[ArrayRecord | None, MetricRecord | None]:
        arrays, metrics = aggregate(server_round, replies)
        weights = None if arrays is None else arrays[WEIGHTS].numpy()
        if weights is not None and not are_usable(weights):
            arrays = weights_record(usable(weights))
        return arrays, metrics

    strategy.aggregate_train = within_range  # type: ignore[method-assign]
