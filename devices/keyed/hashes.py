"""HMAC-SHA256 under many keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_INNER_PAD, _OUTER_PAD = np.uint8(0x36), np.uint8(0x5C)  # RFC 2104


class KeyedHashes:
    """HMAC-SHA256 under many keys of 32 bytes; the states after both pads of a key are computed once.

    Args:
        keys: uint8 (number of keys, 32).

    >>> import hmac
    >>> secrets = np.arange(64, dtype=np.uint8).reshape(2, 32)
    >>> KeyedHashes(secrets).macs([b"seal"] * 2)[1] == hmac.digest(secrets[1].tobytes(), b"seal", "sha256")
    True
    """

    def __init__(self, keys: NDArray[np.uint8]) -> None:
        blocks = np.zeros((len(keys), 64), np.uint8)
        blocks[:, : keys.shape[1]] = keys
        self._states = [
            (hashlib.sha256(inner.tobytes()), hashlib.sha256(outer.tobytes()))
            for inner, outer in zip(blocks ^ _INNER_PAD, blocks ^ _OUTER_PAD, strict=True)
        ]

    def macs(self, messages: Iterable[bytes]) -> list[bytes]:
        """Return the HMAC of a message under each key."""
        found = []
        for (inner, outer), message in zip(self._states, messages, strict=True):
            first, second = inner.copy(), outer.copy()
            first.update(message)
            second.update(first.digest())
            found.append(second.digest())
        return found
