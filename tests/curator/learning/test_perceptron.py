"""The one perceptron."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import torch
from scipy.sparse import csr_array
from torch.nn import functional

from ldpsim.curator.learning.perceptron import Layer, Perceptron
from ldpsim.curator.linear.torch_matrix import Constant


def test_layers_of_one_width_have_a_sum_with_the_layer_before() -> None:
    sizes = {"bias": False, "residual": True, "bound": lambda inputs, outputs: math.sqrt(6 / outputs)}
    model = Perceptron([4, 4, 4, 2], **sizes)
    first, second, last = (layer.weight.detach() for layer in model.layers)
    rows = torch.randn(5, 4)
    one = torch.relu(rows @ first) + rows
    two = torch.relu(one @ second) + one
    torch.testing.assert_close(model(rows), two @ last)
    wider = Perceptron([3, 8, 2], **sizes)
    rows = torch.randn(5, 3)
    torch.testing.assert_close(wider(rows), torch.relu(rows @ wider.layers[0].weight) @ wider.layers[1].weight)
    assert wider.layers[1].weight.abs().max() <= 3**0.5


def test_a_sparse_constant_gives_the_scores_of_its_dense_rows() -> None:
    rows = (np.arange(24).reshape(6, 4) % 7 == 1).astype(np.float32)
    model = Perceptron([4, 5, 3], activation=functional.selu)
    constant = Constant(csr_array(rows), torch.device("cpu"))
    assert constant.sparse
    torch.testing.assert_close(model(constant), model(torch.from_numpy(rows)))


def test_dropout_is_of_what_each_layer_reads_and_of_training_alone() -> None:
    seen: list[int] = []

    def drop(rows: torch.Tensor) -> torch.Tensor:
        seen.append(rows.shape[1])
        return rows

    rows = torch.ones(2, 4)
    Perceptron([4, 5, 6, 3], drop=drop)(rows)
    Perceptron([4, 5, 3], drop=drop, drop_input=True)(rows)
    Perceptron([4, 5, 3], drop=drop).eval()(rows)
    assert seen == [5, 6, 4, 5]
    dropped = Perceptron([4, 5, 3], drop=partial(functional.dropout, p=1.0))(rows)
    torch.testing.assert_close(dropped[0], dropped[1])


def test_without_scores_the_last_layer_has_activation_and_normalisation() -> None:
    rows = torch.randn(50, 4, generator=torch.Generator().manual_seed(1))
    out = Perceptron([4, 3], activation=functional.selu, norm="batch", plain=False)(rows)
    torch.testing.assert_close(out.mean(0), torch.zeros(3), atol=1e-5, rtol=0)


def test_fresh_weights_are_those_of_torch_in_size() -> None:
    layer = Layer(400, 50, generator=torch.Generator().manual_seed(1))
    assert 0.049 < float(layer.weight.detach().abs().max()) <= 0.05 >= float(layer.bias.detach().abs().max())
