"""Noise whose draws are chosen, so that a mechanism's law can be enumerated exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

ONE = 1 << 64


class Pruned(Exception):
    """A branch whose probability is too small to follow."""


class Branch:
    """A noise stream on one branch of the tree of all draws; every draw is a choice with a known probability."""

    def __init__(self, path: list[int], cutoff: float) -> None:
        self.path = path  # which choice was made at each step; grows by first choices
        self.options: list[int] = []
        self.cutoff = cutoff
        self.probability = 1.0

    def choose(self, weights: list[float]) -> int:
        step = len(self.options)
        if step == len(self.path):
            self.path.append(0)
        self.options.append(len(weights))
        taken = self.path[step]
        self.probability *= weights[taken]
        if self.probability <= self.cutoff:
            raise Pruned
        return taken

    def bernoulli(self, threshold: int | np.ndarray, size: int) -> np.ndarray:
        thresholds = np.broadcast_to(np.asarray(threshold, np.uint64), (1, size))[0].tolist()
        return np.array([[self.choose([1 - t / ONE, t / ONE]) == 1 for t in thresholds]], np.bool_)

    def __len__(self) -> int:
        return 1

    def uniform_integers(self, bound: int | np.ndarray, size: int) -> np.ndarray:
        return np.array([[self.choose([1 / b] * b) for b in np.broadcast_to(bound, (1, size))[0].tolist()]], np.int64)


def law_of(draw: Callable[[Any], Any], *, cutoff: float = 0.0) -> tuple[dict[Any, float], float]:
    """Return the exact law of ``draw(noise)`` and the probability of the branches that were not followed."""
    law: dict[Any, float] = {}
    lost, path = 0.0, []
    while True:
        branch = Branch(path, cutoff)
        try:
            outcome = draw(branch)
            key = outcome.tobytes() if isinstance(outcome, np.ndarray) else outcome
            law[key] = law.get(key, 0.0) + branch.probability
        except Pruned:
            lost += branch.probability
        path = path[: len(branch.options)]
        while path and path[-1] == branch.options[len(path) - 1] - 1:
            path.pop()
        if not path:
            return law, lost
        path[-1] += 1


@pytest.fixture
def law():
    return law_of
