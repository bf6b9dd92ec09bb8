"""Random draws outside devices, each derived from a seed, a purpose and a number alone.

So nothing depends on the number of workers, on their order, or on the point where a run was
continued. Initial weights and dropout come from the training seed, which is public. All draws on
which a guarantee rests come from the noise seed, by :func:`private_generator`: samples of people,
and noise.
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive(seed: int, purpose: str, number: int = 0) -> int:
    """Return a seed for one purpose and number: of 63 bits, and of 255 for a secret that no search could find."""
    digest = hashlib.sha256(f"ldpsim teachers {seed} {purpose} {number}".encode()).digest()
    return int.from_bytes(digest if seed >> 64 else digest[:8], "little") >> 1


def teacher_seed(seed: int, number: int) -> int:
    """Return the seed of one network's initial weights and dropout."""
    return derive(seed, "teacher", number)


def private_generator(seed: int, purpose: str, number: int) -> np.random.Generator:
    """Return the generator of draws on which a guarantee rests: of one query, hop, training or round.

    Args:
        seed: The noise seed, or one that was derived from it.
        purpose: What is drawn.
        number: The query, hop, training or round.
    """
    return np.random.Generator(np.random.PCG64(derive(seed, purpose, number)))
