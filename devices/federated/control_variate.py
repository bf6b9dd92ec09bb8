"""Control variates of a device's local steps (SCAFFOLD: Karimireddy et al. 2020, https://arxiv.org/abs/1910.06378).

A round may carry the server's control variate c. A local step is then y <- y - lr (g(y) - c_i + c), and after K steps
the device's own control variate is (option II of the paper)

    c_i+ = c_i - c + (x - y) / (K lr),

the mean of the gradients of its steps. The device does not keep it. It sends it with the update, and the server hands
it back with the next round. So an answer depends on the question, the ledger and the record alone, as every answer
does: a round that is asked again gets the same bytes, and a training that is restored has the devices' state too. It
reveals nothing more: the server knows x, y, c and c_i, and could compute c_i+ itself. Without noise alone: an update
under noise would lie beside an exact one.

A device with one row g of inputs has the gradient g b^T for W1, with b the gradient of b1. So its control variate is
sent without W1's part: (b1, W2, b2), a flat vector as :class:`ldpsim.devices.network.Shape` orders them.
"""

from __future__ import annotations

import numpy as np

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.network import are_usable, diverging, usable
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import Task


def variate_size(task: Task) -> int:
    """Return the number of entries of a device's control variate."""
    return task.shape.size - task.d * task.hidden


def read_variate(own: bytes | None, task: Task, dtype: np.dtype) -> FloatArray:
    """Return a device's control variate from the bytes that it sent before; zeros where there are none.

    Raises:
        InvalidQuery: for other bytes.
    """
    size = variate_size(task)
    if not own:
        return np.zeros(size, dtype)
    if len(own) != size * dtype.itemsize:
        raise InvalidQuery("the control variate is malformed")
    found: FloatArray = np.frombuffer(own, dtype)
    if not are_usable(found):
        raise InvalidQuery("the control variate is malformed")
    return found


@diverging()
def next_variate(own: FloatArray, control: FloatArray, before: FloatArray, after: FloatArray, task: Task) -> FloatArray:
    """Return the device's next control variate.

    Args:
        own: The present one, (:func:`variate_size`,).
        control: The server's, (size,).
        before, after: Weights before and after the local steps, (size,).
        task: Steps, learning rate and sizes.
    """
    part = slice(len(before) - len(own), None)
    moved: FloatArray = (before[part] - after[part]) / (task.steps * task.lr)
    return usable((own - control[part] + moved).astype(before.dtype, copy=False))
