"""Base classes of mechanisms: of all, of those about features in a public range, and of those about a neighbour list.

A feature x in [low, high] may be put on a public grid of whole steps 0 .. grid first. A
value outside the range is clamped; a value that is no number counts as ``low``.

The neighbour list of device i is a row of bits. With ``both`` it has one bit for every j != i, so
each pair stands in two rows. With ``one-end`` it has one bit for every j < i. The diagonal
is constant and public, so it is never in the row. A device that enrolled as ``one-end``
answers only mechanisms that read no more than that.

A mechanism of another package whose report is a row of bits derives from :class:`AdjacencyBits`. It needs
``perturb``, ``log_probability`` and ``loss_of`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray
from ldpsim.devices.data.population import Record, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.bits import pack_bits, unpack_bits, unpack_many
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.mechanisms.stacked_reports import Decoded, ReportStack, SparseStack, sparse_one_by_one
from ldpsim.devices.noise import AT_ONCE, Draws, NoiseStream

Reporting = Literal["both", "one-end"]
Grouping = tuple[int, ...] | None  # public group of every node, where a stage of a query fills one in
FEW = 8  # fewer devices each draw from their own stream; so many, or more, draw together
IN_CLEAR = 1e9  # log-odds of a value that is reported in clear: noise can never add up to as much


def dense_features(records: Sequence[Record], d: int) -> NDArray[np.float32]:
    """float32 (len(records), d): the features; a column outside 0 .. d - 1 counts as the nearest one."""
    people, dense = records_by_column(records), np.zeros((len(records), d), np.float32)
    rows = np.repeat(np.arange(len(people)), people.feature_counts)
    dense[rows, people.feature_indices.clip(0, d - 1)] = people.feature_values  # a column's last value counts
    return dense


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

    A device calls :meth:`respond`. A curator calls :meth:`stacker`, then :meth:`estimate`, :meth:`evidence` and
    :meth:`loss`. A class has ``name``, ``version``, ``reads``, :meth:`agrees_with`, :meth:`perturb`,
    :meth:`encode`, :meth:`decode`, :meth:`log_probability` and :meth:`loss_of`; all else has a default.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    sampler: ClassVar[int] = 1  # version of the way in which a report is drawn from the noise
    reads: ClassVar[tuple[str, ...]]  # attributes that the report depends on, the one that it is asked under first
    reporting: Reporting = "both"  # the ends of a pair that report it; "both" reads the whole neighbour list
    in_clear: ClassVar[bool] = False  # the report is the value
    attained: ClassVar[bool] = False  # some inputs attain its losses, of an entry and of the whole

    @property
    def field(self) -> str:
        """Name of the array of ``Reports`` that :meth:`stacker` fills.

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

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> Any:
        """Return the part of a record that :meth:`perturb` takes.

        By default this is the label, the dense features (float32, ``d`` of them) or the
        neighbours' ids. Nothing is raised, whatever the data.
        """
        if self.reads[0] == "label":
            return record.label
        if self.reads[0] == "features":
            return dense_features([record], getattr(self, "d"))[0]  # noqa: B009 - not every mechanism has one
        return record.neighbours

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        """Draw a report about ``value``."""
        raise NotImplementedError

    def respond(
        self, records: Sequence[Record], streams: Sequence[NoiseStream], *, devices: Sequence[int],
        grouping: Grouping = None,
    ) -> list[bytes]:  # fmt: skip
        """Return the bytes of a fresh report about each record. A device calls nothing else.

        Args:
            records: The records of the devices.
            streams: The noise of each one.
            devices: The devices' public numbers.
            grouping: The stage's public grouping.
        """
        return [
            self.encode(self.perturb(self.value_of(record, device=device, grouping=grouping), noise))
            for record, noise, device in zip(records, streams, devices, strict=True)
        ]

    def encode(self, report: Any) -> bytes:
        """Return the report's bytes on the wire; :meth:`decode` reads them back."""
        raise NotImplementedError

    def decode(self, data: bytes, *, device: int) -> Any:
        """Read a report; ValueError for bytes that :meth:`encode` never writes."""
        raise NotImplementedError

    def stacker(self, n: int) -> ReportStack:
        """Return what makes one array or sparse matrix with n rows of the reports of many devices.

        By default labels that are reported as one integer become int64 (n,), -1 where no report came, and
        reports that are arrays of one shape are stacked, 0 where no report came.
        """
        return Decoded(self.decode, n, labels=self.reads[0] == "label")

    def log_probability(self, report: Any, value: Any) -> float:
        """Return ln Pr[report | value], natural logarithm."""
        raise NotImplementedError

    def estimate(self, report: Any) -> Any:
        """Return an unbiased estimate of ``value`` from one report."""
        raise NotImplementedError

    @property
    def flip_probability(self) -> float | None:
        """Probability that a reported bit is not the true one, the same for a 0 and a 1; 0 in clear.

        A bit of a feature: at either end of its range. None where a report is something else, or has another law.
        """
        return None

    @property
    def weight(self) -> float | None:
        """Log-odds of one reported bit or category; None where a report is something else.

        A bit: ln Pr[1 | high] / Pr[1 | low]. A category: ln Pr[it | it is true] / Pr[it | another is].
        """
        return None

    def evidence(self, report: Any) -> FloatArray | None:
        """Return ln Pr[report | high] / Pr[report | low] of each entry, the others being equal.

        For a label: the log-likelihood of each category, up to a constant. None for a
        mechanism whose reports say nothing about single entries.
        """
        if self.weight is None:
            return None
        return np.asarray(self.weight * (2.0 * np.asarray(report) - 1))

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        """Return the exact loss when so many entries change, None: the whole attribute.

        Of this device, or the largest of any device. It is 0 where nothing changes, never falls as the number grows,
        and is never above the loss of the whole (:func:`changes`).
        """
        raise NotImplementedError

    def loss(self, *, device: int | None = None) -> Loss:
        """Return the exact loss of one entry, and of the whole attribute."""
        return Loss(self.loss_of(1, device=device), self.loss_of(device=device))


