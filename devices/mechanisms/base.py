"""Base class of all mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.data.records import records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.mechanisms.stacked_reports import DataOf, Kept, ReportStack, numbers_or_rows, same_shape
from ldpsim.devices.noise import NoiseStream

Reporting = Literal["both", "one-end"]
Grouping = tuple[int, ...] | None  # public group of every node, where a stage of a query fills one in
IN_CLEAR = 1e9  # log-odds of a value that is reported in clear: noise can never add up to as much
# Metadata of a field that a later version of ldpsim brought: older questions and fingerprints stay as they are.
LATER = {"later": True}


def dense_features(record: Record, d: int) -> np.ndarray:
    """float32 (d,): the features; a column outside 0 .. d - 1 counts as the nearest one."""
    dense = np.zeros(d, np.float32)
    dense.put(record.feature_indices, record.feature_values, mode="clip")
    return dense


def dense_rows(records: Sequence[Record], d: int) -> NDArray[np.float32]:
    """float32 (len(records), d): the features of each record, as :func:`dense_features`."""
    people = records_by_column(records)
    rows = np.repeat(np.arange(len(people)), people.feature_counts)
    dense = np.zeros((len(people), d), np.float32)
    dense[rows, people.feature_indices.clip(0, d - 1)] = people.feature_values  # a column's last value counts
    return dense


def whole_numbers(values: object, *, least: int) -> bool:
    """Return whether this is a tuple of plain integers (no booleans) of at least ``least``."""
    return isinstance(values, tuple) and all(type(value) is int and value >= least for value in values)


class StepNoise(NamedTuple):
    """Discrete Laplace noise of scale t/s on whole numbers; a value's range has ``grid`` steps."""

    t: int
    s: int
    grid: int = 1


