"""Outcome of one repeat, as its kind of run returns it, and its scores against the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ldpsim.curator.graph import Graph
from ldpsim.curator.nulls.inputs import NullInputs
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.prediction import DeviceModel
from ldpsim.strategies.results.lifetime import Losses
from ldpsim.strategies.rounds.collect_once import Collected

if TYPE_CHECKING:
    from torch import nn

# Everybody's class, int64 (n,).
Predictions = NDArray[Any]
# The work of a null model; None: it does not fit the run.
Predict = Callable[[], Predictions | None]
# The reconstruction of a method that makes no graph.
NO_GRAPH: Mapping[str, Any] = dict.fromkeys(("edge_precision", "edge_recall", "edges", "feature_mae"))


@dataclass(frozen=True, eq=False)
class Score:
    """Score of a model on the test people of one repeat.

    Args:
        test: Share that is right; None without anybody to test.
        right: bool, for each test person; None without a single network.
        auc: Area under the ROC curve; None where no class has most of the people, and without scores.
    """

    test: float | None
    right: NDArray[Any] | None = field(default=None, repr=False)
    auc: float | None = None


@dataclass(frozen=True, eq=False)
class RepeatScores:
    """Scores of one repeat against the truth, which only a simulation knows.

    Args:
        accuracy: On test and validation people, and macro F1.
        score: Score of the method.
        reference: Score of the same network without noise, with the method's own settings; None if it was not
            trained.
        reference_own: Its test accuracy with the reference's own settings.
        nulls: Scores of the null models, by name (:mod:`ldpsim.strategies.runs.judging`); empty if they were not taken.
        ask_nobody: Names of those that tell what public data alone give
            (:func:`ldpsim.strategies.results.verdict.asks_nobody`).
        device: Score of the devices that predict for themselves; None where the method has no device model.
        alone: The same without any report; None where no label is in clear.
        own_features: The same without a list either; None where the curator has no features in clear.
        with_friends: Score of the devices whose friends tell them a guess; None where nobody predicts or tells.
        alone_with_friends: The same without any report.
        not_taken: Why null models are not taken, or in part (:mod:`ldpsim.strategies.runs.not_taken`), by name.
        null_seconds: Duration of the null models.
    """

    accuracy: Mapping[str, float | None]
    score: Score
    reference: Score | None
    reference_own: float | None
    nulls: Mapping[str, Score]
    ask_nobody: tuple[str, ...]
    device: Score | None
    alone: Score | None
    own_features: Score | None
    not_taken: Mapping[str, str]
    null_seconds: float
    with_friends: Score | None = None
    alone_with_friends: Score | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of one repeat.

    Args:
        seconds: ``collect``, ``reconstruct`` and ``train``.
        released: What its guarantee is computed from (:attr:`ldpsim.strategies.runs.kind.RunKind.guarantee`).
        predictions: int64 (n,), everybody's class, -1 for people without one; None without a single network.
        class_scores: float (n, classes), everybody's score of each class; None where the method gives none.
        accuracy: Given without a single network; else it follows from ``predictions``.
        model: The trained network; None without a single one.
        collected: Counts of the devices and their messages.
        reconstruction: The graph against the truth.
        null_inputs: Knowledge that the null models may use; None if they are not taken.
        reports: Reports of the devices, for the null models; None without them.
        nulls: Null models of its own, by name, which need no reports: in place of those that read ``null_inputs``.
        make_device_models: Makes ``device_models``; None where the method has none.
        graph: The reconstructed graph that the network was trained on; None without one.
        phases: Communication by phase; None if all of it is the collection.
        extra: Further sections of the record, by name (``teachers``, ``federated``).
        lifetime: Losses of the devices' lifetime, from their ledgers; None: they are read after the work.
        seeded: Whether the devices' secrets come from a seed; None if nobody was asked.
        device_models: What devices predict from, after the reports and without any.
        scores: Its scores, once it is judged.
    """

    seconds: Mapping[str, float]
    released: Any = field(default=(), repr=False)
    predictions: Predictions | None = field(default=None, repr=False)
    class_scores: NDArray[Any] | None = field(default=None, repr=False)
    accuracy: Mapping[str, float | None] | None = None
    model: nn.Module | None = field(default=None, repr=False)
    collected: Collected = field(default_factory=Collected, repr=False)
    reconstruction: Mapping[str, Any] = field(default_factory=lambda: NO_GRAPH, repr=False)
    null_inputs: NullInputs | None = field(default=None, repr=False)
    reports: Reports | None = field(default=None, repr=False)
    nulls: Mapping[str, Predict] = field(default_factory=dict, repr=False)
    make_device_models: Callable[[], tuple[DeviceModel, DeviceModel | None]] | None = field(default=None, repr=False)
    graph: Graph | None = field(default=None, repr=False)
    phases: Mapping[str, Mapping[str, Any]] | None = field(default=None, repr=False)
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    lifetime: Losses | None = field(default=None, repr=False)
    seeded: bool | None = None
    device_models: tuple[DeviceModel, DeviceModel | None] | None = field(default=None, repr=False)
    scores: RepeatScores | None = field(default=None, repr=False)


def scores_of(outcomes: Sequence[Outcome]) -> list[RepeatScores]:
    """Return the scores of judged outcomes."""
    return [scores for outcome in outcomes if (scores := outcome.scores) is not None]
