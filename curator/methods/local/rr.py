"""Plain randomised response (Warner 1965, https://doi.org/10.1080/01621459.1965.10480775).

The network runs on the reports. Each reported 1 is a directed edge: i takes features from the nodes that it reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks, reported_edges
from ldpsim.curator.methods.memory import MemoryLaw
from ldpsim.curator.reports.reports import Reports


@dataclass(frozen=True)
class RR(LinkMethod):
    """The graph of all reported ones."""

    name: ClassVar[str] = "rr"
    memory: ClassVar[MemoryLaw | None] = MemoryLaw(work=16.0, listed=True)
    paper: ClassVar[str] = "Warner, Randomized Response; a baseline of Blink"
    training_defaults: ClassVar[Mapping[str, Any]] = {"epochs": 200}
    options: ClassVar[frozenset[str]] = LinkMethod.options | {"reporting"}

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return every reported 1, from the reported node to the reporter."""
        ones = reports.needed("adjacency")
        return reported_edges(ones), None, {"ones": ones.nnz}
