"""The only source of randomness on a device.

Key = HMAC-SHA256(secret, fingerprint || keyed data digest). The same question about the same data therefore gives the
same report even when the ledger is lost; another question, or other data, gives independent noise. Both must be in the
key: common noise across budgets would make some answers impossible (infinite loss), and two reports of changed data
under one noise could be subtracted.

The key's noise is blocks of SHAKE-256 (FIPS 202),

    block = SHAKE-256(tag || key || stream || draw || number),

where tag is 16 bytes, key 32, and stream (the mechanism's place in its question), draw (its draws are counted from 0)
and number are little-endian, 4, 4 and 8 bytes. Block 0 of a draw has 16, 32 or 64 bits for each trial, in order.
Block 1 + i has what trial i needs beyond that: the other 48 bits where the first 16 tie with a threshold, and the next
words where a word is rejected. So a trial depends neither on other trials nor on other devices, and nothing is squeezed
that is not needed: a shorter digest is a prefix of a longer one. It is SHAKE-256 and not SHAKE-128 because keys have
256 bits, and statements are about as many; up to 34 words both cost the same.

Statement: exact for ideal uniform noise; computational through SHAKE-256 and HMAC. What each method draws from a key
never changes. A mechanism that draws in another way says so with its sampler version
(:attr:`ldpsim.devices.mechanisms.mechanism.Mechanism.sampler`).
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray, IntArray

AT_ONCE = 1 << 17  # numbers that are held for a batch; they stay in a core's cache
_TAG = b"ldpsim noise 256"
_PLACE = struct.Struct("<IIQ").pack  # stream, draw, number of the block
_LENGTH = struct.Struct("<Q").pack
_FIRST, _REST = np.uint64(48), np.uint64((1 << 48) - 1)
_AGAIN = 8  # further words that are squeezed together


def derive_key(secret: bytes, *parts: bytes) -> bytes:
    """HMAC-SHA256(secret, parts), each part preceded by its length so that no two lists collide."""
    return hmac.digest(secret, key_message(*parts), "sha256")


def key_message(*parts: bytes) -> bytes:
    """Return the message whose HMAC under a secret is :func:`derive_key`.

    That of more parts is the messages of both halves, joined.
    """
    if len(parts) == 1:  # most messages, by far
        return _LENGTH(len(parts[0])) + parts[0]
    return b"".join([piece for part in parts for piece in (_LENGTH(len(part)), part)])


class Noise:
    """Draws of several devices about one question, a row for each; one device is a batch of one.

    Args:
        keys: The key of each device, 32 bytes (:func:`derive_key`).
        stream: Number of the keys' independent stream; one mechanism of a question uses one.

    >>> noise = Noise([derive_key(bytes(32), b"question")])
    >>> noise.uniform_integers(10, 5).tolist(), noise.bernoulli(1 << 63, 4).tolist()
    ([[2, 8, 5, 9, 9]], [[True, False, True, False]])
    """

    def __init__(self, keys: Sequence[bytes], stream: int = 0) -> None:
        self._keys, self._stream = keys, stream
        self._draws = 0

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, part: slice) -> Noise:
        """Return the noise of some of the devices, from its beginning."""
        return Noise(self._keys[part], self._stream)

    def next_draw(self) -> NoiseDraw:
        """Return the next draw of all devices."""
        self._draws += 1
        return NoiseDraw(self, self._draws - 1)

    def squeeze(self, draw: int, number: int, size: int, rows: Iterable[int] | None = None) -> bytes:
        """Return the first ``size`` bytes of this block of each of these rows (None: of all), joined."""
        place = _PLACE(self._stream, draw, number)
        keys = self._keys if rows is None else [self._keys[row] for row in rows]
        return b"".join([hashlib.shake_256(_TAG + key + place).digest(size) for key in keys])

    def bernoulli(self, threshold: int | NDArray[np.uint64], size: int) -> BoolArray:
        """bool (devices, size): trials with probability threshold / 2**64, one threshold or one for each trial.

        The first 16 of 64 random bits decide, except on a tie (one in 65,536).

        Raises:
            ValueError: for a threshold of 0 or of 2**64 and beyond: no noise at all.
        """
        if isinstance(threshold, int) and not 0 < threshold < 1 << 64:
            raise ValueError(f"a threshold of {threshold} draws no noise")
        limits = np.asarray(threshold, np.uint64)
        if not limits.all():
            raise ValueError("a threshold of 0 draws no noise")
        draw = self.next_draw()
        first, tops = draw.numbers(size, 2), (limits >> _FIRST).astype(np.uint16)
        result = first < tops
        rows, trials = _places(first == tops)
        rest = np.broadcast_to(limits & _REST, result.shape)[rows, trials]
        result[rows, trials] = draw.further(rows, trials) & _REST < rest
        return result

    def uniform_integers(self, bound: int | NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """int64 (devices, size): uniform integers 0 .. bound - 1, one bound or one for each trial.

        Without modulo bias: a word beyond the last whole multiple of the bound gives way to the trial's next one.

        Raises:
            ValueError: for a bound outside 1 .. 2**32.
        """
        bounds = np.broadcast_to(np.asarray(bound, np.int64), (len(self), size))
        if not 1 <= bounds.min(initial=1) <= bounds.max(initial=1) <= 1 << 32:
            raise ValueError("the bounds of uniform integers must lie in 1..2**32")
        draw = self.next_draw()
        words = draw.numbers(size, 4).astype(np.int64)
        limits = (1 << 32) - (1 << 32) % bounds
        for row, trial in zip(*_places(words >= limits), strict=True):
            words[row, trial] = next(word for word in draw.words_of(row, trial, 4) if word < limits[row, trial])
        return words % bounds


def _places(trials: BoolArray) -> tuple[IntArray, IntArray]:
    """Return rows and columns of the ones of an array; ``np.nonzero`` takes ten times as long where they are few."""
    rows, columns = np.divmod(np.flatnonzero(trials), max(1, trials.shape[1]))
    return rows, columns


class NoiseDraw:
    """One draw of all devices: numbers of each trial, and what a trial needs beyond them.

    Args:
        noise: The devices' noise.
        number: Number of the draw.
    """

    def __init__(self, noise: Noise, number: int) -> None:
        self._noise, self._number = noise, number

    def numbers(self, size: int, octets: int, rows: IntArray | None = None) -> NDArray[Any]:
        """Return unsigned integers of so many bytes, (rows, size), of these devices (None: of all).

        Fewer are a prefix of more.
        """
        data = self._noise.squeeze(self._number, 0, size * octets, None if rows is None else rows.tolist())
        return np.frombuffer(data, f"<u{octets}").reshape(len(self._noise) if rows is None else len(rows), size)

    def further(self, rows: IntArray, trials: IntArray) -> NDArray[np.uint64]:
        """Return the first 64 bits of what each of these trials needs beyond its number."""
        places = zip(rows.tolist(), trials.tolist(), strict=True)
        data = [self._noise.squeeze(self._number, 1 + trial, 8, (row,)) for row, trial in places]
        return np.frombuffer(b"".join(data), "<u8")

    def words_of(self, row: int, trial: int, octets: int) -> Iterator[int]:
        """Yield what a trial of one device needs beyond its number, as integers of so many bytes."""
        for end in count(_AGAIN, _AGAIN):
            data = self._noise.squeeze(self._number, 1 + trial, octets * end, (row,))
            for first in range(octets * (end - _AGAIN), octets * end, octets):
                yield int.from_bytes(data[first : first + octets], "little")


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
        macs = []
        for (inner, outer), message in zip(self._states, messages, strict=True):
            first, second = inner.copy(), outer.copy()
            first.update(message)
            second.update(first.digest())
            macs.append(second.digest())
        return macs
