"""Random draws of a teacher, derived from a seed and its query's number alone.

So labels do not depend on the number of workers, on their order, or on the point where a run was
continued. Initial weights and dropout come from the training seed. The sample of people and the
noise, on which privacy rests, come from the noise seed.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from numpy.typing import NDArray


def derive(seed: int, purpose: str, number: int = 0) -> int:
    """Return a seed of 63 bits for one purpose and query."""
    text = f"ldpsim teachers {seed} {purpose} {number}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def weights_generator(seed: int, query: int) -> torch.Generator:
    """Return the generator of one teacher's initial weights and dropout; a CPU generator on every device."""
    return torch.Generator().manual_seed(derive(seed, "teacher", query))


def private_generator(seed: int, purpose: str, query: int) -> np.random.Generator:
    """Return the generator of one query's sample of people, or of its noise."""
    return np.random.Generator(np.random.PCG64(derive(seed, purpose, query)))


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
