"""Random draws outside devices, each derived from a seed, a purpose and a number alone.

So nothing depends on the number of workers, on their order, or on the point where a run was
continued. Initial weights and dropout come from the training seed, which is public. All draws on
which a guarantee rests come from the noise seed, by :func:`private_generator`: samples of people,
and noise.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from numpy.typing import NDArray


def derive(seed: int, purpose: str, number: int = 0) -> int:
    """Return a seed for one purpose and number: of 63 bits, and of 255 for a secret that no search could find."""
    digest = hashlib.sha256(f"ldpsim teachers {seed} {purpose} {number}".encode()).digest()
    return int.from_bytes(digest if seed >> 64 else digest[:8], "little") >> 1


def weights_generator(seed: int, query: int) -> torch.Generator:
    """Return the generator of one teacher's initial weights and dropout; a CPU generator on every device."""
    return torch.Generator().manual_seed(derive(seed, "teacher", query))


def private_generator(seed: int, purpose: str, number: int) -> np.random.Generator:
    """Return the generator of draws on which a guarantee rests: of one query, hop, training or round.

    Args:
        seed: The noise seed, or one that was derived from it.
        purpose: What is drawn.
        number: The query, hop, training or round.
    """
    return np.random.Generator(np.random.PCG64(derive(seed, purpose, number)))


class Masks:
    """Dropout masks; bits of random bytes, drawn once for all epochs.

    Args:
        generator: Source of the bytes.
        epochs: Number of masks.
        rows, units: Shape of a mask.
        dropout: Share of dropped values, in [0, 1); other than 0 and 1/2 it is rounded to 1/256.
    """

    def __init__(self, generator: torch.Generator, *, epochs: int, rows: int, units: int, dropout: float) -> None:
        self.rows, self.units = rows, units
        self.limit = round((1 - dropout) * 256)
        self.keep = self.limit / 256
        bits = rows * units
        self.bytes_an_epoch = 0 if self.limit == 256 else -(-bits // 8) if self.limit == 128 else bits
        words = -(-self.bytes_an_epoch // 8)
        drawn = torch.empty((epochs, words), dtype=torch.int64).random_(-(2**63), None, generator=generator)
        self.drawn: NDArray[np.uint8] = drawn.numpy().view(np.uint8).reshape(epochs, words * 8)

    def epoch(self, number: int) -> NDArray[np.uint8]:
        """uint8 (rows, units): 1 for a kept value. The caller divides kept values by ``keep``."""
        raw = self.drawn[number, : self.bytes_an_epoch]
        if self.limit == 256:
            return np.ones((self.rows, self.units), np.uint8)
        if self.limit == 128:
            return np.unpackbits(raw, count=self.rows * self.units).reshape(self.rows, self.units)
        return (raw < self.limit).astype(np.uint8).reshape(self.rows, self.units)
