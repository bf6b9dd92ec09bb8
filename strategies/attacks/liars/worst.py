"""Worst response for each mechanism: the bytes of an edited app that speak most strongly for a false record.

:data:`RESPONSES` has one function for each mechanism. It returns a report that the mechanism's own
``encode`` writes, and that the real decoder reads. A mechanism without an entry needs none: of many reports about the
claim, drawn by the mechanism itself, its worst response is the one that speaks most for the claim and against the
truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from devices.array_types import BoolArray, IntArray
from devices.data.population import Record
from devices.mechanisms import (
    GRR,
    GRRFS,
    AnalyticGaussian,
    ClearAdjacency,
    ClearFeatures,
    ClearLabel,
    Degree,
    GradedVote,
    GroupDegrees,
    Laplace,
    MultiBit,
    NeighbourhoodVote,
    NoisyRow,
    OneBit,
    OwnFeaturesVote,
    RandomizedResponse,
    SubsetSelection,
    Window,
)
from devices.mechanisms.base import Grouping, Mechanism
from devices.noise import NoiseStream, derive_key

LARGEST = (1 << 31) - 1  # of the integers that the curator keeps; larger ones are refused
DRAWS = 256  # reports that are drawn of a mechanism without an entry


@dataclass(frozen=True, eq=False)
class Said:
    """Claim of a lying device about one mechanism.

    Args:
        device: Its number.
        false: The record that it claims.
        true: Its own record; None for a fake account, which has no other record than the one that it claims.
        grouping: Public group of every node, where the question has one.
        honest: Bytes of its honest report.
        adds: Whether ones are added to the honest row; otherwise the claim takes its place.
    """

    device: int
    false: Record = field(repr=False)
    true: Record | None = field(repr=False)
    grouping: Grouping = field(repr=False)
    honest: bytes = field(repr=False)
    adds: bool = False

    def value(self, mechanism: Mechanism, record: Record | None = None) -> Any:
        """Return the part of the false record (or of another one) that the mechanism reads."""
        return mechanism.value_of(record or self.false, device=self.device, grouping=self.grouping)

    def true_value(self, mechanism: Mechanism) -> Any:
        """Return the part of the liar's own record that the mechanism reads; None for a fake account."""
        return None if self.true is None else self.value(mechanism, self.true)


def _row(mechanism: Any, said: Said) -> BoolArray:
    """bool (targets,): the claimed people, without noise."""
    row: BoolArray = said.value(mechanism)
    return row | mechanism.decode(said.honest, device=said.device) if said.adds else row


def _ends_of_row(mechanism: NoisyRow, said: Said) -> IntArray:
    """int64 (targets,): the format's largest numbers; with ``adds`` they replace the claimed entries alone."""
    row = said.value(mechanism)
    others = mechanism.decode(said.honest, device=said.device) if said.adds else -LARGEST
    return np.where(row, LARGEST, others)


def _number(mechanism: Degree, said: Said) -> int:
    return int(said.value(mechanism))


def _one_group(mechanism: GroupDegrees, said: Said) -> IntArray:
    """int64 (groups,): the claimed number of people, all of them in the group that has most of them."""
    counts = said.value(mechanism)
    report = np.zeros_like(counts)
    report[counts.argmax()] = counts.sum()
    return report


def _candidate(mechanism: NeighbourhoodVote, said: Said) -> int:
    """Return the candidate that the claim speaks for; where the truth does as well, the next one."""
    false, true = said.value(mechanism), said.true_value(mechanism)
    return int(false.answer if true is None or false.answer != true.answer else (true.answer + 1) % true.values)


def _second(mechanism: GradedVote, said: Said) -> int:
    """Return the candidate that the true list speaks against; of a fake account, the one that its claim speaks for."""
    true = said.true_value(mechanism)
    return int(said.value(mechanism) <= 0) if true is None else int(true > 0)


def _class(mechanism: OwnFeaturesVote, said: Said) -> int:
    false, true = said.value(mechanism), said.true_value(mechanism)
    return int(false if false != true else (true + 1) % mechanism.values)


def _high(mechanism: Any, said: Said) -> BoolArray:
    """bool (d,): features in the upper half of the range."""
    high: BoolArray = np.asarray(said.value(mechanism)) > (mechanism.low + mechanism.high) / 2
    return high


def _chosen(mechanism: MultiBit, said: Said) -> np.ndarray:
    """int8 (d,): the m features that are largest in the claim, in place of a random set; equal ones by number."""
    report = np.zeros(mechanism.d, np.int8)
    most = np.argsort(-np.asarray(said.value(mechanism)), kind="stable")[: mechanism.m]
    report[most] = np.where(_high(mechanism, said)[most], 1, -1)
    return report


def _ends(mechanism: Window, said: Said) -> np.ndarray:
    """int32 (d,): the m features that are largest in the claim, each at an end of the range of numbers."""
    report = np.zeros(mechanism.d, np.int32)
    most = np.argsort(-np.asarray(said.value(mechanism)), kind="stable")[: mechanism.m]
    report[most] = np.where(_high(mechanism, said)[most], mechanism.outputs, 1)
    return report


def _far_steps(mechanism: Any, said: Said) -> IntArray:
    """int64 (d,): the format's largest numbers; additive noise has no end that a decoder could check."""
    return np.where(_high(mechanism, said), LARGEST, -LARGEST)


def _subset(mechanism: SubsetSelection, said: Said) -> BoolArray:
    """bool (categories,): the claimed category and those after it; the true one only where there are too few others."""
    claimed = mechanism.category(said.value(mechanism))
    own = claimed if said.true is None else mechanism.category(said.true_value(mechanism))
    after = [(claimed + step) % mechanism.categories for step in range(mechanism.categories)]
    report = np.zeros(mechanism.categories, np.bool_)
    report[sorted(after, key=lambda category: category == own != claimed)[: mechanism.size]] = True
    return report


def _exact(mechanism: Mechanism, said: Said) -> Any:
    return said.value(mechanism)


def _most_telling(mechanism: Mechanism, said: Said) -> Any:
    """Return the report, of ``DRAWS`` about the claim, with the largest likelihood ratio of the claim and the truth.

    Of a fake account it is the one with the largest likelihood of the claim.
    """
    claim, truth = said.value(mechanism), said.true_value(mechanism)
    noise = NoiseStream(derive_key(bytes(32), b"worst response", said.device.to_bytes(8, "little")))
    drawn = [mechanism.perturb(claim, noise) for _ in range(DRAWS)]
    against = 0.0 if said.true is None else 1.0
    return max(drawn, key=lambda r: mechanism.log_probability(r, claim)
               - (against and mechanism.log_probability(r, truth)))  # fmt: skip


RESPONSES: Mapping[type[Mechanism], Callable[[Any, Said], Any]] = {
    RandomizedResponse: _row,
    ClearAdjacency: _row,
    NoisyRow: _ends_of_row,
    Degree: _number,
    GroupDegrees: _one_group,
    NeighbourhoodVote: _candidate,
    GradedVote: _second,
    OwnFeaturesVote: _class,
    OneBit: _high,
    MultiBit: _chosen,
    Window: _ends,
    GRRFS: _exact,
    Laplace: _far_steps,
    AnalyticGaussian: _far_steps,
    ClearFeatures: _exact,
    GRR: _exact,
    SubsetSelection: _subset,
    ClearLabel: _exact,
}


def response(mechanism: Mechanism, said: Said) -> bytes:
    """Return the bytes of the worst response."""
    worst: Callable[[Any, Said], Any] = RESPONSES.get(type(mechanism), _most_telling)
    return mechanism.encode(worst(mechanism, said))
