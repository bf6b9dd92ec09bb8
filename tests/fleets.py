"""Fleets and lone devices that tests ask."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.client_app import open_state
from ldpsim.devices.device import Device
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.policy.policy import Policy


def fleet_of(folder: Path, **settings: Any) -> Fleet:
    """Return a fleet for the devices of a folder, whose ledgers this process opens once."""
    return Fleet(open_state(str(folder), os.getpid()), **settings)


release_states = open_state.cache_clear


class SingleDeviceStore:
    """DeviceStore of one device with any record; the record is read where a report is drawn, and not before."""

    shard = 1024

    def __init__(self, index: int, record: Any, secret: bytes, policy: Policy, ledger: Ledger) -> None:
        self.lives_here = {index}
        self.policy = policy
        self.secrets = np.zeros((index + 1, 32), np.uint8)
        self.secrets[index] = np.frombuffer(secret, np.uint8)
        self._index, self._record, self._ledger = index, record, ledger

    @property
    def population(self) -> Any:
        record, n = self._record, self._index + 1
        ends = {name: np.zeros(n + 1, np.int64) for name in ("feature_indptr", "neighbour_indptr")}
        ends["feature_indptr"][n], ends["neighbour_indptr"][n] = len(record.feature_indices), len(record.neighbours)
        return SimpleNamespace(
            feature_indices=record.feature_indices, feature_values=record.feature_values,
            neighbour_indices=record.neighbours, labels=np.full(n, record.label, np.int64), **ends,
        )  # fmt: skip

    def ledger(self, index: int) -> Ledger:
        return self._ledger

    def seal_keys(self, devices: Sequence[int]) -> dict[int, bytes]:
        seal = (4).to_bytes(8, "little") + b"seal"
        return {device: hmac.digest(self.secrets[device].tobytes(), seal, "sha256") for device in devices}


class Untouchable:
    """A record that nobody may read."""

    def __getattr__(self, name: str) -> object:
        pytest.fail(f"{name} was read")


def lone_device(index: int, record: Any, secret: bytes, policy: Policy, ledger: Ledger) -> Device:
    """Return a device with any record, secret, policy and ledger."""
    return Device(index, SingleDeviceStore(index, record, secret, policy, ledger))
