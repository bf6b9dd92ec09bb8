"""Rounds of any of Flower's strategies under ``Strategy.start``, from the first or after those that were run before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp.strategy import Strategy

from ldpsim.curator import observer
from ldpsim.devices.federated.wire import ATTEMPT, WEIGHTS, weights_record
from ldpsim.devices.network import FloatArray, are_usable, usable
from ldpsim.strategies.rounds.training_grid import TrainingGrid


def _continued(strategy: Strategy, done: int) -> Strategy:
    """Make a strategy count its rounds from ``done`` + 1; ``Strategy.start`` begins with 1."""

    def later(step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda server_round, *rest: step(server_round + done, *rest)

    for name in ("configure_train", "aggregate_train", "configure_evaluate", "aggregate_evaluate"):
        setattr(strategy, name, later(getattr(strategy, name)))
    return strategy


def _usable(strategy: Strategy) -> Strategy:
    """Make a strategy send out weights that no device refuses: updates that are as large as may be can add up."""
    inner = strategy.aggregate_train

    def aggregate(server_round: int, replies: Iterable[Message]) -> tuple[ArrayRecord | None, MetricRecord | None]:
        arrays, metrics = inner(server_round, replies)
        weights = None if arrays is None else arrays[WEIGHTS].numpy()
        if weights is not None and not are_usable(weights):
            arrays = weights_record(usable(weights))
        return arrays, metrics

    strategy.aggregate_train = aggregate  # type: ignore[method-assign]
    return strategy


@dataclass
class Best:
    """Weights that evaluated best so far; None if nobody evaluated."""

    accuracy: float = -1.0
    weights: FloatArray | None = None


def run_rounds(
    strategy: Strategy, grid: TrainingGrid, weights: FloatArray, task: bytes, *, rounds: int,
    after: Callable[[int, FloatArray], None] = lambda number, weights: None, done: int = 0, best: Best | None = None,
    attempt: int = 0, timeout: float = 3600.0,
) -> FloatArray:  # fmt: skip
    """Run the rounds under Flower's ``Strategy.start``.

    Args:
        strategy: One of Flower's strategies, or a wrapper of it.
        grid: Picks the nodes of each round.
        weights: The global weights to start with.
        task: The task's bytes.
        rounds: Number of rounds, those that were run before included.
        after: Called after every round (and before the first, with ``done``) with the global weights.
        done: Number of rounds that were run before.
        best: The best weights so far; updated here.
        attempt: If not 0, a number that no earlier attempt at these rounds had. A device refuses a
            question that it answered under noise; with another number it is another question.
        timeout: Seconds to wait for the answers of a round, on a grid whose nodes may stay silent.

    Returns:
        The weights of the round that evaluated best, or the last ones if nobody evaluates.
    """
    best = best or Best()
    last = weights

    def note(number: int, arrays: ArrayRecord) -> None:
        nonlocal last
        last = arrays[WEIGHTS].numpy()
        if grid.accuracy is not None and grid.accuracy > best.accuracy:
            best.accuracy, best.weights = grid.accuracy, last
        if grid.accuracy is not None:
            observer.log_metric("val_accuracy", grid.accuracy, number + done)
        grid.accuracy = None
        after(number + done, last)

    strategy = _usable(strategy)
    told: dict[str, Any] = {"task": task, ATTEMPT: attempt} if attempt else {"task": task}
    (_continued(strategy, done) if done else strategy).start(
        grid, weights_record(weights), num_rounds=rounds - done, timeout=timeout, train_config=ConfigRecord(told),
        evaluate_config=ConfigRecord(told), evaluate_fn=note,
    )  # fmt: skip
    return last if best.weights is None else best.weights