class DrawnTogether(Mechanism):
    """Mechanism whose :meth:`perturb` takes one value and its stream, or the values of several devices and their draws.

    So it works on the last axis of ``value``, and a device's bytes are the same alone and among others.
    """

    @property
    def words(self) -> int:
        """Words of noise that a report takes as a rule."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """Numbers that are held for one device while its report is drawn."""
        return self.words

    def values_of_many(self, records: Sequence[Record], *, devices: Sequence[int]) -> NDArray[Any]:
        """Return the values of several devices, (devices, ...)."""
        if self.reads[0] == "features":
            return dense_features(records, getattr(self, "d"))  # noqa: B009
        return records_by_column(records).labels

    def reports_of(self, records: Sequence[Record], draws: Draws, *, devices: Sequence[int]) -> NDArray[Any]:
        """Return fresh reports of several devices, (devices, ...)."""
        return self.perturb(self.values_of_many(records, devices=devices), draws)  # type: ignore[arg-type]

    def encode(self, report: Any) -> bytes:
        return self.encode_rows(np.asarray(report)[None])[0]

    def encode_rows(self, reports: NDArray[Any]) -> list[bytes]:
        """Return the bytes of each of several reports (devices, ...)."""
        raise NotImplementedError

    def respond(
        self, records: Sequence[Record], streams: Sequence[NoiseStream], *, devices: Sequence[int],
        grouping: Grouping = None,
    ) -> list[bytes]:  # fmt: skip
        if len(records) < FEW:
            return super().respond(records, streams, devices=devices, grouping=grouping)
        reports: list[bytes] = []
        step = max(1, AT_ONCE // self.width)
        for first in range(0, len(records), step):
            part = slice(first, first + step)
            draws = Draws(streams[part], self.words)
            reports += self.encode_rows(self.reports_of(records[part], draws, devices=devices[part]))
        return reports


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


def existing(neighbours: np.ndarray, n: int) -> np.ndarray:
    """Return the sorted ids, each once; an id that no node has counts as the nearest one, as in a row of bits."""
    ids = np.sort(neighbours.astype(np.int64).clip(0, n - 1))
    return ids if len(ids) < 2 else ids[np.concatenate(([True], ids[1:] != ids[:-1]))]


class AdjacencyMechanism(Mechanism):
    """Mechanism that reads the row of bits; its dataclass has the fields ``n`` and ``reporting``.

    Its report has any form; it names the ``field`` that it fills, and has the ``stacker`` that does.
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

    def positions(self, device: int, nodes: np.ndarray) -> np.ndarray:
        """Return the places of ``nodes`` in this device's row.

        Nodes that are not in the row are dropped silently: the device itself, nodes that do
        not exist and, with ``one-end``, nodes after the device.
        """
        end = device if self.reporting == "one-end" else self.n
        reported = nodes[(nodes >= 0) & (nodes < end) & (nodes != device)]
        return reported - (reported > device)

    def nodes(self, device: int, positions: np.ndarray) -> np.ndarray:
        """Return the nodes at ``positions`` of the row: the inverse of :meth:`positions`."""
        return positions + (positions >= device) if self.reporting == "both" else positions

    def row(self, device: int, neighbours: np.ndarray) -> BoolArray:
        """bool (targets,): this device's row before noise.

        An id that no node has counts as the nearest one. Nothing is raised, whatever the data.
        """
        whole = np.zeros(self.n, np.bool_)
        whole.put(neighbours, True, mode="clip")
        after = () if self.reporting == "one-end" else (whole[device + 1 :],)
        return np.concatenate((whole[:device], *after))

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> Any:
        return self.row(device, record.neighbours)

    def most_targets(self, device: int | None, changed: int | None = None) -> int:
        """Return how many bits this device's row has, or this number if it is smaller; of the longest row, if None."""
        return changes(self.n - 1 if device is None else self.targets(device), changed)


