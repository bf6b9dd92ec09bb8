"""Memory of the curator's work by phase, from public sizes alone: a law, for a decision before anybody is asked.

Every figure is in bytes, above a process that has loaded its libraries and its people. With n people, d features, E
ends of edges that the network is trained on and R ones in all neighbour lists as reported:

    strip        4 n columns of floats that are worked on at a time, at most 64 MiB
    dense        4 n d, features as float32
    a report     5 R (a place and a value), n d / 8 (bits), n d (categories)

The constants of E and R count the arrays that a phase holds at its largest moment. They were checked against measured
peaks (docs/results/scale.md). Methods whose work is n x n by nature have a term in n^2, however few edges there are:
``ldpgcn`` keeps n numbers a person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpsim.curator.linear.scaling import COMPARED, columns_at_once

_MIB = 1 << 20
PROCESS = 345 * _MIB  # Python, scipy and torch
_A_PERSON = 900  # to make a generated population, most of it for words and edges
_A_DEVICE = 300  # that a collection leaves behind in this process, where other processes answer for the devices
_BLOCK = 256 * _MIB  # of rows in double, in ridge regression


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Public sizes that memory depends on.

    Args:
        n, d, classes: People, features, classes.
        edges: Undirected edges that the curator trains on: of the public graph, or as many as it reconstructs.
        ones: Ones in all neighbour lists as reported, false ones included; 0 if none is asked for.
        pairs: Pairs that the method holds at once beside these, as likely links; 0 where they are few.
        hidden: Hidden units of the network.
        heads: Attention heads of a ``gat``; 0 for a network that sums neighbours by sparse products.
    """

    n: int
    d: int
    classes: int
    edges: float
    ones: float = 0.0
    pairs: float = 0.0
    hidden: int = 16
    heads: int = 0

    @property
    def dense(self) -> float:
        """Features as float32."""
        return 4.0 * self.n * self.d

    @property
    def strip(self) -> float:
        """A strip of columns as float32."""
        return 4.0 * self.n * min(self.d, columns_at_once(self.n))

    @property
    def compared(self) -> float:
        """A strip of columns that is compared with the truth, which is wider."""
        return 4.0 * self.n * min(self.d, columns_at_once(self.n, COMPARED))

    @property
    def passes(self) -> float:
        """Activations and gradients of a training step."""
        return 4.0 * self.n * (8 * self.hidden + 8 * self.classes)


@dataclass(frozen=True)
class MemoryLaw:
    """Bytes of a method's phases.

    Args:
        report: A one of a reported list.
        work: A one, while the graph is reconstructed, beside the report itself.
        listed: Whether every one becomes an end of an edge of the network; else the edges are ``Sizes.edges``.
        rows: Dense feature matrices while the network is trained.
        codes: Bytes of a feature's report.
        pairs: Bytes of a pair of people.
        likely: Bytes of a pair of ``Sizes.pairs``.
        tables: Bytes of a person and class: tables of class probabilities.
        messages: Bytes of an end of an edge and class: what belief propagation sends.
        learned: Whether edge weights are learned, so that each end's values are held one by one.
        large: Number of entries of the features above which ``large_rows`` dense matrices are kept.
        large_rows: That number.
        estimates: Whether the features that null models read are a dense matrix of estimates from the reports.
    """

    report: float = 5.0
    work: float = 0.0
    listed: bool = False
    rows: float = 2.0
    codes: float = 0.125
    pairs: float = 0.0
    likely: float = 0.0
    tables: float = 0.0
    messages: float = 0.0
    learned: bool = False
    large: float = math.inf
    large_rows: float = 1.0
    estimates: bool = False


_A_VALUE = 20.0  # bytes of a value at an end: gathered, weighted, and three gradients
_AN_END = 60.0  # bytes of an end of an edge: int64 ends, the matrix, its transpose and what makes them


def memory_by_phase(law: MemoryLaw, sizes: Sizes, *, nulls: bool = False) -> dict[str, float]:
    """Return the bytes of each phase above the process itself.

    ``population`` is needed while a generated graph is made. The peak of a run is ``PROCESS`` and the largest phase.
    For null models the reports and what they tell of features are kept to the end, and all the work is done once more
    on the reports of other people.

    >>> sizes = Sizes(n=100_000, d=256, classes=5, edges=350_000)
    >>> {name: round(value / 2**20) for name, value in memory_by_phase(MemoryLaw(rows=1.0, codes=0.1), sizes).items()}
    {'population': 86, 'reconstruct': 320, 'train': 226, 'evaluate': 589}
    """
    n, entries = float(sizes.n), float(sizes.n) * sizes.d
    held = n * 200 + 16 * sizes.edges  # the people themselves
    rows = law.rows if entries <= law.large else law.large_rows
    features = min(rows, 1.0) * sizes.dense  # features of the reconstructed graph
    reports = law.report * sizes.ones + law.codes * entries
    ends = sizes.ones if law.listed else 2 * sizes.edges
    values = max(sizes.heads, law.learned) * (sizes.hidden + sizes.classes)  # at each end
    own = (
        law.pairs * n * n + law.likely * sizes.pairs + sizes.classes * (law.tables * n + law.messages * 2 * sizes.edges)
    )
    phases = {
        "population": _A_PERSON * n,
        "reconstruct": held + reports + law.work * sizes.ones + own + features + (4 * sizes.strip if law.rows else 0.0),
        "train": held + rows * sizes.dense + sizes.passes + (_AN_END + _A_VALUE * values) * ends,
        "evaluate": held + features + (7 * sizes.compared if law.rows else 0.0) + _AN_END * ends,
    }
    if nulls:
        estimate = sizes.dense if law.estimates else 0.0
        alone = held + 2 * estimate + min(_BLOCK, 8 * entries)  # rows of length 1, of ridge regression and a perceptron
        phases["nulls"] = reports + estimate + max(phases["reconstruct"], phases["evaluate"], phases["train"], alone)
    return phases


def peak_bytes(law: MemoryLaw, sizes: Sizes, *, devices: bool = True, nulls: bool = False) -> float:
    """Return the largest memory of a run, in bytes.

    Args:
        law: That of the method.
        sizes: Public sizes.
        devices: Whether devices are asked too, from 50,000 on in processes of their own.
        nulls: Whether null models are taken.
    """
    phases = memory_by_phase(law, sizes, nulls=nulls)
    return PROCESS + max(phases.values()) + (_A_DEVICE * sizes.n if devices else 0.0)
