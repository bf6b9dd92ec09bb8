"""The only source of randomness on a device.

Key = HMAC-SHA256(secret, fingerprint || keyed data digest); keystream = ChaCha20 under
that key. The same question about the same data therefore gives the same report even
when the ledger is lost; another question, or other data, gives independent noise. Both
must be in the key: common noise across budgets would make some answers impossible
(infinite loss), and two reports of changed data under one noise could be subtracted.

A Bernoulli trial compares 64 random bits with a threshold. The upper 32 bits decide,
except on a tie (one in 2**32), when the lower 32 come from a second keystream; the
answer is that of the full 64-bit comparison.

Statement: exact for ideal uniform noise; computational through ChaCha20 and HMAC. What each
method draws from a key never changes. A mechanism that draws in another way says so with
its sampler version (:attr:`ldpsim.devices.mechanisms.base.Mechanism.sampler`).
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray, IntArray, Words

_LOW, _HIGH = 0, 1
AT_ONCE = 1 << 17  # words of many streams; 512 KiB of them stay in a core's cache
_WORD = np.dtype("<u4")
_LOWER, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
# ChaCha20's initial block counter, then twelve bytes that name the stream and its lane.
_NONCE = struct.Struct("<4xII4x").pack
_LENGTH = struct.Struct("<Q").pack
# From so many streams on, and up to so many blocks of each, it is quicker to compute all keystreams together.
_MANY, _FEW_BLOCKS = 64, 8
# What is enciphered to get the keystream itself, kept so that a draw need not clear memory first.
_ZEROS = memoryview(bytes(1 << 16))


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


def _blank(words: int) -> bytes | memoryview:
    return _ZEROS[: 4 * words] if 4 * words <= len(_ZEROS) else bytes(4 * words)


class NoiseStream:
    """Random draws under one 32-byte key, in order.

    Args:
        key: 32 bytes from :func:`derive_key`.
        stream: Number of the key's independent stream; one mechanism of a question uses one.

    >>> noise = NoiseStream(derive_key(bytes(32), b"question"))
    >>> noise.uniform_integers(10, 5).tolist(), noise.bernoulli(1 << 63, 4).tolist()
    ([4, 9, 0, 8, 2], [False, True, False, True])
    """

    __slots__ = ("_lanes", "_words", "key", "number")

    def __init__(self, key: bytes, stream: int = 0) -> None:
        self.key = key
        self.number = stream
        self._words = [0, 0]
        self._lanes: list[CipherContext | None] = [None, None]

    def _keystream(self, lane: int) -> CipherContext:
        """Return a lane's keystream from its beginning."""
        return Cipher(algorithms.ChaCha20(self.key, _NONCE(self.number, lane)), mode=None).encryptor()

    def _draw(self, lane: int, size: int) -> NDArray[np.uint32]:
        keystream = self._lanes[lane]
        if keystream is None:
            keystream = self._lanes[lane] = self._keystream(lane)
        self._words[lane] += size
        return np.frombuffer(keystream.update(_blank(size)), _WORD)

    def first_words(self, size: int) -> bytes:
        """Return the first ``size`` words that draws would take, 32 bits each, little-endian; none is taken."""
        return self._keystream(_HIGH).update(_blank(size))

    def skip(self, size: int) -> None:
        """Leave out ``size`` words, which were drawn elsewhere (:class:`Noise`)."""
        if size:
            self._draw(_HIGH, size)

    def bernoulli(self, threshold: int | NDArray[np.uint64], size: int) -> BoolArray:
        """Return ``size`` trials with probability threshold / 2**64 (one threshold, or one each).

        Raises:
            ValueError: for a threshold of 0 or of 2**64 and beyond: no noise at all.
        """
        if isinstance(threshold, int) and not 0 < threshold < 1 << 64:
            raise ValueError(f"a threshold of {threshold} draws no noise")
        limits = np.atleast_1d(np.asarray(threshold, np.uint64))
        if not limits.all():
            raise ValueError("a threshold of 0 draws no noise")
        high, tops = self._draw(_HIGH, size), (limits >> _HALF).astype(np.uint32)
        result, tie = high < tops, high == tops
        if tie.any():
            rest = np.broadcast_to(limits & _LOWER, size)
            result[tie] = self._lower(size)[tie] < rest[tie]
        return result

    def _lower(self, size: int) -> NDArray[np.uint32]:
        # The lower words of the last `size` upper ones: skip those that never were needed.
        behind = self._words[_HIGH] - size - self._words[_LOW]
        if behind > 0:
            self._draw(_LOW, behind)
        return self._draw(_LOW, size)

    def bernoulli_by_bytes(self, threshold: int, size: int) -> BoolArray:
        """Return ``size`` trials with probability threshold / 2**64, from a quarter of the words.

        The first 8 of 64 random bits decide, except on a tie (one in 256). All further bits of the ties follow
        those of all trials.

        Raises:
            ValueError: for a threshold of 0 or of 2**64 and beyond.
        """
        if not 0 < threshold < 1 << 64:
            raise ValueError(f"a threshold of {threshold} draws no noise")
        first = self._draw(_HIGH, (size + 3) // 4).view(np.uint8)[:size]
        top = np.uint8(threshold >> 56)
        result = first < top
        ties = np.flatnonzero(first == top)
        if len(ties):
            result[ties] = self.words(len(ties)) >> np.uint64(8) < np.uint64(threshold & (1 << 56) - 1)
        return result

    def uniform_integer(self, bound: int) -> int:
        """Return a uniform integer 0 .. bound - 1 without modulo bias (rejection).

        Raises:
            ValueError: for a bound outside 1 .. 2**32.
        """
        if not 1 <= bound <= 1 << 32:
            raise ValueError(f"the bound of a uniform integer must lie in 1..2**32, not {bound}")
        limit = (1 << 32) - (1 << 32) % bound
        while True:
            word = int(self._draw(_HIGH, 1)[0])
            if word < limit:
                return word % bound

    def uniform_integers(self, bound: int | NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Return ``size`` independent uniform integers 0 .. bound - 1 (one bound, or one each).

        Without modulo bias: words beyond the last whole multiple of the bound are drawn again.

        Raises:
            ValueError: for a bound outside 1 .. 2**32.
        """
        if isinstance(bound, int):
            least = most = bound
        else:
            least, most = (bound.min(), bound.max()) if size else (1, 1)
        if not 1 <= least <= most <= 1 << 32:
            raise ValueError("the bounds of uniform integers must lie in 1..2**32")
        words = self._draw(_HIGH, size).astype(np.int64)
        limits = (1 << 32) - (1 << 32) % bound
        beyond = words >= limits
        while beyond.any():
            words[beyond] = self._draw(_HIGH, int(beyond.sum()))
            beyond &= words >= limits
        return words % bound

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return ``size`` independent uniform 64-bit integers."""
        halves = self._draw(_HIGH, 2 * size).astype(np.uint64)
        return halves[::2] << np.uint64(32) | halves[1::2]

    def word(self) -> int:
        """Return a uniform 64-bit integer."""
        high, low = self._draw(_HIGH, 2).tolist()
        return int(high << 32 | low)

    def distinct_integers(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return a uniform subset of 0 .. bound - 1 with ``size`` numbers, sorted.

        A word w gives the number w * bound // 2**32; the few words that would make some numbers more likely are
        dropped (Lemire 2019). The subset is the first ``size`` different numbers.

        Raises:
            ValueError: for a bound above 2**32, or more numbers than there are.
        """
        if not 0 <= size <= bound <= 1 << 32:
            raise ValueError(f"there is no subset of {size} numbers below {bound}")
        unfair = np.uint64((1 << 32) % bound if bound else 0)
        subset = np.zeros(0, np.int64)
        while len(subset) < size:
            products = self._draw(_HIGH, size - len(subset)) * np.uint64(bound)
            fair = (products & _LOWER) >= unfair
            numbers = ((products if fair.all() else products[fair]) >> _HALF).view(np.int64)
            subset = np.concatenate((subset, numbers)) if len(subset) else numbers
            subset.sort()
            fresh = subset[1:] != subset[:-1]
            if not fresh.all():
                subset = np.concatenate((subset[:1], subset[1:][fresh]))
        return subset


class Noise:
    """Draws of several devices about one question, a row for each; one device is a batch of one.

    Rows are computed together. A row that needs further words (a tie with a threshold, a word beyond the last whole
    multiple of a bound) goes on with its own stream. Noise alone decides that.

    Args:
        keys: The key of each device, 32 bytes (:func:`derive_key`).
        stream: Number of the keys' independent stream; one mechanism of a question uses one.

    >>> noise = Noise([derive_key(bytes(32), b"question")])
    >>> noise.uniform_integers(10, 5).tolist(), noise.bernoulli(1 << 63, 4).tolist()
    ([[4, 9, 0, 8, 2]], [[False, True, False, True]])
    """

    def __init__(self, keys: Sequence[bytes], stream: int = 0) -> None:
        self._keys, self._stream = keys, stream
        self.streams = [NoiseStream(key, stream) for key in keys]
        self._words = np.zeros((len(keys), 0), np.uint32)
        self._taken = 0
        self._alone: set[int] = set()  # rows that draw from their own stream

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, part: slice) -> Noise:
        """Return the noise of some of the devices, from its beginning."""
        return Noise(self._keys[part], self._stream)

    def first_words(self, size: int) -> Words:
        """uint32 (devices, size): the first words of each; none is taken."""
        return joined_words(self.streams, size)

    def _own(self, row: int) -> NoiseStream:
        """Return the stream of one device, at the words that it takes next."""
        if row not in self._alone:
            self.streams[row].skip(self._taken)
            self._alone.add(row)
        return self.streams[row]

    def _each(
        self,
        size: int,
        together: Callable[[Words], tuple[NDArray[Any], BoolArray]],
        alone: Callable[[int, NoiseStream], NDArray[Any]],
    ) -> NDArray[Any]:
        """Return a draw of ``size`` words, (devices, ...).

        Args:
            size: Words of each device.
            together: Returns the draws from words (devices, size), and where they need further words, of that shape.
            alone: Returns one row's draw from its stream.
        """
        end = self._taken + size
        if end > self._words.shape[1]:
            self._words = joined_words(self.streams, end)
        draws, odd = together(self._words[:, self._taken : end])
        for row in self._alone.union(np.flatnonzero(odd.any(axis=1)).tolist() if odd.any() else ()):
            draws[row] = alone(row, self._own(row))
        self._taken = end
        return draws

    def bernoulli(self, threshold: int | NDArray[np.uint64], size: int) -> BoolArray:
        """bool (devices, size): trials with probability threshold / 2**64, one threshold or one for each trial.

        Raises:
            ValueError: for a threshold of 0 or of 2**64 and beyond: no noise at all.
        """
        if isinstance(threshold, int) and not 0 < threshold < 1 << 64:
            raise ValueError(f"a threshold of {threshold} draws no noise")
        limits = np.broadcast_to(np.asarray(threshold, np.uint64), (len(self), size))
        if not limits.all():
            raise ValueError("a threshold of 0 draws no noise")
        tops = threshold >> 32 if isinstance(threshold, int) else limits >> _HALF

        def alone(row: int, own: NoiseStream) -> BoolArray:
            return own.bernoulli(threshold if isinstance(threshold, int) else limits[row], size)

        return self._each(size, lambda words: (words < tops, words == tops), alone)

    def bernoulli_by_bytes(self, threshold: int, sizes: IntArray) -> BoolArray:
        """bool (devices, largest size): so many trials of each, from a quarter of the words; False beyond its size.

        The first 8 of 64 random bits decide, except on a tie (one in 256).

        Raises:
            ValueError: for a threshold of 0 or of 2**64 and beyond.
        """
        trials = np.zeros((len(self), int(sizes.max(initial=0))), np.bool_)
        for row, size in enumerate(sizes.tolist()):
            trials[row, :size] = self._own(row).bernoulli_by_bytes(threshold, size)
        return trials

    def uniform_integers(self, bound: int | NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """int64 (devices, size): uniform integers 0 .. bound - 1 without modulo bias, one bound or one for each.

        Raises:
            ValueError: for a bound outside 1 .. 2**32.
        """
        bounds = np.broadcast_to(np.asarray(bound, np.int64), (len(self), size))
        if size and not 1 <= bounds.min(initial=1) <= bounds.max(initial=1) <= 1 << 32:
            raise ValueError("the bounds of uniform integers must lie in 1..2**32")

        def together(words: Words) -> tuple[NDArray[np.int64], BoolArray]:
            integers = words.astype(np.int64)
            return integers % bounds, integers >= (1 << 32) - (1 << 32) % bounds

        return self._each(size, together, lambda row, own: own.uniform_integers(bounds[row], size))

    def words(self, size: int) -> NDArray[np.uint64]:
        """uint64 (devices, size): uniform 64-bit integers."""

        def together(words: Words) -> tuple[NDArray[np.uint64], BoolArray]:
            halves = words.astype(np.uint64)
            return halves[:, ::2] << _HALF | halves[:, 1::2], np.zeros((len(self), 1), np.bool_)

        return self._each(2 * size, together, lambda row, own: own.words(size))

    def further(self, row: int) -> Callable[[], int]:
        """Return what draws one more uniform 64-bit integer of one device, as often as it is called."""
        return self._own(row).word


def joined_words(streams: Sequence[NoiseStream], size: int) -> Words:
    """uint32 (streams, size): the first words of each stream."""
    first, blocks = streams[0], -(-size // 16)
    alike = {(type(stream), stream.number) for stream in streams} == {(NoiseStream, first.number)}
    if alike and len(streams) >= _MANY and blocks <= _FEW_BLOCKS:  # a class of its own may draw in another way
        keys = b"".join([stream.key for stream in streams])
        return first_blocks(keys, _NONCE(first.number, _HIGH), blocks)[:, :size]
    words = b"".join([stream.first_words(size) for stream in streams])
    return np.frombuffer(words, _WORD).reshape(len(streams), size)


# ChaCha20 (RFC 8439, section 2.3) under many keys at once, a few blocks each. Setting up a cipher costs as much as 60
# blocks of its keystream. All steps are additions, rotations and exclusive ors of whole arrays.
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
        macs = []
        for (inner, outer), message in zip(self._states, messages, strict=True):
            first, second = inner.copy(), outer.copy()
            first.update(message)
            second.update(first.digest())
            macs.append(second.digest())
        return macs
