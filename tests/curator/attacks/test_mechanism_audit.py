"""Every mechanism passes its audit, and each of a list of planted bugs fails it.

The exact figures have no false alarms; the lower bounds have 1e-6 for all together. The
power is exact too: each planted bug is named, and its row says FAIL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.attacks.examples import Example, examples
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort, audit_mechanism, audit_stream
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRR,
    GRRFS,
    Degree,
    Laplace,
    Loss,
    Mechanism,
    MultiBit,
    OneBit,
    RandomizedResponse,
    every,
)
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.sparse_batch import SparseBatch
from ldpsim.devices.noise import Noise

QUICK = Effort(trials=400, rows=50)


def failing(rows: list[AuditRow]) -> dict[str, AuditRow]:
    return {row.level: row for row in rows if not row.passed}


LONG = ("laplace", "neighbourhood_vote", "window")  # with all examples two to five seconds each


@pytest.mark.parametrize(("name", "whole"), [
    *((name, name not in LONG) for name in every() if name != "analytic_gaussian"),
    *(pytest.param(name, True, marks=pytest.mark.slow) for name in LONG),
])  # fmt: skip
def test_what_is_there_passes(name: str, whole: bool) -> None:
    given = None if whole else examples(every()[name])[-1][:1]
    rows = audit_mechanism(every()[name], QUICK, stream=Noise, instances=given)
    assert rows and not failing(rows)
    for row in rows:
        if row.exact is not None and row.claimed and name != "sum_share":  # which claims nothing towards who adds
            assert row.exact == pytest.approx(row.claimed, abs=5e-9)  # the claims are tight
        if row.lower_bound is not None and row.claimed is not None:
            assert 0 <= row.lower_bound <= row.claimed


class AsPrinted(GRR):
    """RGNN prints the denominator e^(eps + g) - 1 for features: the truth becomes the least likely answer."""

    def draw(self, values: np.ndarray, noise: Any) -> np.ndarray:
        g = self.categories
        growth = (ONE - self.lie) * (g - 1) / self.lie
        lie = ONE - int(ONE * growth / (growth * math.e**g - 1))
        truth = self.category(values)
        other = noise.uniform_integers(g - 1, 1)[:, 0]
        return np.where(noise.bernoulli(lie, 1)[:, 0], other + (other >= truth), truth)


class WithoutLow(OneBit):
    """HoGS prints x / (beta - alpha): the lower end is not taken off."""

    def thresholds(self, value: np.ndarray) -> np.ndarray:
        inside = np.clip(np.nan_to_num(value.astype(float), nan=self.low), self.low, self.high)
        rise = inside / (self.high - self.low) * (ONE - 2 * self.flip)
        return np.maximum(1, np.array(self.flip + rise, np.uint64))


class WithReplacement(MultiBit):
    """Features are drawn with replacement, and a feature drawn twice is reported twice."""

    def draw(self, values: np.ndarray, noise: Any) -> Any:
        reports = np.zeros(values.shape, np.int8)
        everybody = np.arange(len(values))
        for _ in range(self.m):
            places = noise.uniform_integers(self.d, 1)[:, 0]
            ones = noise.bernoulli(self.thresholds(values[everybody, places])[:, None], 1)[:, 0]
            reports[everybody, places] += np.where(ones, 1, -1).astype(np.int8)
        return reports

    def encode(self, reports: Any, devices: np.ndarray) -> list[bytes]:
        return [row.tobytes() for row in reports]

    def decode(self, data: Sequence[bytes], devices: np.ndarray) -> Any:
        return np.frombuffer(b"".join(data), np.int8).reshape(-1, self.d)


class OffByALittle(RandomizedResponse):
    """The threshold is too small by one part in 2**24, as with 24-bit random numbers."""

    def draw(self, values: SparseBatch, noise: Any) -> SparseBatch:
        return values.with_bits(noise.bernoulli(self.flip - (self.flip >> 24), self.n - 1) ^ values.dense())


class TheoremOne(GRRFS):
    """RGNN's Theorem 1: sampling of one's own features is said to amplify."""

    def loss(self, *, device: int | None = None) -> Loss:
        true = super().loss(device=device)
        share = self.m / self.d
        return Loss(true.bit, true.vector + math.log(share + (1 - share) * math.exp(-true.vector)))


class HalfTheNoise(Degree):
    """Noise for a sensitivity of 1/2: an edge is said to stand in two lists."""

    def draw(self, values: np.ndarray, noise: Any) -> np.ndarray:
        drawn = super().draw(np.zeros_like(values), noise)
        return values + np.sign(drawn) * (abs(drawn) // 2)


class UnclampedSteps(Laplace):
    """Values outside the public range are not clamped."""

    def steps(self, value: np.ndarray) -> np.ndarray:
        return np.rint(np.nan_to_num(value, nan=self.low) * self.grid).astype(np.int64)


class OtherProbabilities(RandomizedResponse):
    """Draws from one distribution and states another: the loss is right, the curator's estimates are not."""

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        return super().log_probability(~report, value)


