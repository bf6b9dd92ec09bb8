"""The training loop of every network of a curator and of an owner, and its optimiser.

The caller has the network and its loss (:mod:`ldpsim.curator.learning.training` that of graph networks), and hands over
a function that computes the gradients g of the loss for the weights w, once for each step. Step t clips them to the
norm c, and is one of Adam (Kingma and Ba 2015):

    g <- g min(1, c / |g|),    g <- g + l w,    m <- .9 m + .1 g,    v <- .999 v + .001 g^2,
    w <- w - r (m / (1 - .9^t)) / (root(v / (1 - .999^t)) + 1e-8),

l the weight decay and r the learning rate. An epoch is a number of steps: one of a full batch, several of mini-batches.
Epoch k has the weights after its steps. The weights that are kept are those of the best epoch, the first of equal ones
where the caller says so, or of the last one. On a CPU the same seeds give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.optim.adam import adam


class Adam:
    """``torch.optim.Adam`` with an L2 penalty, by torch's own function.

    The class of torch loads torch's compiler when it is made, which takes .9 s in every process (PyTorch 2.13, one
    core), a tenth of a small run.

    Args:
        parameters: Tensors to step; their gradients are cleared after each step.
        lr: Learning rate.
        weight_decay: The gradient gets this times the weights.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimiser = Adam([x], lr=0.1, weight_decay=0.0)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> round(x.item(), 4)
    0.9
    """

    def __init__(self, parameters: Iterable[Tensor], *, lr: float, weight_decay: float) -> None:
        self.parameters = list(parameters)
        self.lr, self.weight_decay = lr, weight_decay
        self.state = [(torch.zeros_like(p), torch.zeros_like(p), torch.zeros(())) for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Take one step with the gradients there are, and clear them."""
        stepped = [(p, p.grad, *state) for p, state in zip(self.parameters, self.state, strict=True)
                   if p.grad is not None]  # fmt: skip
        if not stepped:
            return
        parameters, gradients, means, squares, steps = map(list, zip(*stepped, strict=True))
        adam(
            parameters, gradients, means, squares, [], steps, foreach=True, amsgrad=False, beta1=0.9, beta2=0.999,
            lr=self.lr, weight_decay=self.weight_decay, eps=1e-8, maximize=False,
        )  # fmt: skip
        for parameter in parameters:
            parameter.grad = None


def optimise(
    network: nn.Module, gradients: Callable[[], None], *, steps: Iterable[int], lr: float, weight_decay: float,
    weights: Iterable[Tensor] | None = None, epoch_steps: int = 1, better: Callable[[int], bool] | None = None,
    patience: float = math.inf, clip_norm: float = math.inf, after_step: Callable[[], None] | None = None,
) -> int:  # fmt: skip
    """Train a network in place, leave it in the mode of inference, and return the epoch whose weights it has.

    Args:
        network: The network, in the mode of training at each step.
        gradients: Sets the gradients of a step, by one pass and ``backward()`` of its loss.
        steps: Numbers of the steps, from 1.
        lr, weight_decay: Those of :class:`Adam`.
        weights: Those that are trained; None for all of the network.
        epoch_steps: Steps of an epoch.
        better: Whether the weights after this epoch, from 1, are better than all before; None: the last are kept.
        patience: Epochs without a better one after which training ends.
        clip_norm: Largest norm of the whole gradient; a larger gradient is scaled down.
        after_step: Called after every step.
    """
    trained = list(network.parameters() if weights is None else weights)
    optimiser = Adam(trained, lr=lr, weight_decay=weight_decay)
    best, epoch, kept = 0, 0, {}
    for number in steps:
        network.train()
        gradients()
        if clip_norm < math.inf:
            torch.nn.utils.clip_grad_norm_(trained, clip_norm)
        optimiser.step()
        if after_step is not None:
            after_step()
        epoch, rest = divmod(number, epoch_steps)
        if rest or better is None:
            continue
        if better(epoch):
            best, kept = epoch, {name: tensor.clone() for name, tensor in network.state_dict().items()}
        elif epoch - best >= patience:
            break
    if kept:
        network.load_state_dict(kept)
    network.eval()
    return best or epoch
