"""ChaCha20 under many keys at once, a few blocks each: the words that ``cryptography`` gives one key at a time.

Setting up a cipher costs as much as sixty blocks of its keystream. Where a device needs one or two blocks, it is
quicker to compute those of all devices together. All steps are additions, rotations and exclusive ors of whole
arrays, so the time depends on their size alone.

RFC 8439, section 2.3

HMAC-SHA256 under many keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import Words

_CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4")
_TURNS = tuple((np.uint32(left), np.uint32(32 - left)) for left in (16, 12, 8, 7))
_NEXT, _OPPOSITE, _BEFORE = [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]


def first_blocks(keys: bytes, nonce: bytes, blocks: int) -> Words:
    """uint32 (number of keys, 16 * blocks): the first words of the keystream under each key.

    Args:
        keys: The keys, 32 bytes each, joined.
        nonce: The block counter, 4 bytes, and the nonce, 12 bytes.
        blocks: Blocks of 16 words.

    >>> first_blocks(bytes(64), bytes(16), 1)[1, :2].tolist()
    [2917185654, 2419978656]
    """
    own = np.frombuffer(keys, "<u4").reshape(-1, 8)
    start = np.empty((4, 4, blocks, len(own)), np.uint32)
    start[0] = _CONSTANTS[:, None, None]
    start[1:3] = own.T.reshape(2, 4, 1, -1)
    start[3] = np.frombuffer(nonce, "<u4")[:, None, None]
    start[3, 0] += np.arange(blocks, dtype=np.uint32)[:, None]
    a, b, c, d = (row.copy() for row in start)
    spare = np.empty_like(a)
    for _ in range(10):
        _quarter_rounds(a, b, c, d, spare)
        b, c, d = b[_NEXT], c[_OPPOSITE], d[_BEFORE]
        _quarter_rounds(a, b, c, d, spare)
        b, c, d = b[_BEFORE], c[_OPPOSITE], d[_NEXT]
    start += np.stack((a, b, c, d))
    return np.ascontiguousarray(start.transpose(3, 2, 0, 1)).reshape(len(own), -1)


def _quarter_rounds(a: Words, b: Words, c: Words, d: Words, spare: Words) -> None:
    """Do four quarter rounds on each state, one in each place of the first axis."""
    for turn, (one, two, three) in enumerate(((a, b, d), (c, d, b), (a, b, d), (c, d, b))):
        left, right = _TURNS[turn]
        one += two
        three ^= one
        np.right_shift(three, right, out=spare)
        np.left_shift(three, left, out=three)
        three |= spare


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
