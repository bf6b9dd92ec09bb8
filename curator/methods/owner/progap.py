"""ProGAP: K + 1 stages, each of which trains on one more noisy hop.

Sajadmanesh and Gatica-Perez 2024, https://arxiv.org/abs/2304.08928. Stage 0 reads the own features. Before stage i the
rows of base i - 1 are scaled to norm 1, summed over neighbours and get noise; the noisy sums are kept and are not
scaled again. Stage i trains all bases so far with a head of its own. Only the noisy sums are fixed. At the node level
there are K noisy hops and K + 1 private trainings under one noise multiplier.
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
