"""Products with some rows of a constant matrix, and a second layer for some nodes: the bytes of those with all."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.networks import NETWORKS, Network
from ldpsim.curator.linear.torch_matrix import Constant

CPU = torch.device("cpu")
N, HIDDEN, CLASSES = 400, 16, 5


def _graph() -> Graph:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, N, (2, 900))
    return Graph(rng.standard_normal((N, 7)).astype(np.float32), np.concatenate([ends, ends[::-1]], axis=1), None,
                 rng.integers(0, CLASSES, N), np.arange(200), np.arange(200, 300))  # fmt: skip


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("kind", NETWORKS.values())
def test_scores_and_gradients_of_some_nodes_are_those_of_all(kind: type[Network], rising: bool) -> None:
    torch.manual_seed(1)
    model = kind(_graph(), hidden=HIDDEN, classes=CLASSES, device=CPU)
    nodes = torch.randperm(N)[: N // 2]
    nodes = nodes.sort().values if rising else nodes
    start, factor = torch.randn(N, HIDDEN), torch.randn(N // 2, CLASSES)

    def found(few: bool) -> list[torch.Tensor]:
        hidden = start.clone().requires_grad_()
        scores = model.output_of(nodes)(hidden) if few else model.output(hidden).index_select(0, nodes)
        (scores * factor).sum().backward()  # type: ignore[no-untyped-call]
        gradients = [part.grad for part in (hidden, *model.parameters()) if part.grad is not None]
        for parameter in model.parameters():
            parameter.grad = None
        return [scores.detach(), *gradients]

    few, every = found(True), found(False)
    assert len(few) == len(every) > 2 and all(map(torch.equal, few, every))


def test_rows_of_a_sparse_matrix_are_sparse_and_of_a_dense_one_none() -> None:
    full = np.zeros((10, 3), np.float32)
    full[0] = 1
    assert not Constant(csr_array(full + 1), CPU).rows(torch.tensor([0])) and Constant(csr_array(full), CPU).sparse
    row = Constant(csr_array(full), CPU).rows(torch.tensor([0]))
    assert row is not None and row.matrix.shape == (1, 3)
    values = torch.ones(3, 2, requires_grad=True)
    product = row @ values
    assert product.tolist() == [[3.0, 3.0]]
    product.sum().backward()  # type: ignore[no-untyped-call]
    assert values.grad is not None and values.grad.tolist() == [[1.0, 1.0]] * 3
