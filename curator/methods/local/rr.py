"""Plain randomised response (Warner 1965, https://doi.org/10.1080/01621459.1965.10480775).

The network runs on the reports. Each reported 1 is a directed edge: i takes features from the nodes that it reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks, reported_edges
from ldpsim.curator.methods.memory import MemoryLaw
from ldpsim.curator.reports.reports import Reports


@dataclass(frozen=True)
class RR(LinkMethod):
    """The graph of all reported ones."""

    spec = replace(
        LinkMethod.spec, name="rr", memory=MemoryLaw(work=16.0, listed=True),
        paper="Warner, Randomized Response; a baseline of Blink", training_defaults={"epochs": 200},
        options=LinkMethod.spec.options | {"reporting"},
    )  # fmt: skip

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return every reported 1, from the reported node to the reporter."""
        ones = reports.needed("adjacency")
        return reported_edges(ones), None, {"ones": ones.nnz}
