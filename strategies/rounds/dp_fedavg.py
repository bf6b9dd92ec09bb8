"""Flower's central DP wrappers, with the noise of the replies that really came."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    Strategy,
)

from curator.methods.federated.private import DPFedAvg
from devices.federated.wire import WEIGHTS, weights_record

Aggregate = tuple[ArrayRecord | None, MetricRecord | None]


class FixedClipping(DifferentialPrivacyServerSideFixedClipping):
    """Flower's wrapper for fixed clipping.

    Flower scales the noise by the devices that were sampled and the mean by those that
    replied: where some drop out, the mean moves more than the noise allows for. Here both
    are those that replied.
    """

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Clip, average and add noise; a round without replies is no release."""
        heard = list(replies)
        if not heard:
            return None, None
        self.num_sampled_clients = len(heard)
        return super().aggregate_train(server_round, [_moved(reply, self.current_arrays) for reply in heard])


class AdaptiveClipping(DifferentialPrivacyServerSideAdaptiveClipping):
    """Flower's wrapper for adaptive clipping, likewise."""

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Clip, average and add noise; a round without replies is no release."""
        heard = list(replies)
        if not heard:
            return None, None
        self.num_sampled_clients = len(heard)
        return super().aggregate_train(server_round, [_moved(reply, self.current_arrays) for reply in heard])


def _moved(reply: Message, current: ArrayRecord) -> Message:
    """Move an update of exactly zero by 1e-6: Flower divides by its norm.

    A saturated network learns nothing from a device. The clipping norm still bounds what is added.
    """
    record = reply.content.array_records["arrays"]
    weights, before = record[WEIGHTS].numpy(), current[WEIGHTS].numpy()
    if not np.any(weights != before):
        weights = before.copy()
        weights[0] += max(1e-6, 1e-6 * abs(float(before[0])))
        reply.content["arrays"] = weights_record(weights)
    return reply


def private(strategy: Strategy, method: DPFedAvg, *, multiplier: float, sample: int) -> Strategy:
    """Wrap a strategy for a method.

    Args:
        strategy: FedAvg.
        method: Which clipping.
        multiplier: The noise multiplier of model and clipping count together.
        sample: How many devices a round asks.
    """
    if method.clipping == "fixed":
        return FixedClipping(strategy, multiplier, method.clip, sample)
    # Of a small sample the count needs the noise that the whole has at least.
    spread = max(sample / 20, multiplier)
    return AdaptiveClipping(strategy, multiplier, sample, initial_clipping_norm=method.clip,
                            clipped_count_stddev=spread)  # fmt: skip
