"""Keystreams of many keys are those that ``cryptography`` gives one key at a time, and what RFC 8439 prints."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from ldpsim.devices import noise
from ldpsim.devices.noise import NoiseStream, first_blocks, joined_words


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


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 128, 129])
@pytest.mark.parametrize("stream", [0, 3])
def test_words_of_many_streams_are_those_of_each(size: int, stream: int, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [NoiseStream(bytes([7, k]) * 16, stream) for k in range(noise._MANY)]
    alone = np.concatenate([np.frombuffer(each.first_words(size), "<u4") for each in streams])
    together: list[int] = []
    monkeypatch.setattr(noise, "first_blocks", lambda *given: together.append(1) or first_blocks(*given))
    assert np.array_equal(joined_words(streams, size).ravel(), alone)
    assert bool(together) == (size <= 128)
    assert np.array_equal(joined_words(streams[1:], size).ravel(), alone[size:]) and len(together) <= 1


def test_streams_of_several_numbers_or_classes_are_drawn_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(NoiseStream):
        def first_words(self, size: int) -> bytes:
            return bytes(4 * size)

    monkeypatch.delattr(noise, "first_blocks")
    keys = [bytes([k]) * 32 for k in range(100)]
    assert not joined_words([Own(key) for key in keys], 3).any()
    mixed = [NoiseStream(key, number % 2) for number, key in enumerate(keys)]
    words = [np.frombuffer(each.first_words(3), "<u4") for each in mixed]
    assert np.array_equal(joined_words(mixed, 3), words)