class AdjacencyBits(AdjacencyMechanism):
    """Mechanism whose report is one bit for each target, in the order of the row.

    ``value`` and ``report``: bool (number of targets,), by target in rising order.
    """

    @property
    def flip_odds(self) -> float | None:
        """p / (1 - p) of the flip probability p."""
        p = self.flip_probability
        return None if p is None else p / (1 - p)

    def encode(self, report: BoolArray) -> bytes:
        return pack_bits(report)

    def decode(self, data: bytes, *, device: int) -> BoolArray:
        return unpack_bits(data, self.targets(device))

    def stacker(self, n: int) -> ReportStack:
        """bool CSR (n, n): row i holds the ones that device i reported."""
        coded = type(self).decode is AdjacencyBits.decode
        return SparseStack(self._ones_of_many if coded else sparse_one_by_one(self._ones), (n, n))

    def _ones(self, data: bytes, *, device: int) -> tuple[IntArray]:
        """Return the sorted nodes about which a report says 1; ValueError for a report that is no row of bits."""
        report = np.asarray(self.decode(data, device=device))
        if report.dtype != np.bool_ or report.shape != (self.targets(device),):
            raise ValueError(f"a report of {self.name} is no row of bits: it needs a stacker of its own")
        return (self.nodes(device, np.flatnonzero(report)),)

    def _ones_of_many(self, rows: Sequence[bytes], devices: IntArray) -> tuple[IntArray, IntArray]:
        both = self.reporting == "both"
        places, counts = unpack_many(rows, np.full(len(rows), self.n - 1) if both else devices)
        return (places + (places >= np.repeat(devices.astype(places.dtype), counts)) if both else places), counts
