"""Mechanisms work on batches; tests about one value and one report are batches of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpsim.devices.mechanisms import AdjacencyBits, ClearFeatures, Mechanism, MultiBit, Window
from ldpsim.devices.mechanisms.sparse_batch import SparseBatch
from ldpsim.devices.noise import Noise


def batch(mechanism: Mechanism, *rows: Any) -> Any:
    """Return values, or reports, as the mechanism takes them."""
    sparse = isinstance(mechanism, AdjacencyBits | MultiBit | Window | ClearFeatures)
    return SparseBatch.of([np.asarray(row) for row in rows]) if sparse else np.array(rows)


def encoded(mechanism: Mechanism, report: Any, device: int = 0) -> bytes:
    return mechanism.encode(batch(mechanism, report), np.array([device]))[0]


def drawn(mechanism: Mechanism, value: Any, noise: Any) -> Any:
    values = batch(mechanism, value) if isinstance(mechanism, AdjacencyBits | ClearFeatures) else np.array([value])
    return mechanism.draw(values, noise)[0]


def respond(mechanism: Mechanism, record: Any, key: bytes, device: int, *, stream: int = 0) -> bytes:
    return mechanism.respond([record], Noise([key], stream), devices=[device])[0]