class Mechanism:
    """A randomiser: a frozen dataclass of public parameters.

    The fields are JSON values. They are all that a query contains and all that its
    fingerprint covers. ``value`` and ``report`` are dense arrays or one integer; each class
    states their shapes.

    A device calls :meth:`respond`. A curator calls :meth:`decode` or :meth:`stack`, then
    :meth:`estimate`, :meth:`evidence` and :meth:`loss`.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    sampler: ClassVar[int] = 1  # version of the way in which a report is drawn from the noise
    attributes: ClassVar[frozenset[str]]
    reporting: Reporting = "both"  # the ends of a pair that report it; "both" reads the whole neighbour list
    in_clear: ClassVar[bool] = False  # the report is the value
    attained: ClassVar[bool] = False  # some inputs attain its losses, of an entry and of the whole
    # Parameters that the answers of others decide. A collector's terms leave them open, and state the loss.
    by_answers: ClassVar[frozenset[str]] = frozenset()
    packed: ClassVar[bool] = False  # `stack` returns bits of features, as `np.packbits` gives them
    # `stack` returns a category of each feature; the class has the `domains` and `correction` of GRRFS too.
    coded: ClassVar[bool] = False

    @property
    def field(self) -> str:
        """Name of the array of ``Reports`` that :meth:`stack` fills.

        ``labels`` or ``features`` by the attribute; a mechanism about the adjacency names
        one itself. A name that ``Reports`` does not know is found in ``Reports.others``.
        """
        if "label" in self.attributes:
            return "labels"
        return "features" if "features" in self.attributes else self.name

    @property
    def also_reads(self) -> frozenset[str]:
        """Further attributes that the report depends on."""
        return frozenset()

    def agrees_with(self, facts: PublicFacts) -> bool:
        """Return whether the public facts in the parameters are the ones given."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """Return the public parameters as JSON values, those of ``LATER`` only unless at their default."""
        kept = [entry for entry in fields(self)  # type: ignore[arg-type]
                if not (entry.metadata == LATER and getattr(self, entry.name) == entry.default)]  # fmt: skip
        return {entry.name: getattr(self, entry.name) for entry in kept}

    @property
    def judging_steps(self) -> int:
        """Upper bound of the steps that :meth:`loss` takes, from the sizes of the parameters alone.

        A step is an arithmetic operation on 60 digits. A loss by a formula takes fewer than 100. A device
        asks for this number before it computes anything (:data:`ldpsim.devices.query.MAX_STEPS`).
        """
        return 100

    def with_epsilon(self, epsilon: float) -> Mechanism | None:
        """Return the same mechanism with a loss of at most ``epsilon``; None where ``from_epsilon`` makes another one.

        Raises:
            ValueError: for a budget that it cannot have.
        """
        return None

    def takes(self, grouping: Grouping) -> bool:
        """Return whether a stage with this public grouping of the nodes (or none) can be answered."""
        return True

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> Any:
        """Return the part of a record that :meth:`perturb` takes.

        By default this is the label, the dense features (float32, ``d`` of them) or the
        neighbours' ids. Nothing is raised, whatever the data.
        """
        if "label" in self.attributes:
            return record.label
        if "features" in self.attributes:
            return dense_features(record, getattr(self, "d"))  # noqa: B009 - not every mechanism has one
        return record.neighbours

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        """Draw a report about ``value``."""
        raise NotImplementedError

    def respond(self, record: Record, noise: NoiseStream, *, device: int, grouping: Grouping = None) -> bytes:
        """Return the bytes of a fresh report about a record. A device calls nothing else."""
        return self.encode(self.perturb(self.value_of(record, device=device, grouping=grouping), noise))

    def respond_many(
        self, records: Sequence[Record], streams: Sequence[NoiseStream], *, devices: Sequence[int],
        grouping: Grouping = None,
    ) -> list[bytes]:  # fmt: skip
        """Return the bytes of a fresh report about each record: those of :meth:`respond`, one by one.

        A class may compute them together, if every byte stays the same.

        Args:
            records: The records of the devices.
            streams: The noise of each one.
            devices: The devices' public numbers.
            grouping: The stage's public grouping.
        """
        asked = zip(records, streams, devices, strict=True)
        return [self.respond(record, noise, device=device, grouping=grouping) for record, noise, device in asked]

    def encode(self, report: Any) -> bytes:
        """Return the report's bytes on the wire; :meth:`decode` reads them back."""
        raise NotImplementedError

    def expected_bytes(self, degree: float) -> float | None:
        """Return the expected bytes of a report by people of this mean degree; None where only a sample tells them."""
        return None

    def expected_ones(self, degree: float) -> float:
        """Return the expected number of neighbours that a report names, false ones included; 0 if it names none."""
        return 0.0

    def expected_draws(self) -> float:
        """Return the mean number of trials of a report that are drawn one by one for other people; 0 if none are."""
        return 0.0

    def decode(self, data: bytes, *, device: int) -> Any:
        """Read a report; ValueError for bytes that :meth:`encode` never writes."""
        raise NotImplementedError

    def stack(self, rows: DataOf, n: int) -> Any:
        """Decode the reports of many devices into one array or sparse matrix with n rows.

        By default labels that are reported as one integer become int64 (n,), -1 where no report came, and
        reports that are arrays of one shape are stacked, 0 where no report came.

        Args:
            rows: Bytes by device, devices in rising order.
            n: Number of people.

        Raises:
            ValueError: naming the device, for bytes that are no report.
        """
        return (numbers_or_rows if "label" in self.attributes else same_shape)(rows, self.decode, n)

    def stacker(self, n: int) -> ReportStack:
        """Return what :meth:`stack` makes of all reports, for reports that come batch by batch.

        By default their bytes are kept until the end.
        """
        return Kept(self.decode, lambda rows: self.stack(rows, n))

    def log_probability(self, report: Any, value: Any) -> float:
        """Return ln Pr[report | value], natural logarithm."""
        raise NotImplementedError

    def estimate(self, report: Any) -> Any:
        """Return an unbiased estimate of ``value`` from one report."""
        raise NotImplementedError

    @property
    def line(self) -> tuple[float, float] | None:
        """(slope, intercept) with estimate = slope * report + intercept, None where sparse reports gain nothing."""
        return None

    def sparse_estimates(self, reports: Any) -> tuple[Any, float] | None:
        """Return the estimates of sparse reports: those of the stored entries less a constant, and the constant.

        The constant is the estimate of an entry that was not reported. None where sparse reports gain nothing.
        """
        if self.line is None:
            return None
        slope, intercept = self.line
        return reports * np.float32(slope), intercept

    @property
    def flip_probability(self) -> float | None:
        """Probability that a reported bit is not the true one, the same for a 0 and a 1; 0 in clear.

        A bit of a feature: at either end of its range. None where a report is something else, or has another law.
        """
        return None

    @property
    def flip_odds(self) -> float | None:
        """p / (1 - p) of the flip probability p."""
        p = self.flip_probability
        return None if p is None else p / (1 - p)

    @property
    def step_noise(self) -> StepNoise | None:
        """Noise on each reported whole number; None for other reports, or other noise."""
        return None

    def groups_of(self, grouping: Grouping) -> IntArray | None:
        """int64 (n,): the public group of every person, where numbers are reported group by group; else None."""
        return None

    @property
    def most_likely(self) -> float | None:
        """Largest probability of any one report, whatever the value; None where it is not known."""
        return None

    @property
    def channel(self) -> tuple[float, float] | None:
        """(p, q): a reported category is the true one with p, each other one with q; None for other reports."""
        return None

    def chance_of_one(self, value: Any) -> Any:
        """Return Pr[1 | value] of each feature, float64 as ``value``; None where reports are not a bit for each."""
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

    def variance(self, value: Any) -> Any:
        """Return the variance of :meth:`estimate`, entry by entry."""
        raise NotImplementedError

    def loss(self, *, device: int | None = None) -> Loss:
        """Return the exact loss: of this device, or the largest of any device."""
        raise NotImplementedError
