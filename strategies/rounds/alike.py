"""Updates under noise that point in one direction: colluders, or copies.

An honest update is g + noise, |g| <= C, with independent Gaussian noise of deviation sigma on each of D weights. Its
length is about sigma sqrt(D), far above C, so a test of lengths sees nothing of colluders who send one vector of that
length. But for any fixed direction v, the projection of an honest update on v is at most C + sigma N(0, 1). Two
updates are alike if each one's projection on the other's direction is beyond C + z sigma. For an honest person and N
others this happens with a probability of at most N Pr[N(0, 1) > z], whatever the others send and whatever the data are.

Updates without noise are alike by nature. So this is for ``ldp-fedavg`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flwr.app import Message

from devices.array_types import BoolArray
from devices.federated.wire import WEIGHTS
from devices.network import FloatArray

_AT_ONCE = 256  # updates that are compared with all others at once
_ROUNDING = 1.001  # weights are sent as floats


class AlikeUpdates:
    """Drops people whose updates are alike, from that round on.

    Args:
        clip: C, the largest length of an update before noise.
        sigma: Deviation of the noise on each weight.
        level: Probability that one honest update is dropped.
    """

    def __init__(self, clip: float, sigma: float, level: float) -> None:
        self.clip, self.sigma, self.level = clip, sigma, level
        self.dropped: set[int] = set()

    def __call__(self, weights: FloatArray, replies: Sequence[Message]) -> list[Message]:
        """Return the replies of a round without those of people whose updates are, or were, alike."""
        heard = [reply for reply in replies if reply.metadata.src_node_id not in self.dropped]
        sent = [reply for reply in heard if "arrays" in reply.content]
        if len(sent) < 2:
            return heard
        new = np.stack([reply.content.array_records["arrays"][WEIGHTS].numpy() for reply in sent])
        found = self.alike(new - weights)
        self.dropped |= {reply.metadata.src_node_id for reply, bad in zip(sent, found, strict=True) if bad}
        return [reply for reply in heard if reply.metadata.src_node_id not in self.dropped]

    def alike(self, updates: FloatArray) -> BoolArray:
        """bool (people,): whether an update, float (people, weights), is alike to another one."""
        from scipy.stats import norm  # imported where it is needed: the import takes as long as a small run

        people = len(updates)
        bound = _ROUNDING * (self.clip + float(norm.isf(self.level / (people - 1))) * self.sigma)
        lengths = np.maximum(np.linalg.norm(updates, axis=1), np.finfo(np.float32).tiny)
        found = np.zeros(people, np.bool_)
        for start in range(0, people, _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            products = updates[rows] @ updates.T
            # The smaller of the two projections is the product over the larger length.
            projections = products / np.maximum(lengths[rows][:, None], lengths[None])
            projections[np.arange(len(projections)), np.arange(start, start + len(projections))] = -np.inf
            found[rows] = projections.max(axis=1) > bound
        return found
