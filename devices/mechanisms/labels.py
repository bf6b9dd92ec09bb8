"""Bases of the mechanisms about the label.

A curator reads two things of a label report: :meth:`LabelMechanism.evidence`, the likelihood of each category, and
:meth:`LabelMechanism.estimate`, an unbiased estimate of the one-hot label. A class that states
``log_probability`` has the first one; one that reports a category has the second one too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.base import Mechanism
from ldpsim.devices.mechanisms.stacked_reports import Filled, ReportStack


class LabelMechanism(Mechanism):
    """Mechanism about the label; its dataclass has the field ``categories``."""

    categories: int
    reads: ClassVar[tuple[str, ...]] = ("label",)
    field: ClassVar[str] = "labels"

    def agrees_with(self, facts: PublicFacts) -> bool:
        return self.categories == facts.classes

    def category(self, value: Any) -> Any:
        """Return each value, or 0 where it lies outside the domain."""
        if isinstance(value, int):
            return value if 0 <= value < self.categories else 0
        return np.where((value >= 0) & (value < self.categories), value, 0)

    def evidence(self, report: Any) -> FloatArray | None:
        """float (categories,): the stated log-likelihood of each category."""
        return np.array([self.log_probability(report, category) for category in range(self.categories)])


class OneCategory(LabelMechanism):
    """Label mechanism whose report is one category, in any channel."""

    def encode(self, report: int) -> bytes:
        return int(report).to_bytes(2, "little")

    def decode(self, data: bytes, *, device: int) -> int:
        report = int.from_bytes(data, "little")
        if len(data) != 2 or report >= self.categories:
            raise ValueError(f"not a report of {self.name}")
        return report

    def stacker(self, n: int) -> ReportStack:
        if type(self).decode is not OneCategory.decode:
            return super().stacker(n)
        return Filled(self.decode, np.full(n, -1, np.int64), self._decode_many)

    def _decode_many(self, rows: Sequence[bytes]) -> IntArray:
        if any(len(data) != 2 for data in rows):
            raise ValueError(f"not a report of {self.name}")
        found = np.frombuffer(b"".join(rows), "<u2").astype(np.int64)
        if np.any(found >= self.categories):
            raise ValueError(f"not a report of {self.name}")
        return found

    def evidence(self, report: int) -> FloatArray | None:
        if self.weight is None:
            return super().evidence(report)
        return np.asarray(self.weight * (np.arange(self.categories) == report))

    @cached_property
    def _inverse(self) -> FloatArray:
        """float (categories, categories): P^-1 of the stated channel P[value, report]."""
        chance = [[math.exp(self.log_probability(report, value)) for report in range(self.categories)]
                  for value in range(self.categories)]  # fmt: skip
        return np.linalg.inv(np.array(chance))

    def estimate(self, report: int) -> FloatArray:
        """float (categories,): unbiased estimate of the one-hot value, row ``report`` of P^-1.

        Raises:
            numpy.linalg.LinAlgError: if two categories have the same law, so that no estimate exists.
        """
        return np.asarray(self._inverse[report])
