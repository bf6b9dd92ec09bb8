"""Base classes of mechanisms: of all, of those about features in a public range, and of those about a neighbour list.

A feature x in [low, high] may be put on a public grid of whole steps 0 .. grid first. A
value outside the range is clamped; a value that is no number counts as ``low``.

The neighbour list of device i is a row of bits. With ``both`` it has one bit for every j != i, so
each pair stands in two rows. With ``one-end`` it has one bit for every j < i. The diagonal
is constant and public, so it is never in the row. A device that enrolled as ``one-end``
answers only mechanisms that read no more than that.

A mechanism of another package whose report is a row of bits derives from :class:`AdjacencyBits`. It needs
``draw``, ``log_probability`` and ``loss_of`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.data.population import Record, Records, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.bits import pack_rows, unpack_many
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.mechanisms.sparse_rows import ROW, SparseRows
from ldpsim.devices.noise import AT_ONCE, Noise

Reporting = Literal["both", "one-end"]
Grouping = tuple[int, ...] | None  # public group of every node, where a stage of a query fills one in
IN_CLEAR = 1e9  # log-odds of a value that is reported in clear: noise can never add up to as much


def dense_features(records: Sequence[Record], d: int) -> NDArray[np.float32]:
    """float32 (len(records), d): the features; a column outside 0 .. d - 1 counts as the nearest one."""
    people, dense = records_by_column(records), np.zeros((len(records), d), np.float32)
    rows = np.repeat(np.arange(len(people)), people.feature_counts)
    dense[rows, people.feature_indices.clip(0, d - 1)] = people.feature_values  # a column's last value counts
    return dense


def one_value(mechanism: Mechanism, record: Record, device: int, grouping: Grouping = None) -> Any:
    """Return the value of one person: a batch of one."""
    return mechanism.values(records_by_column([record]), np.array([device], np.int64), grouping)[0]


def one_report(mechanism: Mechanism, data: bytes, device: int) -> Any:
    """Return one report, decoded; ValueError for bytes that are none."""
    return mechanism.decode([data], np.array([device], np.int64))[0]


def whole_numbers(values: object, *, least: int) -> bool:
    """Return whether this is a tuple of plain integers (no booleans) of at least ``least``."""
    return isinstance(values, tuple) and all(type(value) is int and value >= least for value in values)


def changes(most: int, changed: int | None) -> int:
    """Return how many of ``most`` entries differ where ``changed`` are said to: all for None, and never more."""
    return most if changed is None else min(most, changed)


class Mechanism:
    """A randomiser: a frozen dataclass of public parameters.

    The fields are JSON values. They are all that a query contains and all that its
    fingerprint covers. ``value`` and ``report`` are dense arrays or one integer; each class
    states their shapes.

    A device calls :meth:`respond`: values, draw, encode, for many devices at once; one device is a batch of one. A
    curator calls :meth:`decode` and :meth:`rows`, then :meth:`estimate`, :meth:`evidence` and :meth:`loss`. A class
    has ``name``, ``version``, ``reads``, :meth:`agrees_with`, :meth:`draw`, :meth:`encode`, :meth:`decode`,
    :meth:`log_probability` and :meth:`loss_of`; all else has a default. These last two, :meth:`estimate` and
    :meth:`evidence` take one value and one report, a row of what :meth:`values` and :meth:`decode` return.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    # Version of the way in which a report is drawn from the noise; an older question is replayed, but not drawn.
    sampler: ClassVar[int] = 2
    reads: ClassVar[tuple[str, ...]]  # attributes that the report depends on, the one that it is asked under first
    reporting: Reporting = "both"  # the ends of a pair that report it; "both" reads the whole neighbour list
    in_clear: ClassVar[bool] = False  # the report is the value
    loss_is_tight: ClassVar[bool] = False  # some inputs attain its losses, of an entry and of the whole

    @property
    def field(self) -> str:
        """Name of the array of ``Reports`` that the reports fill.

        ``labels`` or ``features`` by the attribute; a mechanism about the adjacency names
        one itself.
        """
        return {"label": "labels", "features": "features"}.get(self.reads[0], self.name)

    def agrees_with(self, facts: PublicFacts) -> bool:
        """Return whether the public facts in the parameters are the ones given."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """Return the public parameters as JSON values."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]

    @property
    def width(self) -> int:
        """Numbers that are held for one device while its report is drawn."""
        return int(getattr(self, "d", 1))

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> Any:
        """Return the part of each person's record that :meth:`draw` takes, with one row for each.

        By default this is the labels, int64 (people,), or the dense features, float32 (people, ``d``). Nothing is
        raised, whatever the data.

        Args:
            people: The records.
            devices: int64 (people,): the devices' public numbers.
            grouping: The stage's public grouping.
        """
        if self.reads[0] == "label":
            return people.labels
        return dense_features(people, getattr(self, "d"))  # noqa: B009 - not every mechanism has one

    def draw(self, values: Any, noise: Noise) -> Any:
        """Draw a report about each of these values, with one row for each."""
        raise NotImplementedError

    def encode(self, reports: Any, devices: IntArray) -> list[bytes]:
        """Return the bytes of each report on the wire; :meth:`decode` reads them back."""
        raise NotImplementedError

    def decode(self, data: Sequence[bytes], devices: IntArray) -> Any:
        """Read reports, with one row for each, none too; ValueError for bytes that :meth:`encode` never writes."""
        raise NotImplementedError

    def rows(self, reports: Any, devices: IntArray) -> Any:
        """Return decoded reports as the rows of the array or sparse matrix in ``Reports``."""
        return reports

    def respond(
        self, records: Sequence[Record], noise: Noise, *, devices: Sequence[int], grouping: Grouping = None
    ) -> list[bytes]:
        """Return the bytes of a fresh report about each record. A device calls nothing else.

        Args:
            records: The records of the devices.
            noise: Their noise.
            devices: The devices' public numbers.
            grouping: The stage's public grouping.
        """
        people, numbers, reports = records_by_column(records), np.asarray(devices, np.int64), list[bytes]()
        step = max(1, AT_ONCE // max(1, self.width))
        for first in range(0, len(numbers), step):
            part = slice(first, first + step)
            own = noise if len(numbers) <= step else noise[part]
            values = self.values(people[part], numbers[part], grouping)
            reports += self.encode(self.draw(values, own), numbers[part])
        return reports

    def log_probability(self, report: Any, value: Any) -> float:
        """Return ln Pr[report | value], natural logarithm."""
        raise NotImplementedError

    def estimate(self, report: Any) -> Any:
        """Return an unbiased estimate of ``value`` from one report."""
        raise NotImplementedError

    def evidence(self, report: Any) -> FloatArray | None:
        """Return ln Pr[report | high] / Pr[report | low] of each entry, the others being equal.

        For a label: the log-likelihood of each category, up to a constant. None for a
        mechanism whose reports say nothing about single entries.
        """
        return None

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        """Return the exact loss when so many entries change, None: the whole attribute.

        Of this device, or the largest of any device. It is 0 where nothing changes, never falls as the number grows,
        and is never above the loss of the whole (:func:`changes`).
        """
        raise NotImplementedError

    def loss(self, *, device: int | None = None) -> Loss:
        """Return the exact loss of one entry, and of the whole attribute; at its ``delta`` where it has that field."""
        return Loss(self.loss_of(1, device=device), self.loss_of(device=device), getattr(self, "delta", 0.0))


class FeatureRange(Mechanism):
    """Mechanism about d features in [low, high]; its dataclass has these three fields."""

    d: int
    low: float
    high: float
    reads: ClassVar[tuple[str, ...]] = ("features",)
    field: ClassVar[str] = "features"

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.d, self.low, self.high) == (facts.d, facts.feature_low, facts.feature_high)

    def __post_init__(self) -> None:
        if self.d < 1 or not 0 < self.high - self.low < math.inf:
            raise ValueError(
                f"{self.name} needs d >= 1 and a finite range low < high, not d={self.d}, [{self.low}, {self.high}]"
            )


