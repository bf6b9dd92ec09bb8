"""A constant matrix of packed bits that multiplies a network's variables from the left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ldpsim.curator.linear.packed_bits import PackedBits

_BITS_AT_ONCE, _ROWS_AT_ONCE = 1 << 22, 1 << 12
_BYTES_MULTIPLY: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_MOST_BYTES = 1 << 28  # of bits that stay unpacked for all products


class BitMatrix:
    """Packed bits that multiply variables from the left; a block of rows is unpacked at a time.

    A processor multiplies bytes several times faster than float32, and reads a quarter of the memory. So on a CPU the
    other factor becomes whole numbers of 21 bits, in units of its largest entry / 2^20. Their products with bits are
    exact.
    """

    def __init__(self, bits: PackedBits, device: torch.device) -> None:
        self.shape = bits.shape
        self.packed = torch.from_numpy(np.ascontiguousarray(bits.packed)).to(device)
        self.factor = torch.from_numpy(np.asarray(bits.factor, np.float32))[:, None].to(device)
        small = device.type == "cpu" and math.prod(self.shape) <= _MOST_BYTES
        self._bytes = list(self._unpacked()) if small else None

    def blocks(self) -> Iterable[tuple[slice, Tensor]]:
        """Return rows, and their bits as int8 (rows, d); as float32 where bytes are not multiplied."""
        return self._bytes or self._unpacked()

    def _unpacked(self) -> Iterator[tuple[slice, Tensor]]:
        (n, d), step = self.shape, max(_ROWS_AT_ONCE, _BITS_AT_ONCE // max(1, self.shape[1]))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            packed = self.packed[rows]
            if packed.is_cuda:
                shifts = torch.arange(7, -1, -1, device=packed.device, dtype=torch.uint8)
                yield rows, ((packed[:, :, None] >> shifts) & 1).flatten(1)[:, :d].float()
            else:
                block = torch.from_numpy(np.unpackbits(packed.numpy(), axis=1, count=d))
                # One row of a transpose is multiplied wrongly by PyTorch 2.13.
                yield rows, block.view(torch.int8) if d > 1 and _BYTES_MULTIPLY else block.float()

    def __matmul__(self, right: Tensor) -> Tensor:
        product: Tensor = _BitProduct.apply(self.factor * right, self)  # type: ignore[no-untyped-call]
        return product


class _BitProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, right: Tensor, bits: BitMatrix) -> Tensor:
        ctx.bits = bits
        product, digits = right.new_empty(bits.shape[0], right.shape[1]), _Digits(right)
        for rows, block in bits.blocks():
            product[rows] = digits.times(block)
        return product

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        total = gradient.new_zeros(ctx.bits.shape[1], gradient.shape[1])
        for rows, block in ctx.bits.blocks():
            total += _Digits(gradient[rows]).times(block.T)
        return total, None


class _Digits:
    """A float32 matrix that bits multiply from the left: on a CPU as whole numbers of three digits of 7 bits."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    @cached_property
    def digits(self) -> tuple[Tensor, Tensor]:
        """int8 (k, 3 m), the highest digits first, and their unit."""
        (k, m), unit = self.matrix.shape, self.matrix.abs().max().clamp_min_(1e-30) / (1 << 20)
        remainder, digits = self.matrix / unit, torch.empty(k, 3, m, dtype=torch.int8)
        for number, weight in enumerate((1 << 14, 1 << 7, 1)):
            digit = (remainder / weight).round_()
            digits[:, number] = digit
            remainder.sub_(digit, alpha=weight)
        return digits.view(k, 3 * m), unit

    def times(self, bits: Tensor) -> Tensor:
        """float32: bits @ the matrix."""
        if bits.is_floating_point():
            return bits @ self.matrix
        (digits, unit), m = self.digits, self.matrix.shape[1]
        product = torch._int_mm(bits, digits)
        high, middle, low = (product[:, number * m : (number + 1) * m] for number in range(3))
        return torch.add(torch.add(low, middle, alpha=1 << 7), high.float(), alpha=1 << 14).mul_(unit)
