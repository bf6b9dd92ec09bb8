from __future__ import annotations

import numpy as np
import pytest
import torch

from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.perceptron import perceptron_scores, train_perceptron
from ldpsim.curator.owner.teachers.sage import SageSettings


def test_it_learns_and_repeats_itself(private: PlainGraph, public: PlainGraph) -> None:
    settings = SageSettings(hidden=16, epochs=150)

    def scores() -> np.ndarray:
        weights = train_perceptron(private.features, private.labels, 3, settings, 0)
        return perceptron_scores(weights, public.features)

    first = scores()
    assert np.mean(first.argmax(1) == public.labels) > 0.7
    assert first.tobytes() == scores().tobytes()


def test_the_network_and_its_training_are_those_of_torch(private: PlainGraph) -> None:
    """Three linear layers with ReLU between them, full batches of the labelled people, torch's Adam."""
    labels = np.where(np.arange(60) % 3 == 0, -1, private.labels)
    settings = SageSettings(hidden=8, epochs=12, dropout=0.0, lr=0.02, weight_decay=0.1)
    found = train_perceptron(private.features, labels, 3, settings, 4)
    layers = [torch.nn.Linear(a, b) for a, b in ((private.features.shape[1], 8), (8, 8), (8, 3))]
    generator = torch.Generator().manual_seed(4)
    for layer in layers:  # of the size that torch draws too: 1 / root of the inputs
        bound = layer.in_features**-0.5
        start = torch.empty(layer.in_features, layer.out_features).uniform_(-bound, bound, generator=generator)
        layer.weight.data = start.T.contiguous()
        layer.bias.data.uniform_(-bound, bound, generator=generator)
    network = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02, weight_decay=0.1)
    known = np.flatnonzero(labels >= 0)
    for _ in range(12):
        optimiser.zero_grad()
        scores = network(torch.from_numpy(private.features[known]))
        torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels[known])).backward()
        optimiser.step()
    for layer, weight, bias in zip(layers, found[::2], found[1::2], strict=True):
        torch.testing.assert_close(weight, layer.weight.detach().T, rtol=0, atol=1e-4)
        torch.testing.assert_close(bias, layer.bias.detach(), rtol=0, atol=1e-4)
    theirs = network(torch.from_numpy(private.features)).detach().double().numpy()
    assert perceptron_scores(found, private.features) == pytest.approx(theirs, abs=1e-3)
