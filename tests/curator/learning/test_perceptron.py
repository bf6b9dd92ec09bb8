"""The perceptron: its probabilities are those of its network, and only labels that it may read change it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning import training
from ldpsim.curator.learning.node_evidence import fit_perceptron
from ldpsim.curator.reports.labels import LabelEvidence

N, CLASSES = 60, 3
RNG = np.random.Generator(np.random.PCG64(3))
LABELS = np.arange(N) % CLASSES
WORDS = (RNG.random((N, 30)) < np.where(np.arange(30) // 10 == LABELS[:, None], 0.6, 0.1)).astype(np.float32)
ORDER = RNG.permutation(N)
TRAIN, VAL, TEST = np.sort(ORDER[:30]), np.sort(ORDER[30:45]), np.sort(ORDER[45:])


@pytest.mark.parametrize("features", [csr_array(WORDS), WORDS, WORDS + 1])
def test_probabilities_are_those_of_the_network(features: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trained, honest = [], training.train
    monkeypatch.setattr(training, "train", lambda *given, **more: trained.append(honest(*given, **more)) or trained[0])
    found = fit_perceptron(features, LabelEvidence(LABELS, CLASSES), TRAIN, VAL, seed=1)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)
    (network,) = trained
    apart = found - network.model().detach().numpy()
    np.testing.assert_allclose(apart, np.broadcast_to(apart[:, :1], apart.shape), atol=1e-4)
    assert np.mean(network.predictions[TEST] == LABELS[TEST]) > 0.85
    assert np.array_equal(found.argmax(axis=1), network.predictions)


def test_labels_of_others_are_not_read() -> None:
    hidden = LABELS.copy()
    hidden[TEST] = -1
    seen, unseen = (
        fit_perceptron(csr_array(WORDS), LabelEvidence(labels, CLASSES), TRAIN, VAL, seed=1)
        for labels in (LABELS, hidden)
    )
    assert seen.tobytes() == unseen.tobytes()
