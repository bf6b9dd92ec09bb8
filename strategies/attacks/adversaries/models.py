"""Adversaries that send models instead of questions: a gradient reveals the data, an evaluation the label.

Paper: Zhu, Liu and Han 2019, "Deep Leakage from Gradients", https://arxiv.org/abs/1906.08935.
Both attacks work on every device that trains and evaluates without noise: the tests compute the
data of one example from its gradient in closed form. A device that reports answers neither message.
"""

from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MessageType, RecordDict
from numpy.typing import NDArray

from ldpsim.strategies.attacks.adversaries.curator import AdversarialCurator, Runs, Shot

Model = tuple[NDArray[np.floating], NDArray[np.floating]]  # weights (classes, d) and bias (classes,)


def crafted_models(classes: int, d: int) -> list[Model]:
    """Return a model for each class that always predicts it; its accuracy on a device shows the label."""
    return [(np.zeros((classes, d), np.float32), 30.0 * np.eye(classes, dtype=np.float32)[c]) for c in range(classes)]


def model_content(model: Model) -> RecordDict:
    """Return the content of a message with a model, in the form of Flower's own strategies."""
    arrays = ArrayRecord({name: Array(value) for name, value in zip(("weight", "bias"), model, strict=True)})
    return RecordDict({"arrays": arrays, "config": ConfigRecord({"lr": 0.1, "local-epochs": 1})})


class TrainAndEvaluate(AdversarialCurator):
    """Sends models to devices that report: to get the gradient, and crafted ones to get the label."""

    name = "train-and-evaluate"
    description = "asks reporting devices to train a model and to evaluate crafted ones, before and after the report"

    def runs(self) -> Runs:
        facts = self.target.facts
        models = [model_content(model) for model in crafted_models(max(2, facts.classes), max(1, facts.d))]
        rounds = [
            [Shot(content=model, kind=kind)]
            for kind in (MessageType.TRAIN, MessageType.EVALUATE, "train.report", "evaluate.report")
            for model in models
        ]
        yield [*rounds, [Shot(self.target.query)], *rounds]
