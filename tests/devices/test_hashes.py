"""Hashes under many keys are those of Python's own hmac."""

from __future__ import annotations

import hmac

import numpy as np
import pytest

from ldpsim.devices.noise import KeyedHashes


def test_hashes_under_many_keys_are_hmacs() -> None:
    keys = np.random.default_rng(1).integers(0, 256, (5, 32), np.uint8)
    hashes = KeyedHashes(keys)
    for message in (b"", b"a", bytes(63), bytes(64), bytes(1000)):
        wanted = [hmac.digest(key.tobytes(), message, "sha256") for key in keys]
        assert hashes.macs([message] * len(keys)) == wanted
    with pytest.raises(ValueError, match="shorter"):
        hashes.macs([b""])
