"""Packed bits multiply as the dense matrix does, forward and backward, whatever the block and the strip."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ldpsim.curator.linear import torch_matrix
from ldpsim.curator.linear.factored import PackedBits, product_of
from ldpsim.curator.linear.torch_matrix import Bits, Constant, constant

N, CPU = 70, torch.device("cpu")


def _bits(d: int) -> tuple[PackedBits, np.ndarray]:
    rng = np.random.default_rng(d)
    dense = rng.random((N, d)) < 0.4
    factor = rng.normal(size=d).astype(np.float32)
    return PackedBits(np.packbits(dense, axis=1), factor), dense * factor


@pytest.mark.parametrize("d", [1, 8, 37, 300])
@pytest.mark.parametrize("at_once", [1, 1000, 1 << 22])
def test_a_product_and_its_gradient_are_the_dense_ones(d: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_matrix, "_BITS_AT_ONCE", at_once)
    packed, dense = _bits(d)
    values = torch.randn(d, 5, generator=torch.Generator().manual_seed(0))
    found, wanted = [], []
    for matrix, into in ((Bits(packed, CPU), found), (Constant(dense.astype(np.float32), CPU), wanted)):
        right = values.clone().requires_grad_()
        product = matrix @ right
        (product**2).sum().backward()  # type: ignore[no-untyped-call]
        into += [product.detach().numpy(), right.grad.numpy()]  # type: ignore[union-attr]
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-5)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5, atol=1e-4)


def test_strips_and_scaled_columns_are_those_of_the_dense_matrix() -> None:
    packed, dense = _bits(37)
    assert packed.shape == dense.shape and packed.nnz == dense.size
    np.testing.assert_array_equal(packed[:, slice(8, 30)], dense[:, 8:30].astype(np.float32))
    twice = packed.scaled(np.full(37, 2, np.float32))
    np.testing.assert_array_equal(twice[:, slice(0, 37)], 2 * dense.astype(np.float32))


@pytest.mark.parametrize("silent", [0, 9])
def test_a_standardised_product_of_bits_is_the_dense_one(silent: int) -> None:
    packed, dense = _bits(37)
    rng = np.random.default_rng(0)
    matrix = csr_array((rng.random((N, N)) < 0.1) / 10).astype(np.float32)
    counted = np.arange(N) >= silent
    product, mean, deviation = product_of(packed, matrix, 2).standardised(counted)
    wanted = matrix @ (matrix @ dense)
    np.testing.assert_allclose(mean, wanted[counted].mean(axis=0), atol=1e-5)
    wanted = (wanted - wanted[counted].mean(axis=0)) / wanted[counted].std(axis=0)
    wanted[~counted] = 0
    np.testing.assert_allclose(np.asarray(product), wanted, atol=1e-4)
    values = torch.randn(37, 4, generator=torch.Generator().manual_seed(1))
    np.testing.assert_allclose(constant(product, CPU) @ values, wanted @ values.numpy(), atol=1e-3)
    assert deviation.shape == mean.shape == (37,)
