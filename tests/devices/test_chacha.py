"""Keystreams of many keys are those that ``cryptography`` gives one key at a time, and what RFC 8439 prints."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from ldpsim.devices.noise import first_blocks


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
