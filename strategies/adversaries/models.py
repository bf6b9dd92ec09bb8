"""Curators who send models instead of questions: a gradient says the data, an evaluation says the label.

Both attacks work on any device that trains and evaluates without noise
(Zhu, Liu and Han, "Deep Leakage from Gradients", 2019; for one example and a layer with a
bias the leak is exact and in closed form). A reporting device answers neither.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MessageType, RecordDict
from numpy.typing import NDArray

from strategies.adversaries.curator import AdversarialCurator, Shot

Floats = NDArray[np.floating]


def invert_update(before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> tuple[Floats, int]:
    """Read a person's features and label from one step of softmax regression on that person alone.

    With logits W x + b the gradient is (p - y) x^T for W and p - y for b, so that any row
    of the one over the same entry of the other is x, and only the label's entry is negative.

    Args:
        before, after: Weights (classes, d) and bias (classes,), before and after the step;
            its size and sign conventions do not matter as long as it descends.

    Returns:
        The features (d,) and the label.
    """
    weights, bias = after[0] - before[0], after[1] - before[1]
    row = int(np.argmax(np.abs(bias)))
    return weights[row] / bias[row], int(np.argmax(bias))


def crafted_models(classes: int, d: int) -> list[tuple[Floats, Floats]]:
    """Models that say one class whatever the features: a device's accuracy under model c is 1 if its label is c."""
    return [(np.zeros((classes, d), np.float32), 30.0 * np.eye(classes, dtype=np.float32)[c]) for c in range(classes)]


def model_content(model: tuple[Floats, Floats]) -> RecordDict:
    """A model as Flower's own strategies send it."""
    arrays = ArrayRecord({name: Array(value) for name, value in zip(("weight", "bias"), model, strict=True)})
    return RecordDict({"arrays": arrays, "config": ConfigRecord({"lr": 0.1, "local-epochs": 1})})


class TrainAndEvaluate(AdversarialCurator):
    """Sends models to devices that report: for the gradient, and crafted ones for the label."""

    name = "train-and-evaluate"
    description = "asks reporting devices to train a model and to evaluate crafted ones, before and after the report"

    def runs(self) -> Iterator[list[list[Shot]]]:
        facts = self.target.facts
        models = [model_content(model) for model in crafted_models(max(2, facts.classes), max(1, facts.d))]
        rounds = [
            [Shot(content=model, kind=kind)]
            for kind in (MessageType.TRAIN, MessageType.EVALUATE, "train.report", "evaluate.report")
            for model in models
        ]
        yield [*rounds, [Shot(self.target.query)], *rounds]
