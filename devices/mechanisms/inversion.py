"""Integers of a symmetric distribution, drawn exactly by inversion with as many bits as necessary.

A sign and a uniform U on (0, 1/2) give the integer z or -z. z >= 0 is the smallest integer
with tail(z + 1) <= U, where tail(k) = Pr[Z >= k]. This has the distribution of Z exactly, if U is a
real number. 64 bits of U nearly always determine z. If they do not, or if floating point
might be wrong about it, further bits are drawn and compared with tail(z + 1) to 80 decimal
digits. So z depends on the bits alone, not on a machine's arithmetic. The time taken hardly
depends on the result, and not at all on the value that the noise is added to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.noise import Noise

DIGITS = 80
_SLACK = 1e-12  # a thousand times what numpy's log and scipy's ndtri err, relative to max(1, |y|)
_LAST = 1 << 63


def by_inversion(
    noise: Noise,
    size: int,
    *,
    quantile: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    scale: float,
    offset: float,
    tail: Callable[[int], Decimal],
) -> IntArray:
    """int64 (devices, size): independent draws.

    Args:
        noise: Source of 64 bits for each integer, very rarely of more.
        size: Number of integers.
        quantile: y(u) for u in (0, 1/2], such that z = floor(scale * y + offset); it may
            be infinite at 0.
        scale, offset: As above.
        tail: Pr[Z >= k] for k >= 1, to 80 digits.
    """
    draw = noise.next_draw()
    words = draw.numbers(size, 8)
    fraction = (words & np.uint64(_LAST - 1)).astype(np.float64)  # U lies in (fraction, fraction + 1) / 2**64
    with np.errstate(divide="ignore"):
        inner, outer = (np.minimum(quantile((fraction + side) / 2.0**64), 64.0) for side in (1, 0))
    slack = _SLACK * np.maximum(1.0, outer)
    least = np.floor(scale * np.maximum(inner - slack, 0) + offset).astype(np.int64)
    most = np.floor(scale * (outer + slack) + offset).astype(np.int64)
    for row, trial in np.argwhere((least != most) | (fraction == 0)).tolist():
        number = int(words[row, trial]) & (_LAST - 1)
        least[row, trial] = _settle(draw.words_of(row, trial, 8), number, int(least[row, trial]), tail)
    return np.where(words >> np.uint64(63), -least, least)


def _settle(further: Iterator[int], number: int, least: int, tail: Callable[[int], Decimal]) -> int:
    """Return the smallest z >= least with tail(z + 1) <= U, for a U that begins with the 64 bits of ``number``."""
    bits = 64

    def reached(z: int) -> bool:
        nonlocal number, bits
        while True:
            with localcontext() as context:
                context.prec = DIGITS
                beyond = tail(z + 1) * (1 << bits)
            if beyond <= number:
                return True
            if beyond >= number + 1:
                return False
            number, bits = number << 64 | next(further), bits + 64

    step = 1
    while not reached(least + step - 1):
        least, step = least + step, 2 * step
    below = least - 1  # not reached, or never tried; least + step - 1 is reached
    above = least + step - 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if reached(middle) else (middle, above)
    return above
