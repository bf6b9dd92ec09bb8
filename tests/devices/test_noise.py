"""The keystream and the sampler against plain 64-bit comparisons, word for word; keyed hashes."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from ldpsim.devices.noise import KeyedHashes, NoiseStream, derive_key, first_blocks, joined_words

KEY = bytes(range(32))
ONE = 1 << 64


def words(key: bytes, stream: int, lane: int, size: int) -> list[int]:
    """The 32-bit words of one lane, straight from ChaCha20."""
    nonce = bytes(4) + stream.to_bytes(4, "little") + lane.to_bytes(4, "little") + bytes(4)
    data = Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor().update(bytes(4 * size))
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def long_words(size: int, stream: int = 0) -> list[int]:
    """The 64-bit integers that trials are compared with."""
    pairs = zip(words(KEY, stream, 1, size), words(KEY, stream, 0, size), strict=True)
    return [high << 32 | low for high, low in pairs]


def test_the_keystream_is_chacha20_of_rfc_8439() -> None:
    assert words(bytes(32), 0, 0, 2) == [0xADE0B876, 0x903DF1A0]


@pytest.mark.parametrize("threshold", [1, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 62, ONE // 3, ONE - 1])
def test_one_threshold_is_a_64_bit_comparison(threshold: int) -> None:
    expected = [word < threshold for word in long_words(300)]
    stream = NoiseStream(KEY)
    drawn = [stream.bernoulli(threshold, size) for size in (0, 1, 99, 0, 200)]
    assert np.concatenate(drawn).tolist() == expected


def test_a_threshold_for_each_is_a_64_bit_comparison() -> None:
    rng = np.random.default_rng(0)
    thresholds = rng.integers(1, ONE, 500, dtype=np.uint64, endpoint=False)
    expected = [word < int(t) for word, t in zip(long_words(500), thresholds, strict=True)]
    stream = NoiseStream(KEY)
    drawn = np.concatenate([stream.bernoulli(thresholds[:120], 120), stream.bernoulli(thresholds[120:], 380)])
    assert drawn.tolist() == expected


@pytest.mark.parametrize("offset", [-1, 0, 1])
@pytest.mark.parametrize("place", [0, 7, 150, 299])
def test_ties_of_the_upper_word_are_decided_by_the_lower_one(place: int, offset: int) -> None:
    """A threshold next to the word that is drawn: the upper 32 bits tie, the lower ones decide."""
    numbers = long_words(300)
    threshold = numbers[place] + offset
    expected = [word < threshold for word in numbers]
    assert expected[place] == (offset == 1)
    stream = NoiseStream(KEY)
    assert np.concatenate([stream.bernoulli(threshold, 100) for _ in range(3)]).tolist() == expected
    each = np.array([threshold] * 300, np.uint64)
    stream = NoiseStream(KEY)
    assert np.concatenate([stream.bernoulli(each[:100], 100) for _ in range(3)]).tolist() == expected
    # The broken variant that compares 32 bits alone is wrong at exactly this place.
    assert (numbers[place] >> 32 < threshold >> 32) != expected[place] or offset < 1


def test_ties_stay_aligned_across_calls_and_uniform_integers() -> None:
    numbers, highs = long_words(40), words(KEY, 0, 1, 40)
    stream = NoiseStream(KEY)
    assert stream.bernoulli(numbers[0] + 1, 10).tolist() == [n < numbers[0] + 1 for n in numbers[:10]]
    assert stream.uniform_integer(1 << 32) == highs[10]
    assert stream.bernoulli(1 << 63, 9).tolist() == [n < 1 << 63 for n in numbers[11:20]]
    for threshold in (numbers[25], numbers[25] + 1):
        fresh = NoiseStream(KEY)
        fresh.bernoulli(1 << 63, 20)
        assert fresh.bernoulli(threshold, 20).tolist() == [n < threshold for n in numbers[20:40]]


def test_streams_of_one_key_differ() -> None:
    drawn = [NoiseStream(KEY, stream).bernoulli(1 << 63, 256).tolist() for stream in range(3)]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]
    assert NoiseStream(KEY, 2).bernoulli(1 << 63, 256).tolist() == [w < 1 << 63 for w in long_words(256, 2)]


@pytest.mark.parametrize("threshold", [0, -1, ONE, ONE + 1])
def test_a_threshold_that_draws_no_noise_is_refused(threshold: int) -> None:
    with pytest.raises(ValueError, match=r"\Aa threshold of -?\d+ draws no noise\Z"):
        NoiseStream(KEY).bernoulli(threshold, 3)


class Forced(NoiseStream):
    """A stream whose upper words are given."""

    def __init__(self, given: list[int]) -> None:
        super().__init__(KEY)
        self.given = given

    def _draw(self, lane: int, size: int) -> np.ndarray:
        taken, self.given = self.given[:size], self.given[size:]
        return np.array(taken, np.uint32)


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 7, 39, 65535, (1 << 31) + 1, (1 << 32) - 1, 1 << 32])
def test_uniform_integers_have_no_modulo_bias(bound: int) -> None:
    """The words that are kept are 0 .. limit - 1 with limit a multiple of the bound: every residue equally often."""
    limit = (1 << 32) // bound * bound
    assert limit % bound == 0 and (1 << 32) - limit < bound
    assert Forced([limit - 1]).uniform_integer(bound) == bound - 1
    assert Forced([0]).uniform_integer(bound) == 0
    assert Forced([bound // 2]).uniform_integer(bound) == bound // 2
    if limit < 1 << 32:
        stream = Forced([limit, (1 << 32) - 1, 5])  # both beyond the limit are drawn again
        assert stream.uniform_integer(bound) == 5 % bound and not stream.given


def test_derived_keys_are_hmacs_of_unambiguous_lists() -> None:
    message = (1).to_bytes(8, "little") + b"a" + (2).to_bytes(8, "little") + b"bc"
    assert derive_key(KEY, b"a", b"bc") == hmac.new(KEY, message, hashlib.sha256).digest()
    lists = [(b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""), (b"", b"abc")]
    assert len({derive_key(KEY, *parts) for parts in lists}) == len(lists)
    assert derive_key(KEY, b"a") != derive_key(bytes(32), b"a")


def test_the_first_words_of_many_streams_are_those_that_draws_take() -> None:
    streams = [NoiseStream(bytes([i]) * 32, i) for i in range(7)]
    words = joined_words(streams, 25)
    drawn = [stream.words(13) for stream in streams]
    taken = [np.column_stack([w >> np.uint64(32), w & np.uint64(0xFFFFFFFF)]).ravel() for w in drawn]
    assert np.array_equal(words, [w[:25] for w in taken])


@pytest.mark.parametrize("threshold", [1, (1 << 56) - 1, 1 << 56, (1 << 56) + 1, 1 << 62, ONE // 3, ONE - 1])
def test_trials_by_bytes_are_a_64_bit_comparison(threshold: int) -> None:
    """The first byte of each trial, then seven more for each tie, read from the words one after the other."""
    size = 3001
    stream = words(KEY, 0, 1, 4000)
    firsts = b"".join(word.to_bytes(4, "little") for word in stream[:751])[:size]
    rest = iter(stream[751:])
    expected = []
    for first in firsts:
        if first == threshold >> 56:
            first = first << 56 | (next(rest) << 32 | next(rest)) >> 8
        else:
            first = first << 56
        expected.append(first < threshold)
    assert NoiseStream(KEY).bernoulli_by_bytes(threshold, size).tolist() == expected
    assert firsts.count(threshold >> 56) > 0


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_ties_of_the_first_byte_are_decided_by_the_other_seven(offset: int) -> None:
    stream = words(KEY, 0, 1, 3)
    number = (stream[0] & 0xFF) << 56 | (stream[1] << 32 | stream[2]) >> 8
    assert NoiseStream(KEY).bernoulli_by_bytes(number + offset, 1).tolist() == [offset == 1]


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 2999, (1 << 31) + 1, (1 << 32) - 1, 1 << 32])
def test_every_number_below_the_bound_has_equally_many_words(bound: int) -> None:
    """The words of number j run from the first w with w * bound // 2**32 = j; so many of them are dropped that all
    numbers keep floor(2**32 / bound)."""
    unfair = (1 << 32) % bound
    for j in {0, min(1, bound - 1), bound // 2, bound - 1}:
        first, end = (-(-number * (1 << 32) // bound) for number in (j, j + 1))
        dropped = first * bound & 0xFFFFFFFF < unfair  # any later word of j has a larger lower half
        assert end - first - dropped == (1 << 32) // bound
        for word, kept in ((first, not dropped), (end - 1, True)):
            stream = Forced([word, (1 << 32) - 1])
            expected = j if kept else bound - 1
            assert stream.distinct_integers(bound, 1).tolist() == [expected]
            assert len(stream.given) == (1 if kept else 0)


def test_a_subset_is_the_first_different_numbers() -> None:
    def word(number: int) -> int:
        return (2 * number + 1) * (1 << 31) // 10

    stream = Forced([word(number) for number in (7, 2, 7, 7, 2, 5, 9, 1)])
    assert stream.distinct_integers(10, 3).tolist() == [2, 5, 7] and len(stream.given) == 2
    assert Forced([]).distinct_integers(0, 0).tolist() == []
    assert sorted(NoiseStream(KEY).distinct_integers(40, 40)) == list(range(40))


def test_the_block_of_the_rfc() -> None:
    """RFC 8439, 2.3.2: key 00 .. 1f, block counter 1, nonce 000000090000004a00000000."""
    nonce = (1).to_bytes(4, "little") + bytes.fromhex("000000090000004a00000000")
    block = first_blocks(bytes(range(32)), nonce, 1)[0].astype("<u4").tobytes()
    assert block.hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4") and block.hex().endswith("a2503c4e")


@pytest.mark.parametrize("blocks", [1, 2, 3, 8])
def test_every_block_of_every_key(blocks: int) -> None:
    keys = np.random.default_rng(blocks).integers(0, 256, (70, 32), np.uint8)
    nonce = bytes([255, 255, 255, 127, *range(12)])  # no carry beyond 32 bits, which the two would treat differently
    found = first_blocks(keys.tobytes(), nonce, blocks)
    for key, words in zip(keys, found, strict=True):
        stream = Cipher(algorithms.ChaCha20(key.tobytes(), nonce), mode=None).encryptor().update(bytes(64 * blocks))
        assert words.astype("<u4").tobytes() == stream


def test_hashes_under_many_keys_are_hmacs() -> None:
    keys = np.random.default_rng(1).integers(0, 256, (5, 32), np.uint8)
    hashes = KeyedHashes(keys)
    for message in (b"", b"a", bytes(63), bytes(64), bytes(1000)):
        wanted = [hmac.digest(key.tobytes(), message, "sha256") for key in keys]
        assert hashes.macs([message] * len(keys)) == wanted
    with pytest.raises(ValueError, match="shorter"):
        hashes.macs([b""])