class FeatureGrid(FeatureRange):
    """Mechanism that puts features on a grid of steps; its dataclass has the field ``grid`` too."""

    grid: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.grid <= 1 << 20:
            raise ValueError(f"{self.name} needs a grid of 1..2**20 steps, not {self.grid}")

    @property
    def step(self) -> float:
        """Width of one step."""
        return (self.high - self.low) / self.grid

    def steps(self, value: np.ndarray) -> np.ndarray:
        """int64: values on the grid, 0 .. grid."""
        place = np.fmax(value, self.low, dtype=np.float64)  # fmax: no number counts as low
        np.fmin(place, self.high, out=place)
        place -= self.low
        place /= self.high - self.low
        place *= self.grid
        return np.rint(place, out=place).astype(np.int64)


class AdjacencyMechanism(Mechanism):
    """Mechanism that reads the row of bits; its dataclass has the fields ``n`` and ``reporting``.

    Reports may have any shape. A subclass defines ``field``, the array in ``Reports``, and ``encode`` and ``decode``.
    """

    n: int
    reporting: Reporting
    reads: ClassVar[tuple[str, ...]] = ("adjacency",)
    field: ClassVar[str] = "adjacency"

    def __post_init__(self) -> None:
        if self.n < 1 or self.reporting not in ("both", "one-end"):
            raise ValueError(f"{self.name} needs n >= 1 and reporting both or one-end, not {self.n}, {self.reporting}")

    def agrees_with(self, facts: PublicFacts) -> bool:
        return self.n == facts.n

    def targets(self, device: int) -> int:
        """Return how many bits this device's row has."""
        return self.n - 1 if self.reporting == "both" else device

    def nodes(self, device: Any, positions: np.ndarray) -> np.ndarray:
        """Return the nodes at ``positions`` of the row of a device, or each of one of several devices."""
        return positions + (positions >= device) if self.reporting == "both" else positions

    @property
    def width(self) -> int:
        return self.n

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> Any:
        """Return the row of bits of each device, as :class:`SparseRows`.

        An id that no node has counts as the nearest one. Nothing is raised, whatever the data.
        """
        rows = np.repeat(np.arange(len(people)), people.neighbour_counts)
        nodes, own = people.neighbours.astype(np.int64).clip(0, self.n - 1), devices[rows]
        places, bits = nodes - (nodes > own), self.no_ones(devices)
        numbers = (rows << ROW | places)[(nodes != own) & (places < bits.sizes[rows])]
        numbers.sort()
        return bits.with_numbers(numbers[np.diff(numbers, prepend=-1) != 0])

    def no_ones(self, devices: IntArray) -> SparseRows:
        """Return the row of each device without any one."""
        lengths = devices if self.reporting == "one-end" else None
        return SparseRows(np.zeros(0, np.int64), np.zeros(len(devices), np.int64), self.n - 1, lengths=lengths)

    def most_targets(self, device: int | None, changed: int | None = None) -> int:
        """Return how many bits this device's row has, or this number if it is smaller; of the longest row, if None."""
        return changes(self.n - 1 if device is None else self.targets(device), changed)


