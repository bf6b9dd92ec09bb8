from __future__ import annotations

import numpy as np
import pytest

from curator.teachers.graph import PlainGraph
from curator.teachers.perceptron import perceptron_scores, train_perceptron
from curator.teachers.randomness import weights_generator
from curator.teachers.sage import SageSettings


def test_it_learns_and_repeats_itself(private: PlainGraph, public: PlainGraph) -> None:
    settings = SageSettings(hidden=16, epochs=150)

    def scores() -> np.ndarray:
        weights = train_perceptron(private.features, private.labels, 3, settings, weights_generator(0, 0))
        return perceptron_scores(weights, public.features)

    first = scores()
    assert np.mean(first.argmax(1) == public.labels) > 0.7
    assert first.tobytes() == scores().tobytes()


def test_nobody_to_learn_from(private: PlainGraph) -> None:
    with pytest.raises(ValueError, match="label"):
        train_perceptron(private.features, np.full(60, -1), 3, SageSettings(), weights_generator(0, 0))
