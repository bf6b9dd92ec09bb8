"""Base of all mechanisms: a frozen dataclass of public parameters, which draws and codes reports of many people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.data.records import Record, Records, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.noise import AT_ONCE, Noise

Reporting = Literal["both", "one-end"]
Grouping = tuple[int, ...] | None  # public group of every node, where a stage of a query fills one in


def dense_features(records: Sequence[Record], d: int) -> NDArray[np.float32]:
    """float32 (len(records), d): the features; a column outside 0 .. d - 1 counts as the nearest one."""
    people, dense = records_by_column(records), np.zeros((len(records), d), np.float32)
    rows = np.repeat(np.arange(len(people)), people.feature_counts)
    dense[rows, people.feature_indices.clip(0, d - 1)] = people.feature_values  # a column's last value counts
    return dense


def changes(most: int, changed: int | None) -> int:
    """Return how many of ``most`` entries differ where ``changed`` are said to: all for None, and never more."""
    return most if changed is None else min(most, changed)


class Mechanism:
    """A randomiser: a frozen dataclass of public parameters.

    The fields are JSON values. They are all that a query contains and all that its fingerprint covers. Values and
    reports of several people are an array with a row for each, or a
    :class:`~ldpsim.devices.mechanisms.sparse_batch.SparseBatch`; each class states the shape of one of them.

    A device calls :meth:`respond`: values, draw, encode, for many devices at once; one device is a batch of one. A
    curator calls :meth:`decode` and :meth:`rows`, then :meth:`estimate`, :meth:`log_likelihood` and :meth:`loss`. A
    class has ``name``, ``version``, ``reads``, :meth:`agrees_with`, :meth:`draw`, :meth:`encode`, :meth:`decode`,
    :meth:`log_probability` and :meth:`loss_of`; all else has a default. These last two, :meth:`estimate` and
    :meth:`log_likelihood` take one value and one report, a row of what :meth:`values` and :meth:`decode` return.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    # Version of the way in which a report is drawn from the noise; an older question is replayed, but not drawn.
    sampler: ClassVar[int] = 2
    reads: ClassVar[tuple[str, ...]]  # attributes that the report depends on, the one that it is asked under first
    reporting: Reporting = "both"  # the ends of a pair that report it; "both" reads the whole neighbour list
    in_clear: ClassVar[bool] = False  # the report is the value
    summed: ClassVar[bool] = False  # a party adds the reports, and nobody else sees one
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

    def log_likelihood(self, report: Any) -> FloatArray | None:
        """Return the log-likelihood of the value given the report, by :meth:`log_probability`, up to a constant.

        About a label it is that of each category. About a list or features it is that of each entry, the others being
        equal: ln Pr[report | high] - ln Pr[report | low]. None for a mechanism whose reports say nothing about single
        entries.
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


def equal_values(mechanism: Mechanism, record: Record, size: int, device: int, grouping: Grouping = None) -> Any:
    """Return the values of so many people with one record, as :meth:`Mechanism.draw` takes them."""
    return mechanism.values(records_by_column([record] * size), np.full(size, device, np.int64), grouping)


def one_value(mechanism: Mechanism, record: Record, device: int, grouping: Grouping = None) -> Any:
    """Return the value of one person: a batch of one."""
    return equal_values(mechanism, record, 1, device, grouping)[0]


def one_report(mechanism: Mechanism, data: bytes, device: int) -> Any:
    """Return one report, decoded; ValueError for bytes that are none."""
    return mechanism.decode([data], np.array([device], np.int64))[0]
