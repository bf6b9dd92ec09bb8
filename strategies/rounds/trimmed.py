"""Robust aggregation: updates are clipped to twice their median length, and extreme coordinates leave the mean.

Flower's strategies average the updates of a round. Here each reply gets the same robust mean before a strategy reads
it, so that their average is that mean, for every strategy that averages. An update is the difference of the new weights
to those that were sent out. The trimmed mean leaves out the same share of the smallest and of the largest values of
a coordinate (Yin et al. 2018, https://arxiv.org/abs/1803.01498).

A coordinate that few people move (the weights of a rare word) has a trimmed mean of 0, whatever they learnt. Such
coordinates are averaged after the clipping alone. Without this, a perceptron on sparse features learns nothing. A liar
can still move them, by no more than twice the median length in all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flwr.app import Message

from devices.federated.wire import WEIGHTS, weights_record
from devices.network import FloatArray

CUT = 0.1  # share left out at each end
REACH = 2.0  # median lengths that an update may have
_MOVED = 0.1  # share of the mean size of a coordinate's updates that their median size has if most of them move it
_AT_ONCE = 1 << 24  # entries of updates that are sorted at once


class TrimmedUpdates:
    """Replaces the updates of each round by their robust mean; counts what it clipped.

    Args:
        cut: Share of the updates left out at each end of a coordinate, below 0.5; 0: updates are only clipped.
        reach: Median lengths that an update may have.
    """

    def __init__(self, cut: float = CUT, reach: float = REACH) -> None:
        self.cut, self.reach, self.updates, self.clipped = cut, reach, 0, 0

    def __call__(self, weights: FloatArray, replies: Sequence[Message]) -> list[Message]:
        """Put the robust mean into each reply that has an update, and return all replies."""
        heard = [reply for reply in replies if "arrays" in reply.content]
        if not heard:
            return list(replies)
        mean = self.mean(weights, [reply.content.array_records["arrays"][WEIGHTS].numpy() for reply in heard])
        record = weights_record(mean)
        for reply in heard:
            reply.content["arrays"] = record
        return list(replies)

    def mean(self, weights: FloatArray, new: Sequence[FloatArray]) -> FloatArray:
        """Return the weights plus the robust mean of the updates."""
        updates = np.stack(new) - weights
        lengths = np.linalg.norm(updates, axis=1)
        bound = self.reach * float(np.median(lengths))
        long = lengths > bound
        updates[long] *= (bound / lengths[long])[:, None].astype(updates.dtype)
        self.updates += len(updates)
        self.clipped += int(long.sum())
        columns = max(1, _AT_ONCE // len(updates))
        parts = [self._coordinates(updates[:, start : start + columns])
                 for start in range(0, updates.shape[1], columns)]  # fmt: skip
        return np.asarray(weights + np.concatenate(parts), weights.dtype)

    def _coordinates(self, updates: FloatArray) -> FloatArray:
        """Return the trimmed mean of each column that most updates move, and the mean of the others."""
        from scipy.stats import trim_mean  # imported where it is needed: the import takes as long as a small run

        found = updates.mean(axis=0)
        sizes = np.abs(updates)
        moved = np.flatnonzero(np.median(sizes, axis=0) > _MOVED * sizes.mean(axis=0))
        if len(moved):
            found[moved] = trim_mean(updates[:, moved], self.cut, axis=0)
        return found
