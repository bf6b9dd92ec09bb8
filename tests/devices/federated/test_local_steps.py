"""Batched local steps equal plain gradient steps of one device at a time, written out here.

This file also covers inputs of one person (``devices/federated/members.py``) and ``devices/network.py``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.data.records import Record, records_by_column
from ldpsim.devices.federated.local_steps import Inputs, SparseRows, Stack
from ldpsim.devices.federated.members import classes_of, scaled
from ldpsim.devices.network import Shape, softmax
from ldpsim.devices.training_task import Task

TASK = Task("c", "sums", d=12, hidden=5, classes=3, lr=0.3, steps=4)


def hidden(inputs: Inputs, flat: FloatArray, shape: Shape) -> FloatArray:
    """Return the hidden units of every row before the activation, (rows, hidden)."""
    w1, b1, _, _ = shape.parts(flat)
    given = inputs.rows
    rows = [
        given.values[a:b] @ w1[given.columns[a:b]] for a, b in zip(given.starts[:-1], given.starts[1:], strict=True)
    ]
    result: FloatArray = np.stack(rows) + inputs.first + b1
    return result


def scores(inputs: Inputs, flat: FloatArray, shape: Shape) -> FloatArray:
    """Return the scores, (classes,)."""
    _, _, w2, b2 = shape.parts(flat)
    summed = inputs.spread.values @ np.maximum(hidden(inputs, flat, shape), 0) + inputs.second
    result: FloatArray = summed @ w2 + b2
    return result


def train(inputs: Inputs, flat: FloatArray, task: Task, *, mu: float = 0.0) -> FloatArray:
    """Return the weights after the task's local steps, (size,), of the dtype of ``flat``.

    Args:
        inputs: The device's own.
        flat: Global weights.
        task: Steps, learning rate, sizes.
        mu: Weight of FedProx's term, 0 for none.
    """
    shape, own = task.shape, flat.copy()
    w1, b1, w2, b2 = shape.parts(own)
    for _ in range(task.steps):
        z = hidden(inputs, own, shape)
        p = inputs.spread.values @ np.maximum(z, 0) + inputs.second
        error = softmax(p @ w2 + b2)
        error[inputs.labels[0]] -= 1
        back = inputs.spread.values[:, None] * (w2 @ error) * (z > 0)
        # The pull is that of the weights before the step.
        pull = mu * (own - flat) if mu else None
        w2 -= task.lr * np.outer(p, error)
        b2 -= task.lr * error
        b1 -= task.lr * back.sum(axis=0)
        given = inputs.rows
        for row, (a, b) in enumerate(zip(given.starts[:-1], given.starts[1:], strict=True)):
            w1[given.columns[a:b]] -= task.lr * np.outer(given.values[a:b], back[row])
        if pull is not None:
            own -= task.lr * pull
    return own.astype(flat.dtype, copy=False)


def one_member(rows: SparseRows, weights: FloatArray, first: FloatArray, second: FloatArray, label: int) -> Inputs:
    return Inputs(rows, SparseRows.one(np.arange(len(weights)), weights), np.array([label]), first, second)


def inputs_of(rows: int, seed: int) -> Inputs:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 6, rows)
    columns = np.concatenate([np.sort(rng.choice(TASK.d, count, replace=False)) for count in counts])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    first, second = rng.normal(size=(2, TASK.hidden))
    given = SparseRows(indptr, columns, rng.normal(size=len(columns)))
    return one_member(given, rng.random(rows), first, second, seed % TASK.classes)


@pytest.mark.parametrize("mu", [0.0, 0.7])
@pytest.mark.parametrize("most", [1, 4])
def test_many_devices_step_as_each_does_alone(most: int, mu: float) -> None:
    everybody = [inputs_of(1 + seed % most, seed) for seed in range(9)]
    flat = TASK.shape.initial(3, np.float64)
    stack = Stack.of(everybody, TASK)
    expected = np.stack([train(one, flat, TASK, mu=mu) for one in everybody])
    assert np.abs(expected - flat).max(axis=1).min() > 1e-3  # power: everybody moved
    assert np.abs(np.stack(list(stack.trained(flat, mu=mu))) - expected).max() < 1e-12
    assert np.abs(stack.scores(flat)[:, 0] - [scores(one, flat, TASK.shape) for one in everybody]).max() < 1e-12
    before = np.concatenate([hidden(one, flat, TASK.shape) for one in everybody])
    assert np.abs(stack.hidden(flat) + TASK.shape.parts(flat)[1] - before).max() < 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("most", [1, 3])
def test_a_device_gets_the_same_bits_whoever_is_in_its_batch(most: int, dtype: type) -> None:
    """Every size of a batch, the last device of an uneven one included; values of very different sizes."""
    task = Task("c", "sums", d=30, hidden=9, classes=3, lr=0.3, steps=3)
    rng = np.random.default_rng(2)
    everybody, flat = [], task.shape.initial(3, dtype)  # type: ignore[var-annotated]
    for number in range(67):
        rows = 1 + number % most
        counts = rng.integers(0 if most == 1 else 1, 25, rows)
        columns = np.concatenate([np.sort(rng.choice(30, count, replace=False)) for count in counts])
        values = rng.random(len(columns)) * 10.0 ** rng.integers(-3, 4, len(columns))
        first, second = rng.normal(size=(2, 9)).astype(dtype)
        given = SparseRows(np.concatenate([[0], np.cumsum(counts)]), columns, values.astype(dtype))
        everybody.append(one_member(given, rng.random(rows).astype(dtype), first, second, number % 3))
    alone = [Stack.of([one], task).trained(flat, mu=0.1).row(0) for one in everybody]
    scored = [Stack.of([one], task).scores(flat)[0] for one in everybody]
    for size in (2, 3, 5, 8, 16, 33, 64, 67):
        for first_one in range(0, len(everybody), size):
            stack, here = Stack.of(everybody[first_one : first_one + size], task), slice(first_one, first_one + size)
            assert np.array_equal(list(stack.trained(flat, mu=0.1)), alone[here]), (size, first_one)
            assert np.array_equal(stack.scores(flat), scored[here]), (size, first_one)


@pytest.mark.parametrize("mu", [0.0, 0.7])
def test_a_device_is_a_silo_of_one(mu: float) -> None:
    """The steps of a silo, on the same rows, where it has one member and neither weight decay nor dropout."""
    of_silos = replace(TASK, seed=1)
    flat = TASK.shape.initial(3, np.float64)
    for seed in range(4):
        given = replace(inputs_of(1 + seed, seed), first=None, second=None)
        (device,), (silo,) = (Stack.of([given], task).trained(flat, mu=mu) for task in (TASK, of_silos))
        assert np.abs(device - silo).max() < 1e-12 and np.abs(device - flat).max() > 1e-3


@pytest.mark.parametrize(("scaling", "expected"), [("none", [3.0, 4.0]), ("row", [3 / 7, 4 / 7]), ("unit", [0.6, 0.8])])
def test_columns_outside_are_left_out_before_the_scaling(scaling: str, expected: list[float]) -> None:
    record = Record(np.array([-1, 2, 5, 12], np.int32), np.array([9, 3, 4, 9], np.float32), np.zeros(0, np.int32), 7)
    task = Task("c", "own", d=12, hidden=5, classes=3, lr=0.3, steps=4, scaling=scaling)
    columns, values, starts = scaled(records_by_column([record, record]), task, np.dtype(np.float64))
    assert columns.tolist() == [2, 5, 2, 5] and np.allclose(values, 2 * expected) and starts.tolist() == [0, 2, 4]
    assert classes_of(np.array([7, -1, 2]), task).tolist() == [0, 0, 2]
