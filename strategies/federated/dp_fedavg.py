"""DP-FedAvg: Flower's wrappers for central DP, with noise for the replies that arrived.

Paper: McMahan et al. 2018, https://arxiv.org/abs/1710.06963; adaptive clipping: Andrew et al.
2021, https://arxiv.org/abs/1905.03871.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    Strategy,
)

from ldpsim.curator.methods.federated.private import DPFedAvg
from ldpsim.curator.owner.teachers.randomness import derive
from ldpsim.devices.federated.wire import WEIGHTS, weights_record
from ldpsim.strategies.federated import fedavg
from ldpsim.strategies.federated.making import TrainingPlan
from ldpsim.strategies.rounds.server_state import ServerState, restore_state, state_of
from ldpsim.strategies.seeded import seeded

Aggregate = tuple[ArrayRecord | None, MetricRecord | None]


class _NoiseForReplies(Strategy):
    """Mixin for Flower's wrappers: noise for the number of replies, from a secret seed.

    Flower divides the noise by the number of sampled devices, but the sum of updates by the
    number of replies. If devices drop out, the noise is then too small for the mean. Here
    both numbers are the number of replies.

    Flower draws from numpy's global generator. Each round seeds it anew.
    """

    current_arrays: ArrayRecord
    num_sampled_clients: int
    strategy: Strategy
    noise_seed: int

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Clip, average and add noise; a round without replies is no release."""
        heard = [_moved(reply, self.current_arrays) for reply in replies]
        self.num_sampled_clients = len(heard)
        if not heard:
            return None, None
        with seeded(derive(self.noise_seed, "noise of the server", server_round)):
            return super().aggregate_train(server_round, heard)  # type: ignore[safe-super]

    def state(self) -> ServerState:
        """Return the state of the wrapped strategy."""
        return state_of(self.strategy)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the wrapped strategy."""
        restore_state(self.strategy, state)


class FixedClipping(_NoiseForReplies, DifferentialPrivacyServerSideFixedClipping):
    """Flower's wrapper for fixed clipping, with noise for the number of replies."""


class AdaptiveClipping(_NoiseForReplies, DifferentialPrivacyServerSideAdaptiveClipping):
    """Flower's wrapper for adaptive clipping, with noise for the number of replies. Its state is the clipping norm."""

    clipping_norm: float

    def state(self) -> ServerState:
        """Return the clipping norm, and the state of the wrapped strategy."""
        return {**super().state(), "clipping_norm": np.array(self.clipping_norm)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the clipping norm, and restore the wrapped strategy."""
        self.clipping_norm = float(state["clipping_norm"])
        super().restore({name: value for name, value in state.items() if name != "clipping_norm"})


def _moved(reply: Message, current: ArrayRecord) -> Message:
    """Move an update of exactly zero by 1e-6, because Flower divides by its norm.

    A saturated network can give a zero update. The clipping norm still bounds the moved one.
    """
    record = reply.content.array_records["arrays"]
    weights, before = record[WEIGHTS].numpy(), current[WEIGHTS].numpy()
    if not np.any(weights != before):
        weights = before.copy()
        weights[0] += max(1e-6, 1e-6 * abs(float(before[0])))
        reply.content["arrays"] = weights_record(weights)
    return reply


def make(method: DPFedAvg, plan: TrainingPlan) -> Strategy:
    """Return FedAvg or FedAdam with the clipping and the noise of a method."""
    sample = method.asked(plan.people).sample
    return private(fedavg.make(method, plan), method, multiplier=method.multiplier(plan.people, plan.budget),
                   sample=sample, noise_seed=plan.seed)  # fmt: skip


def private(strategy: Strategy, method: DPFedAvg, *, multiplier: float, sample: int, noise_seed: int) -> Strategy:
    """Return a strategy wrapped with the clipping and the noise of a method.

    Args:
        strategy: FedAvg.
        method: Decides the clipping.
        multiplier: Noise multiplier of the model and the clipping count together.
        sample: Number of devices that a round asks.
        noise_seed: Seed of the noise of all rounds.
    """
    wrapped: FixedClipping | AdaptiveClipping
    # In a small sample, the noise of the count is at least that of the whole release.
    spread = max(sample / 20, multiplier)
    if method.clipping == "fixed":
        wrapped = FixedClipping(strategy, multiplier, method.clip, sample)
    else:
        wrapped = AdaptiveClipping(strategy, multiplier, sample, initial_clipping_norm=method.clip,
                                   clipped_count_stddev=spread)  # fmt: skip
    wrapped.noise_seed = noise_seed
    return wrapped
