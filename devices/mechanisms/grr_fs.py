"""GRR with feature sampling (RGNN, Section 4.1).

m of the d features are drawn without replacement. A drawn feature is reported by GRR over
its domain of g categories (truth p = E / (E + g - 1), each other q = 1 / (E + g - 1),
E = e^eps_x; the paper prints e^(eps + g) - 1 as the denominator, and the result does not sum
to 1). Every other feature is reported uniformly over its domain. The report does not show
which ones were drawn:

    Pr[y | x] = C(d, m)^-1 * sum over m-subsets S of prod_{i in S} GRR(y_i | x_i) prod_{i not in S} 1/g_i.

Exact losses. For features K that change, with y right on K and wrong elsewhere:
ln(e_m(p_i g_i on K, q_i g_i elsewhere) / e_m(q_i g_i)), e_m the elementary symmetric
polynomial. One feature of equal domains: ln(1 + (m/d)(E - 1)). The whole vector: m * eps_x.
Sampling gains nothing there: whichever S is drawn, m values of the same person are in the
report. Theorem 1 of the paper claims less (:meth:`GRRFS.claimed_loss`) and does not hold.

A feature is an attribute of ``facts.domains``, or one of d binary columns, or, with
``block`` = b, the OR of b consecutive columns, formed on the device before any noise. A
column is part of one block only, so one changed column changes at most one feature.

Bhaila et al. 2024, https://arxiv.org/abs/2309.08569
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.records import Records
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.category_columns import Coding
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.mechanism import Grouping, Mechanism, changes
from ldpsim.devices.mechanisms.mixture_loss import mixture_cost, mixture_loss
from ldpsim.devices.mechanisms.subsets import subset
from ldpsim.devices.noise import Noise


def whole_numbers(values: object, *, least: int) -> bool:
    """Return whether this is a tuple of plain integers (no booleans) of at least ``least``."""
    return isinstance(values, tuple) and all(type(value) is int and value >= least for value in values)


@dataclass(frozen=True)
class GRRFS(Mechanism):
    """Report every feature as a category; m of them carry something.

    ``value`` and ``report``: int64 (len(domains),), categories from 0. A category outside
    its domain counts as the first one. Reports of many devices: uint8 or uint16
    (n, len(domains)).

    Args:
        lies: 64-bit thresholds of Pr[not the truth], one for each size in
            ``sorted(set(domains))``.
        domains: Number of categories of each feature, at least 2.
        m: Number of sampled features, 1 .. len(domains).
        columns: Number of columns of a record, ``facts.d``.
        block: Number of columns that are joined by OR into one binary feature; 1 for none.

    Raises:
        ValueError: for a domain below 2, m outside its range, or columns that the
            features do not describe.

    >>> mechanism = GRRFS.from_epsilon(1.0, facts=PublicFacts(n=9, d=4, classes=2), m=2)
    >>> mechanism.loss()
    Loss(bit=0.620114507, vector=2.0, delta=0.0)
    >>> round(mechanism.claimed_loss(), 4)
    1.4338
    """

    lies: tuple[int, ...]
    domains: tuple[int, ...]
    m: int
    columns: int
    block: int = 1

    loss_is_tight: ClassVar[bool] = True
    name: ClassVar[str] = "grr_fs"
    reads: ClassVar[tuple[str, ...]] = ("features",)
    field: ClassVar[str] = "features"

    def __post_init__(self) -> None:
        if not whole_numbers(self.domains, least=2) or not self.domains or max(self.domains) > 1 << 16:
            raise ValueError("GRR-FS needs domains of 2..65536 categories; a feature with a single one says nothing")
        if not 1 <= self.m <= self.d:
            raise ValueError(f"GRR-FS samples 1..{self.d} features (there are {self.d}), not {self.m}")
        sizes = sorted(set(self.domains))
        if not whole_numbers(self.lies, least=1) or len(self.lies) != len(sizes):
            raise ValueError(f"GRR-FS needs a threshold for each of its {len(sizes)} sizes of domain")
        if any(lie * g >= ONE * (g - 1) for lie, g in zip(self.lies, sizes, strict=True)):
            raise ValueError("a threshold does not favour the truth")
        self._coding  # noqa: B018 - refuses columns that do not make up the features

    @classmethod
    def from_epsilon(cls, epsilon: float, *, facts: PublicFacts, m: int | None = None, block: int = 1) -> GRRFS:
        """Return the mechanism whose loss is at most ``epsilon`` (eps_x) for each sampled feature.

        ``m`` None samples every feature. To *spend* a budget on the whole vector divide it by m.

        Raises:
            ValueError: for categorical attributes in blocks, or parameters out of range.
        """
        if facts.domains and block != 1:
            raise ValueError("only binary columns can be joined in blocks")
        if block < 1:
            raise ValueError(f"a block is 1 or more columns, not {block}")
        domains = facts.domains or (2,) * -(-facts.d // block)
        if not domains or min(domains) < 2:
            raise ValueError("GRR-FS needs domains of 2..65536 categories; a feature with a single one says nothing")
        lies = tuple(probability_threshold(epsilon, g - 1) for g in sorted(set(domains)))
        return cls(lies, domains, len(domains) if m is None else m, facts.d, block)

    @property
    def d(self) -> int:
        """Number of features: attributes, columns or blocks of columns."""
        return len(self.domains)

    def agrees_with(self, facts: PublicFacts) -> bool:
        if self.columns != facts.d or facts.feature_low != 0:
            return False
        return self.domains == facts.domains and self.block == 1 if facts.domains else set(self.domains) == {2}

    # --- on the device

    @cached_property
    def _sizes(self) -> np.ndarray:
        return np.array(self.domains, np.int64)

    @cached_property
    def _thresholds(self) -> np.ndarray:
        of = dict(zip(sorted(set(self.domains)), self.lies, strict=True))
        return np.array([of[g] for g in self.domains], np.uint64)

    @cached_property
    def _coding(self) -> Coding:
        return Coding(self.domains, self.columns, self.block)

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> IntArray:
        return self._coding.read(people)

    def draw(self, values: IntArray, noise: Noise) -> IntArray:
        truth = np.where((values >= 0) & (values < self._sizes), values, 0)
        sampled = subset(noise, self.d, self.m)
        # All draws are always made, so that the time taken does not depend on the outcome.
        reports = noise.uniform_integers(self._sizes, self.d)
        lies = noise.bernoulli(self._thresholds[sampled], self.m)
        other = noise.uniform_integers(self._sizes[sampled] - 1, self.m)
        right = np.take_along_axis(truth, sampled, axis=1)
        np.put_along_axis(reports, sampled, np.where(lies, other + (other >= right), right), axis=1)
        return reports

    def encode(self, reports: IntArray, devices: IntArray) -> list[bytes]:
        return self._coding.pack(reports)

    def decode(self, data: Sequence[bytes], devices: IntArray) -> IntArray:
        return self._coding.unpack(data)

    def rows(self, reports: IntArray, devices: IntArray) -> np.ndarray:
        """uint8, or uint16 for a domain of more than 256, (devices, number of features)."""
        return reports.astype(np.uint8 if max(self.domains) <= 1 << 8 else np.uint16)

    # --- estimates

    def truth_and_other(self, g: int) -> tuple[float, float]:
        """(p, q) of GRR over g categories."""
        lie = self.lies[sorted(set(self.domains)).index(g)]
        return (ONE - lie) / ONE, lie / ONE / (g - 1)

    def correction(self, g: int) -> tuple[float, float]:
        """(slope, intercept) of eq. 2, pi = slope * lambda' + intercept, for shares lambda' that add to 1."""
        p, q = self.truth_and_other(g)
        scale = self.m * (p - q)
        return self.d / scale, (self.m - self.d - self.m * g * q) / (scale * g)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        pairs = [self.truth_and_other(g) for g in self.domains]
        truth = np.where((value >= 0) & (value < self._sizes), value, 0)
        polynomial = np.full(self.m + 1, -np.inf)  # ln e_0 .. ln e_m of the ratios to uniform
        polynomial[0] = 0.0
        for (p, q), g, right in zip(pairs, self.domains, report == truth, strict=True):
            ratio = math.log(g * (p if right else q))
            polynomial[1:] = np.logaddexp(polynomial[1:], polynomial[:-1] + ratio)
        uniform = sum(math.log(g) for g in self.domains)
        subsets = math.lgamma(self.d + 1) - math.lgamma(self.m + 1) - math.lgamma(self.d - self.m + 1)
        return float(polynomial[self.m]) - uniform - subsets

    def estimate(self, report: np.ndarray) -> np.ndarray:
        """float (d, largest domain): unbiased estimate of the one-hot values, 0 beyond a domain."""
        result = np.zeros((self.d, max(self.domains)))
        for i, g in enumerate(self.domains):
            slope, intercept = self.correction(g)
            result[i, :g] = slope * (np.arange(g) == report[i]) + intercept
        return result

    # --- losses

    @cached_property
    def loss_cost(self) -> int:
        return mixture_cost(self.domains, self.m)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        if changed is None:
            sizes = sorted(set(self.domains))
            return max(log_ratio((ONE - lie) * (g - 1), lie, self.m) for lie, g in zip(self.lies, sizes, strict=True))
        # of so many features: attained on the largest domains
        return self.loss_of_domains(sorted(self.domains)[self.d - changes(self.d, changed) :])

    def loss_of_domains(self, changed: Sequence[int]) -> float:
        """Return the exact loss when features of these domain sizes, and no others, change."""
        return mixture_loss(self.lies, tuple(sorted(self.domains)), tuple(sorted(changed)), self.m)

    def claimed_loss(self) -> float:
        """Return the claim of Theorem 1 for the whole vector, ln(1 + (m/d)(e^(m eps_x) - 1)). It does not hold."""
        largest = self.loss().vector
        return largest + math.log(self.m / self.d + (1 - self.m / self.d) * math.exp(-largest))
