"""What every randomiser shares: 64-bit thresholds, exact losses, and the verbs.

A Bernoulli trial on a device compares a 64-bit random integer with a threshold t, so its
probability is exactly t / 2**64. Queries carry thresholds, not epsilons: the loss that
is printed is the loss of the probabilities that were used, computed with 60 decimal
digits and rounded *up* at the ninth decimal.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from devices.facts import PublicFacts
from devices.noise import NoiseStream

if TYPE_CHECKING:
    from devices.data.population import Record

BoolArray = NDArray[np.bool_]
ONE = 1 << 64
_DIGITS = 60
_LAST_PLACE = Decimal("1e-9")


@dataclass(frozen=True)
class Loss:
    """Privacy loss of one attribute's report; every figure is an upper bound.

    Args:
        bit: Loss when one entry changes (one adjacency bit, one feature, the label).
        vector: Loss when the whole attribute changes (list, feature vector, label).
            ``math.inf`` means unprotected.
        delta: The delta at which the figures hold, 0 for a pure loss.
    """

    bit: float
    vector: float
    delta: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(round_up(self.bit + other.bit), round_up(self.vector + other.vector), self.delta + other.delta)


def round_up(value: float | Decimal) -> float:
    """Round up at the ninth decimal; sums of printed losses stay readable."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    with localcontext() as context:
        context.prec = _DIGITS
        # Printed figures are multiples of 1e-9. A float sum of them is off by a few units in
        # its last place, which must not lift it to the next multiple.
        slack = Decimal(max(1e-12, 8 * math.ulp(value))) if isinstance(value, float) and value else Decimal(0)
        exact = Decimal(value) - slack
        return float(exact.quantize(_LAST_PLACE, rounding=ROUND_CEILING))


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a positive finite number (ValueError)."""
    if not (isinstance(epsilon, (int, float)) and math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be a finite number above 0, not {epsilon}")


def probability_threshold(epsilon: float, odds_against: int = 1) -> int:
    """64-bit threshold of the probability k / (e^epsilon + k), k = ``odds_against``.

    With k = 1 this is the flip probability of randomised response; with k = g - 1 it is
    the probability that GRR over g categories does not tell the truth. Rounded up, so
    the loss never exceeds epsilon.

    Raises:
        ValueError: where 64 bits cannot hold it (epsilon beyond about 44, or so small
            that the report would carry nothing).
    """
    check_epsilon(epsilon)
    with localcontext() as context:
        context.prec = _DIGITS
        exact = Decimal(ONE) * odds_against / (Decimal(repr(float(epsilon))).exp() + odds_against)
        threshold = int(exact.to_integral_value(rounding=ROUND_CEILING))
        indifferent = Decimal(ONE) * odds_against / (1 + odds_against)
    if exact < 1:
        raise ValueError(f"epsilon {epsilon:g} is beyond what a 64-bit threshold can hold (about 44)")
    if threshold >= indifferent:
        raise ValueError(f"epsilon {epsilon:g} is too small: the report would say nothing")
    return threshold


@lru_cache(maxsize=1024)  # every device of a population asks for the same few
def log_ratio(numerator: int, denominator: int, times: int = 1) -> float:
    """``times`` * ln(numerator / denominator), rounded up."""
    with localcontext() as context:
        context.prec = _DIGITS
        return round_up((Decimal(numerator) / Decimal(denominator)).ln() * times)


def dense_features(record: Record, d: int) -> np.ndarray:
    """float32 (d,): the features; a column outside 0 .. d - 1 counts as the nearest one."""
    dense = np.zeros(d, np.float32)
    dense.put(record.feature_indices, record.feature_values, mode="clip")
    return dense


def whole_numbers(values: object, *, least: int) -> bool:
    """Whether this is a tuple of plain integers (no booleans) of at least ``least``."""
    return isinstance(values, tuple) and all(type(value) is int and value >= least for value in values)


class Mechanism:
    """A randomiser: a frozen dataclass of public parameters with a few verbs.

    Subclasses are frozen dataclasses whose fields are JSON values: they are all that the
    query says and all that the fingerprint covers. ``value`` and ``report`` are dense
    arrays (or one integer); their shapes stand in each class.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    attributes: ClassVar[frozenset[str]]

    def agrees_with(self, facts: PublicFacts) -> bool:
        """Whether the public facts in the parameters are the ones given."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """Return the public parameters as JSON values."""
        return asdict(self)  # type: ignore[call-overload]

    def takes(self, grouping: tuple[int, ...] | None) -> bool:
        """Whether a stage with this public grouping of the nodes (or none) can be answered."""
        return True

    def value_of(self, record: Record, *, device: int, grouping: tuple[int, ...] | None = None) -> Any:
        """Return the part of a record that this mechanism is about, in the form that :meth:`perturb` takes.

        Unless a mechanism says otherwise: the label, the dense features (float32, as long
        as the mechanism's ``d``), or the neighbours' ids. Nothing is raised, whatever the data.
        """
        if "label" in self.attributes:
            return record.label
        if "features" in self.attributes:
            return dense_features(record, getattr(self, "d"))  # noqa: B009 - not every mechanism has one
        return record.neighbours

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        """Draw a report about ``value``."""
        raise NotImplementedError

    def respond(
        self, record: Record, noise: NoiseStream, *, device: int, grouping: tuple[int, ...] | None = None
    ) -> bytes:
        """Return the bytes of a fresh report about a record: all that a device asks of a mechanism."""
        return self.encode(self.perturb(self.value_of(record, device=device, grouping=grouping), noise))

    def encode(self, report: Any) -> bytes:
        """Return the report's bytes on the wire; :meth:`decode` reads them back."""
        raise NotImplementedError

    def decode(self, data: bytes, *, device: int) -> Any:
        """Read a report; ValueError for bytes that no report of this query has."""
        raise NotImplementedError

    def log_probability(self, report: Any, value: Any) -> float:
        """Return ln Pr[report | value], natural logarithm."""
        raise NotImplementedError

    def estimate(self, report: Any) -> Any:
        """Return an unbiased estimate of ``value`` from one report."""
        raise NotImplementedError

    def variance(self, value: Any) -> Any:
        """Return the variance of :meth:`estimate`, entry by entry."""
        raise NotImplementedError

    def loss(self, *, device: int | None = None) -> Loss:
        """Return the exact loss: of this device, or the largest of any device."""
        raise NotImplementedError
