"""Rough memory of a run, from public sizes: one rule for each kind of method.

    bytes = 600 MiB + n (900 + 4 d) + 5 R + bytes of a unit * number of units

for n people with d features, and R ones in all neighbour lists as reported, false ones included. The unit is what a
kind of method (``MethodSpec.memory``) holds most of beside that; :data:`UNIT_BYTES` has its bytes. Peaks that were
measured, with and without null models, for 3,000 to 1,000,000 people, lie within a factor of :data:`ERROR` of the
rule. So a run is put into one of three classes, and no bytes are promised.
"""

from __future__ import annotations

from typing import Literal

ERROR = 2.0  # factor between a measured peak and the rule
PROCESS = 600 << 20  # Python, PyTorch and what a null model works on at a time
A_PERSON, A_FEATURE, A_ONE = 900.0, 4.0, 5.0
# Kind -> bytes of a unit. An end is a reported one, or that of a public edge where no list is asked for.
UNIT_BYTES = {
    "reports": 0.0,  # the curator keeps few edges of them, or has the public ones
    "likely pairs": 80.0,  # an end, where noise names more than NOISY of all pairs; else nothing
    "edges": 80.0,  # an end: each becomes an edge, or has a probability
    "weighted edges": 500.0,  # an end: each has values of its own while the network is trained
    "messages": 30.0,  # an end of a true edge and a class: belief propagation
    "pairs": 10.0,  # a pair of people
}
NOISY = 0.15

MemoryClass = Literal["fits", "close", "does not fit"]


def peak_bytes(kind: str, *, n: int, d: int, classes: int, edges: float, ones: float) -> float:
    """Return the bytes of a run at its peak, within a factor of :data:`ERROR`.

    Args:
        kind: One of :data:`UNIT_BYTES`.
        n, d, classes: People, features that the curator reads, classes.
        edges: Undirected edges.
        ones: Ones in all neighbour lists as reported; 0 if none is asked for.

    >>> round(peak_bytes("reports", n=1_000_000, d=600, classes=6, edges=2.5e6, ones=340e6) / 2**20)
    5368
    """
    units = {"messages": 2 * edges * classes, "pairs": float(n) ** 2}.get(kind, ones or 2 * edges)
    if kind == "likely pairs" and ones <= NOISY * n**2:
        units = 0.0
    return PROCESS + n * (A_PERSON + A_FEATURE * d) + A_ONE * ones + UNIT_BYTES[kind] * units


def memory_class(peak: float, room: float) -> MemoryClass:
    """Return whether a run of this peak fits into ``room`` bytes.

    >>> [memory_class(peak, 8.0) for peak in (4.0, 4.1, 16.0, 16.1)]
    ['fits', 'close', 'close', 'does not fit']
    """
    if peak * ERROR <= room:
        return "fits"
    return "close" if peak <= room * ERROR else "does not fit"
