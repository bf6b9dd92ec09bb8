"""Adam, the optimiser of every training at the curator."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor


class Adam:
    """Adam with an L2 penalty (Kingma and Ba 2015), the same steps as ``torch.optim.Adam``.

    torch's own Adam loads its compiler on the first step, which takes over a second in every
    process. These networks have a few small tensors only.

    Args:
        parameters: Tensors to step; their gradients are cleared after each step.
        lr: Learning rate.
        weight_decay: The gradient gets this times the weights.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> adam = Adam([x], lr=0.1, weight_decay=0.0)
    >>> (x * x).sum().backward()
    >>> adam.step()
    >>> round(x.item(), 4)
    0.9
    """

    def __init__(self, parameters: Iterable[Tensor], *, lr: float, weight_decay: float) -> None:
        self.parameters = list(parameters)
        self.lr, self.weight_decay = lr, weight_decay
        self.steps = 0
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Take one step and clear the gradients."""
        self.steps += 1
        first, second, tiny = 0.9, 0.999, 1e-8
        rate = self.lr / (1 - first**self.steps)
        root = math.sqrt(1 - second**self.steps)
        stepped = [(p, p.grad, *moments) for p, moments in zip(self.parameters, self.moments, strict=True)
                   if p.grad is not None]  # fmt: skip
        if not stepped:
            return
        parameters, gradients, means, squares = zip(*stepped, strict=True)
        if self.weight_decay:
            torch._foreach_add_(gradients, parameters, alpha=self.weight_decay)
        torch._foreach_lerp_(means, gradients, 1 - first)
        torch._foreach_mul_(squares, second)
        torch._foreach_addcmul_(squares, gradients, gradients, value=1 - second)
        roots = torch._foreach_div(torch._foreach_sqrt(squares), root)
        torch._foreach_add_(roots, tiny)
        torch._foreach_addcdiv_(parameters, means, roots, value=-rate)
        for parameter in parameters:
            parameter.grad = None
