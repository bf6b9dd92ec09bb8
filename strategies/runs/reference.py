"""Reference of a run: the same network on the same graph, without noise or protection."""

from __future__ import annotations

from curator.learning.training import TrainingSettings
from curator.methods import Reference, find
from devices.facts import IntArray, Split
from strategies.people.owned_graph import own
from strategies.setup.run_setup import RunSetup


def without_noise(setup: RunSetup, split: Split, seed: int, settings: TrainingSettings) -> IntArray:
    """Train the run's network on the true graph and return everybody's class, int64 (n,)."""
    raw = find("raw")()
    assert isinstance(raw, Reference)
    trained = raw.train(
        raw.from_owned(own(setup.population, split, trust="none")),
        settings=settings,
        classes=setup.population.facts.classes,
        seed=seed,
        device=setup.options.device,
    )
    return trained.predictions
