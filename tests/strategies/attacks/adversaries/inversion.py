"""Closed-form attack on one update of softmax regression; test_models.py and test_federated_leak.py use it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsim.strategies.attacks.adversaries.table import Model


def invert_update(before: Model, after: Model) -> tuple[NDArray[np.floating], int]:
    """Read a person's features and label from one step of softmax regression on that person alone.

    With logits W x + b the gradient is (p - y) x^T for W and p - y for b. So a row of the first
    divided by the same entry of the second is x, and only the label's entry is negative.

    Args:
        before, after: The model before and after a descent step of any size.

    Returns:
        The features (d,) and the label.
    """
    weights, bias = after[0] - before[0], after[1] - before[1]
    row = int(np.argmax(np.abs(bias)))
    return weights[row] / bias[row], int(np.argmax(bias))
