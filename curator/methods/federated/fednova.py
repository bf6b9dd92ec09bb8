"""FedNova: FedAvg of devices that take unequal numbers of local steps, each update divided by its number.

Wang et al. 2020, https://arxiv.org/abs/2007.07481. In each round device i takes t_i steps, and

    x <- x + t (mean over the devices of (y_i - x) / t_i),    t = mean of t_i.

Where all numbers are equal this is FedAvg.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.curator.methods.federated.federated import STEPS
from ldpsim.curator.methods.parameters import parameter
from ldpsim.curator.setting_error import SettingError


@dataclass(frozen=True)
class FedNova(FedAvgMLP):
    """FedNova (Wang et al. 2020, https://arxiv.org/abs/2007.07481) of a perceptron on each device's own record.

    In each round a device takes ``least_steps`` to ``local_steps`` gradient steps, drawn uniformly, as slow and fast
    devices would in the same time. The server divides an update by its number of steps, and multiplies the mean by the
    mean number. Where all numbers are equal this is FedAvg.

    Args:
        least_steps: Smallest number of gradient steps of an answer; the largest one is ``local_steps``.
        normalised: Whether updates are divided by their number of steps; false: FedAvg of the same updates.

    Raises:
        ValueError: for a parameter outside its range.
    """

    least_steps: int = parameter(1, STEPS)
    normalised: bool = True

    spec = replace(
        FedAvgMLP.spec, name="fednova", paper="Wang et al., Tackling the Objective Inconsistency Problem (FedNova)",
        strategy="fednova", optimisers=("average",),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least_steps > self.local_steps:
            raise SettingError(f"least_steps={self.least_steps}", f"must be 1..{self.local_steps}")
