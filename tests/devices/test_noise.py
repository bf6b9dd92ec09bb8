"""The stream of docs/guarantees.md by hashlib alone; trials against plain 64-bit comparisons; keyed hashes."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from itertools import islice

import numpy as np
import pytest

from ldpsim.devices.noise import KeyedHashes, Noise, derive_key

KEY = bytes(range(32))
KEYS = [KEY, bytes(32), KEY[::-1]]
ONE = 1 << 64
VECTORS = ("218c1762ff460901", "4e662123354f00c2")  # block 0 of zeros alone; key 00 .. 1f, stream 1, draw 2, block 3


def block(key: bytes, stream: int, draw: int, number: int, size: int) -> bytes:
    """The definition of docs/guarantees.md."""
    place = stream.to_bytes(4, "little") + draw.to_bytes(4, "little") + number.to_bytes(8, "little")
    return hashlib.shake_256(b"ldpsim noise 256" + key + place).digest(size)


def words(key: bytes, stream: int, draw: int, number: int, size: int, width: int = 4) -> list[int]:
    data = block(key, stream, draw, number, width * size)
    return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]


def number_of(key: bytes, draw: int, trial: int) -> int:
    """The 64-bit number of a trial that is compared with a threshold."""
    (first,), (rest,) = words(key, 0, draw, 0, trial + 1, 2)[trial:], words(key, 0, draw, 1 + trial, 1, 8)
    return first << 48 | rest & (1 << 48) - 1


def test_the_first_bytes_are_those_of_hashlib() -> None:
    assert block(bytes(32), 0, 0, 0, 8).hex() == VECTORS[0]
    assert block(KEY, 1, 2, 3, 8).hex() == VECTORS[1]
    noise = Noise([KEY], 1)
    for _ in range(2):
        noise.next_draw()
    draw = noise.next_draw()
    assert draw.further(np.array([0]), np.array([2])).tobytes().hex() == VECTORS[1]
    assert draw.numbers(5, 4).tolist() == [words(KEY, 1, 2, 0, 5)] == draw.numbers(9, 4)[:, :5].tolist()
    assert draw.numbers(5, 8).tolist() == [words(KEY, 1, 2, 0, 5, 8)]
    assert list(islice(draw.words_of(0, 6, 8), 20)) == words(KEY, 1, 2, 7, 20, 8)


@pytest.mark.parametrize(
    "threshold", [1, 1 << 31, 1 << 47, (1 << 48) - 1, 1 << 48, (1 << 48) + 1, 1 << 62, ONE // 3, ONE - 1]
)
def test_one_threshold_is_a_64_bit_comparison(threshold: int) -> None:
    noise = Noise(KEYS)
    for draw, size in enumerate((0, 1, 700)):
        drawn = noise.bernoulli(threshold, size)
        assert drawn.shape == (3, size)
        assert drawn.tolist() == [[number_of(key, draw, trial) < threshold for trial in range(size)] for key in KEYS]


def test_a_threshold_for_each_is_a_64_bit_comparison() -> None:
    limits = np.random.default_rng(0).integers(1, ONE, (3, 200), dtype=np.uint64, endpoint=False)
    noise = Noise(KEYS)
    for draw, given in enumerate((limits, limits[0])):
        wanted = [[number_of(key, draw, i) < int(t) for i, t in enumerate(np.broadcast_to(given, (3, 200))[row])]
                  for row, key in enumerate(KEYS)]  # fmt: skip
        assert noise.bernoulli(given, 200).tolist() == wanted


@pytest.mark.parametrize("offset", [-1, 0, 1])
@pytest.mark.parametrize("trial", [0, 7, 199])
def test_ties_are_decided_by_further_bits(trial: int, offset: int) -> None:
    """A threshold next to the number that is drawn: its first bits tie."""
    threshold = number_of(KEY, 0, trial) + offset
    for given in (threshold, np.full(200, threshold, np.uint64)):
        assert Noise([bytes(32), KEY]).bernoulli(given, 200)[1, trial] == (offset == 1)
    # The broken variant that compares the first bits alone is wrong at exactly this place.
    assert number_of(KEY, 0, trial) >> 48 == number_of(KEY, 0, trial) + offset >> 48


def test_draws_streams_and_devices_are_independent_inputs() -> None:
    noise = Noise(KEYS)
    drawn = [noise.bernoulli(1 << 63, 256), noise.bernoulli(1 << 63, 256), Noise(KEYS, 1).bernoulli(1 << 63, 256)]
    assert len({row.tobytes() for rows in drawn for row in rows}) == 9
    assert np.array_equal(Noise(KEYS)[1:].bernoulli(1 << 63, 256), drawn[0][1:])
    assert np.array_equal(Noise(KEYS[2:]).bernoulli(1 << 63, 100), drawn[0][2:, :100])


@pytest.mark.parametrize("threshold", [0, -1, ONE, ONE + 1])
def test_a_threshold_that_draws_no_noise_is_refused(threshold: int) -> None:
    with pytest.raises(ValueError, match=r"\Aa threshold of -?\d+ draws no noise\Z"):
        Noise([KEY]).bernoulli(threshold, 3)
    with pytest.raises(ValueError, match="a threshold of 0 draws no noise"):
        Noise([KEY]).bernoulli(np.zeros(1, np.uint64), 3)


class Forced(Noise):
    """Noise whose first words are given, and the further ones of all trials."""

    def __init__(self, first: list[int], further: list[int] | None = None) -> None:
        super().__init__([KEY])
        self.first, self.more = first, further or []

    def squeeze(self, draw: int, number: int, size: int, rows: Iterable[int] | None = None) -> bytes:
        given = self.more if number else self.first
        return np.array([*given, *[0] * size], "<u4").tobytes()[:size]


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 7, 39, 65535, (1 << 31) + 1, (1 << 32) - 1, 1 << 32])
def test_uniform_integers_have_no_modulo_bias(bound: int) -> None:
    """The words that are kept are 0 .. limit - 1 with limit a multiple of the bound: every residue equally often."""
    limit = (1 << 32) // bound * bound
    assert limit % bound == 0 and (1 << 32) - limit < bound
    drawn = Forced([limit - 1, 0, bound // 2]).uniform_integers(bound, 3)
    assert drawn.tolist() == [[bound - 1, 0, bound // 2]]
    if limit < 1 << 32:  # both beyond the limit give way to the trial's next word
        most = (1 << 32) - 1
        assert Forced([limit, 7], [most, limit, 5]).uniform_integers(bound, 2).tolist() == [[5 % bound, 7 % bound]]
        assert Forced([limit], [most] * 20 + [5]).uniform_integers(bound, 1).tolist() == [[5 % bound]]


def test_bounds_of_uniform_integers() -> None:
    for bound in (0, (1 << 32) + 1, np.array([3, 0])):
        with pytest.raises(ValueError, match="bounds of uniform integers"):
            Noise([KEY]).uniform_integers(bound, 2)
    drawn = Noise(KEYS).uniform_integers(np.array([3, 7]), 2)
    assert drawn.tolist() == [[word % bound for word, bound in zip(words(key, 0, 0, 0, 2), (3, 7), strict=True)]
                              for key in KEYS]  # fmt: skip


def test_derived_keys_are_hmacs_of_unambiguous_lists() -> None:
    message = (1).to_bytes(8, "little") + b"a" + (2).to_bytes(8, "little") + b"bc"
    assert derive_key(KEY, b"a", b"bc") == hmac.new(KEY, message, hashlib.sha256).digest()
    lists = [(b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""), (b"", b"abc")]
    assert len({derive_key(KEY, *parts) for parts in lists}) == len(lists)
    assert derive_key(KEY, b"a") != derive_key(bytes(32), b"a")


def test_hashes_under_many_keys_are_hmacs() -> None:
    keys = np.random.default_rng(1).integers(0, 256, (5, 32), np.uint8)
    hashes = KeyedHashes(keys)
    for message in (b"", b"a", bytes(63), bytes(64), bytes(1000)):
        wanted = [hmac.digest(key.tobytes(), message, "sha256") for key in keys]
        assert hashes.macs([message] * len(keys)) == wanted
    with pytest.raises(ValueError, match="shorter"):
        hashes.macs([b""])
