"""The one training loop: its steps are torch's, the kept epoch, and no other loop beside it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from torch import nn

import ldpsim
from ldpsim.curator.learning.loop import Adam, optimise

PACKAGE = Path(ldpsim.__file__).parent
LOOP = "learning/loop.py"


def test_steps_are_those_of_torch() -> None:
    """Two tensors with decay, and one that gets a gradient in every second step alone."""
    start = [torch.randn(5, 3, generator=torch.Generator().manual_seed(k)) for k in range(3)]
    ours, theirs = ([each.clone().requires_grad_() for each in start] for _ in range(2))
    optimisers = Adam(ours, lr=0.03, weight_decay=0.1), torch.optim.Adam(theirs, lr=0.03, weight_decay=0.1)
    for number in range(20):
        for (first, second, third), optimiser in zip((ours, theirs), optimisers, strict=True):
            loss = (first @ second.T).square().sum() + (third.sin().sum() if number % 2 else 0)
            loss.backward()
            optimiser.step()
            if isinstance(optimiser, torch.optim.Adam):
                optimiser.zero_grad()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=0)


class Line(nn.Module):
    """One weight, which a step of size 1 moves by about 1."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def pull(self) -> None:
        """Set the gradient of a line that falls by 10 a unit."""
        (-10 * self.weight).sum().backward()


def test_the_best_epoch_is_kept_and_patience_ends_the_training() -> None:
    line, values = Line(), []

    def better(epoch: int) -> bool:
        values.append(line.weight.item())
        return epoch in (1, 3)

    found = optimise(line, line.pull, steps=range(1, 21), lr=1.0, weight_decay=0.0, epoch_steps=2, better=better,
                          patience=4)  # fmt: skip
    assert found == 3 and len(values) == 7 and not line.training
    assert values == pytest.approx([2.0 * epoch for epoch in range(1, 8)], abs=1e-4)
    assert line.weight.item() == values[2]


def test_without_a_choice_the_last_epoch_is_kept() -> None:
    line = Line()
    assert optimise(line, line.pull, steps=range(1, 6), lr=1.0, weight_decay=0.0) == 5
    assert line.weight.item() == pytest.approx(5.0, abs=1e-4)


def steppers(root: Path) -> set[str]:
    """Return the modules of the curator that call ``step()`` of something: a training loop of their own."""
    found = set()
    for path in (root / "curator").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step":
                found.add(str(path.relative_to(root / "curator")))
    return found


def test_no_other_module_of_the_curator_has_a_training_loop() -> None:
    """Solitude's edge weights are stepped after each step of its network, in this loop."""
    assert steppers(PACKAGE) == {LOOP, "learning/edge_weights.py"}
