"""Audit of the devices' noise stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpsim.curator.attacks.mechanism_audit import AuditRow, Stream


def audit_stream(stream: Stream) -> list[AuditRow]:
    """Audit the noise stream: a trial of threshold t must succeed for exactly t of the 2**64 numbers.

    The stream's raw words are chosen, so that bisection finds the number at which the trial
    fails. ``exact`` is the largest distance from t, divided by 2**64.
    """
    worst = 0
    for threshold in (1, 12345, 1 << 32, (1 << 40) + 1, 4961005494120964907, (1 << 63) - 1, (1 << 64) - 1):
        for many in (False, True):
            worst = max(worst, abs(_turn(stream, threshold, many) - threshold))
    return [AuditRow("noise stream", "law", 0.0, worst / 2.0**64, None, 1.0, 0, worst == 0,
                     "thresholds, by bisection of the 64-bit numbers")]  # fmt: skip


def _turn(stream: Stream, threshold: int, many: bool) -> int:
    """Return for how many 64-bit numbers a trial succeeds, given that it succeeds for the smaller ones."""

    def succeeds(number: int) -> bool:
        halves = iter([number >> 32, number & 0xFFFFFFFF])
        chosen = {"__slots__": (), "_draw": lambda noise, lane, size: np.full(size, next(halves), np.uint32)}
        noise = type("Chosen", (type(stream(bytes(32))),), chosen)(bytes(32))
        asked: Any = np.array([threshold], np.uint64) if many else threshold
        return bool(noise.bernoulli(asked, 1)[0])

    low, high = -1, 1 << 64  # succeeds at low, fails at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if succeeds(middle) else (low, middle)
    return low + 1
