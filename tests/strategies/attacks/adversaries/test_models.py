"""Gradients and crafted models: they say the data where a device trains, and nothing where it reports."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.strategies.attacks.adversaries.curator import Target
from ldpsim.strategies.attacks.adversaries.table import ADVERSARIES, crafted_models
from tests.strategies.attacks.adversaries.inversion import invert_update


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


@pytest.mark.parametrize("rate", [0.01, 1.0])
def test_one_update_says_everybodys_data(people: Population, rate: float) -> None:
    """One plain step of softmax regression on a device that trains reveals its features and its label."""
    rng = np.random.default_rng(0)
    classes, d = people.facts.classes, people.facts.d
    weights, bias = rng.normal(size=(classes, d)), rng.normal(size=classes)
    for person in range(len(people)):
        record = people.record(person)
        x = np.zeros(d)
        x[record.feature_indices] = record.feature_values
        error = softmax(weights @ x + bias) - np.eye(classes)[record.label]
        after = (weights - rate * np.outer(error, x), bias - rate * error)
        features, label = invert_update((weights, bias), after)
        assert np.array_equal(np.round(features), x) and np.allclose(features, x, atol=1e-6)
        assert label == record.label


def test_evaluations_of_crafted_models_say_the_label(people: Population) -> None:
    """The accuracy of constant models on a device that evaluates reveals its label."""
    for person in range(len(people)):
        record = people.record(person)
        x = np.zeros(people.facts.d)
        x[record.feature_indices] = record.feature_values
        said = [int(np.argmax(weights @ x + bias)) for weights, bias in crafted_models(people.facts.classes, len(x))]
        accuracies = [float(prediction == record.label) for prediction in said]
        assert np.argmax(accuracies) == record.label and sum(accuracies) == 1


def test_reporting_devices_take_no_model(target_for: Callable[..., Target]) -> None:
    target = target_for("train-and-evaluate")
    outcome = ADVERSARIES["train-and-evaluate"].attack(target, asks=1)
    assert outcome.answers == {"MODE_REFUSED": 2 * 4 * 3 * 12, "reported": 12}
