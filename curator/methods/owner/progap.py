"""ProGAP: K + 1 stages, each of which trains on one more noisy hop.

Sajadmanesh and Gatica-Perez 2024, https://arxiv.org/abs/2304.08928. Stage i has a base f_i and a head g_i; S and A are
those of :mod:`ldpsim.curator.methods.owner.gap`, h the hidden units:

    Z_0 = x                                                        (n, d), the own features
    Z_i = A S(f_(i-1)(Z_(i-1))) + N(0, s^2 D^2),   i = 1 .. K      (n, h), fixed once they are drawn, and not scaled
    scores_i = g_i(S([f_0(Z_0) .. f_i(Z_i)]))                      (n, classes)

Stage i trains all bases so far, f_0 .. f_i, with a head of its own, on the labels. Only the noisy sums are fixed. The
last stage predicts. At the node level there are K noisy hops and K + 1 private trainings under one noise multiplier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import nn

from ldpsim.curator.methods.owner.graph_owner import GraphOwner, Work
from ldpsim.curator.owner.aggregation.layers import Progressive
from ldpsim.curator.owner.aggregation.training import as_read
from ldpsim.devices.array_types import IntArray


@dataclass(frozen=True)
class ProGap(GraphOwner):
    """ProGAP.

    Args:
        others: The parameters of :class:`GraphOwner`.
    """

    spec = replace(
        GraphOwner.spec, name="progap",
        paper="Sajadmanesh, Gatica-Perez, ProGAP: Progressive Graph Neural Networks with Differential \
Privacy Guarantees",
    )  # fmt: skip
    stages_norm: ClassVar[str] = "group"
    printed_by: ClassVar[str] = "rdp"

    def trainings(self) -> int:
        """As :meth:`GraphOwner.trainings`: one for each stage."""
        return self.hops + 1

    def trained(self, work: Work) -> tuple[IntArray, nn.Module]:
        """As :meth:`GraphOwner.trained`."""
        network = work.network(Progressive, stages=self.hops + 1)
        cached: list[Any] = [work.features]
        for stage in range(self.hops + 1):
            network.stage = stage
            if stage:
                network.eval()
                network.stage = stage - 1
                with torch.no_grad():
                    rows = network.own_rows(as_read(cached))
                network.stage = stage
                cached.append(torch.from_numpy(work.hop(rows)))
            work.train(network, cached, network.of_stage())
        return work.classes_of(network, cached), network