class AdjacencyBits(AdjacencyMechanism):
    """Mechanism whose report is one bit for each target, in the order of the row.

    ``value`` and ``report``: bool (number of targets,), by target in rising order; those of many devices are
    :class:`SparseRows`.
    """

    @property
    def flip_probability(self) -> float | None:
        """Probability that a reported bit is not the true one, the same for a 0 and a 1; None under another law."""
        return None

    @property
    def flip_odds(self) -> float | None:
        """p / (1 - p) of the flip probability p."""
        p = self.flip_probability
        return None if p is None else p / (1 - p)

    def encode(self, reports: SparseRows, devices: IntArray) -> list[bytes]:
        return pack_rows(reports.columns, reports.counts, reports.sizes)

    def decode(self, data: Sequence[bytes], devices: IntArray) -> SparseRows:
        rows = self.no_ones(devices)
        places, counts = unpack_many(data, rows.sizes)
        return replace(rows, columns=places, counts=counts)

    def rows(self, reports: SparseRows, devices: IntArray) -> SparseRows:
        """Return the ones that each device reported, by node."""
        if not isinstance(reports, SparseRows) or reports.values is not None:
            raise ValueError(f"a report of {self.name} is no row of bits: it needs rows of its own")
        owners = np.repeat(devices.astype(reports.columns.dtype), reports.counts)
        return SparseRows(self.nodes(owners, reports.columns), reports.counts, self.n)