class RowsByNumber(GRR):
    """Draws as many trials a person as there are people: right for one person, n x n for n."""

    def draw(self, values: np.ndarray, noise: Any) -> np.ndarray:
        lies = noise.bernoulli(self.lie, len(values))
        return (self.category(values) + np.where(lies, 1, 0)) % self.categories


def test_an_array_of_n_rows_of_n_is_refused_before_the_trials() -> None:
    (row,) = audit_mechanism(RowsByNumber, QUICK, stream=Noise)
    assert not row.passed and row.level == "vector"
    assert "(2, 2) for 2 people and (3, 3) for 3, not a row for each" in row.detail
    assert "`size` trials for every person" in row.detail


class Raises(OneBit):
    """Refuses values that are no number: an error that depends on the data."""

    def thresholds(self, value: np.ndarray) -> np.ndarray:
        if np.isnan(value).any():
            raise ValueError("not a number")
        return super().thresholds(value)


class Unmakeable(OneBit):
    """Needs something that is no public fact."""

    @classmethod
    def from_epsilon(cls, epsilon: float, *, secret: int) -> OneBit:  # type: ignore[override]
        raise AssertionError


PLANTED: list[tuple[type[Mechanism], str]] = [
    (AsPrinted, "bit"), (WithoutLow, "bit"), (WithReplacement, "bit"), (OffByALittle, "bit"), (TheoremOne, "vector"),
    (HalfTheNoise, "bit"), (UnclampedSteps, "bit"), (OtherProbabilities, "law"), (Raises, "vector"),
    (Unmakeable, "vector"),
]  # fmt: skip


@cache
def planted(kind: type[Mechanism]) -> dict[str, AuditRow]:
    """Return the failing rows of a planted bug, which two tests read."""
    given = examples(kind)[-1][:1] if kind in (UnclampedSteps, HalfTheNoise) else None  # one small size shows it
    return failing(audit_mechanism(kind, QUICK, stream=Noise, instances=given))


@pytest.mark.parametrize(("kind", "level"), PLANTED, ids=lambda value: getattr(value, "__name__", value))
def test_a_planted_bug_fails(kind: type[Mechanism], level: str) -> None:
    found = planted(kind)
    assert level in found, found
    assert found[level].detail


def test_how_wrong_they_are() -> None:
    """The exact figures are those of theory."""

    def exact(kind: type[Mechanism], level: str) -> float:
        value = planted(kind)[level].exact
        assert value is not None
        return value

    assert exact(WithoutLow, "bit") == pytest.approx(2.580109787, abs=1e-8)
    assert exact(WithReplacement, "bit") == pytest.approx(1.0, abs=1e-8)  # twice eps / m
    assert exact(TheoremOne, "vector") == pytest.approx(2.0, abs=1e-8)
    assert 1 + 5e-8 < exact(OffByALittle, "bit") < 1 + 1.2e-7


def test_trials_alone_catch_noise_that_is_known() -> None:
    """A stream with one key for everybody: every trial gives the same report."""
    grr = [Example(GRR.from_epsilon(1.0, categories=3), PublicFacts(4, 3, 3))]
    rows = audit_mechanism(
        GRR, Effort(trials=400, rows=50), stream=lambda keys: Noise([bytes(32)] * len(keys)), instances=grr
    )
    found = failing(rows)
    assert found["bit"].lower_bound is not None and found["bit"].lower_bound > 2


def test_every_mechanism_with_a_budget_is_audited_in_two_sizes_and_several_ranges() -> None:
    """Four settings each; what reads no range, or no number of classes, has some of them once."""
    for name, kind in every().items():
        if not hasattr(kind, "audit_examples"):
            each = 0 if name.startswith("clear") else 2 if name == "grr_fs" else 3
            made = examples(kind)
            assert [len(of_size) for of_size in made] == [each] * (2 if each else 0), name
            assert all(one.mechanism.agrees_with(one.facts) for of_size in made for one in of_size)


class FewerBits(Noise):
    """Compares the upper 24 bits alone."""

    def bernoulli(self, threshold: Any, size: int) -> np.ndarray:
        words = self.next_draw().numbers(size, 4) >> 8
        return words < np.asarray(threshold, np.uint64) >> np.uint64(40)


class OnTies(Noise):
    """Takes a tie of the upper 32 bits for a success."""

    def bernoulli(self, threshold: Any, size: int) -> np.ndarray:
        return self.next_draw().numbers(size, 4) <= np.asarray(threshold, np.uint64) >> np.uint64(32)


@pytest.mark.parametrize(("stream", "passed"), [(Noise, True), (FewerBits, False), (OnTies, False)])
def test_the_noise_stream(stream: type[Noise], passed: bool) -> None:
    (row,) = audit_stream(stream)
    assert row.passed is passed
