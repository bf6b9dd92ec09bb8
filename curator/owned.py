"""Raw data in an owner's hands.

Only ``strategies`` makes an :class:`OwnedGraph`, and every result that was computed from
one carries its trust level. Local methods do not accept the type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, Split

Trust = Literal["trusted curator", "none"]


@dataclass(frozen=True, eq=False)
class OwnedGraph:
    """A graph as it is, with no noise.

    Args:
        facts: Sizes, ranges and domains.
        split: Division of the nodes.
        features: float32 scipy CSR (n, d).
        edges: int64 (2, m), every undirected edge once.
        labels: int64 (n,), -1 where a person has none.
        trust: ``trusted curator`` where people handed their records to an owner,
            ``none`` for references that nobody would be asked for.

    Raises:
        ValueError: for another trust level.
    """

    facts: PublicFacts
    split: Split
    features: Any = field(repr=False)
    edges: IntArray = field(repr=False)
    labels: IntArray = field(repr=False)
    trust: Trust = "none"

    def __post_init__(self) -> None:
        if self.trust not in ("trusted curator", "none"):
            raise ValueError(f"owned data are of trust 'trusted curator' or 'none', not {self.trust!r}")
