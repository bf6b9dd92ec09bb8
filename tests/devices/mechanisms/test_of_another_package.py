"""Mechanisms of another package, from a device to the curator, with no change to ldpsim.

It is about the adjacency, and reports bits. tests/curator/reports/kinds.py has some about the label.
This file also covers ``ldpsim.devices.mechanisms.__init__``, and its base classes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.attacks.mechanism_audit import Effort, audit_mechanism
from ldpsim.curator.methods import Question
from ldpsim.curator.privacy.guarantee import Claim, local_guarantee
from ldpsim.curator.reports.pairs import agreed_pairs
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices import mechanisms
from ldpsim.devices.data.records import Record
from ldpsim.devices.device import Refusal
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.mechanisms import GRR, AdjacencyBits, Loss, RandomizedResponse, Reporting
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.sparse_batch import SparseBatch
from ldpsim.devices.mechanisms.stacked_reports import stacked
from ldpsim.devices.noise import Noise
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_report
from tests.devices.mechanisms.installed import installed
from tests.fleets import lone_device

N = 9
FACTS = PublicFacts(N, 3, 2)


@dataclass(frozen=True)
class UnlikeFlips(AdjacencyBits):
    """Randomised response that keeps a 1 with chance 1/2 and lies about a 0 with chance 1 / (2 e^eps)."""

    lie: int
    n: int
    reporting: Reporting = "both"
    name, version = "unlike_flips", 1

    @classmethod
    def from_epsilon(cls, epsilon: float, *, n: int, reporting: Reporting = "both") -> UnlikeFlips:
        return cls(math.ceil(ONE / 2 / math.exp(epsilon)) + 1, n, reporting)

    def draw(self, values: SparseBatch, noise: Noise) -> SparseBatch:
        limits = np.where(values.dense(), np.uint64(ONE // 2), np.uint64(self.lie))
        return values.with_bits(noise.bernoulli(limits, self.n - 1))

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        one = np.where(value, 0.5, self.lie / ONE)
        return float(np.log(np.where(report, one, 1 - one)).sum())

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return log_ratio(ONE // 2, self.lie, self.most_targets(device, changed))


class Unlikely(UnlikeFlips):
    name = "grr"


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    with installed(UnlikeFlips, Unlikely):
        yield


def people() -> list[Record]:
    rng = np.random.default_rng(4)
    nothing, none = np.zeros(0, np.int32), np.zeros(0, np.float32)
    return [Record(nothing, none, np.flatnonzero(rng.random(N) < 0.4).astype(np.int32), 0) for _ in range(N)]


def collected(query: Query, folder: Path, **policy: Any) -> Reports:
    """Ask real devices, each with a ledger, and decode their bytes."""
    answers = {}
    rules = policy_for([query], FACTS, **policy)
    ledger = Ledger.create(folder / "ledger.sqlite")
    for index, record in enumerate(people()):
        device = lone_device(index, record, hashlib.sha256(bytes([index])).digest(), rules, ledger)
        answer = device.answer(query.to_bytes())
        assert isinstance(answer, Report)
        assert device.answer(Query("again", query.plan).to_bytes()) is Refusal.REPORT_COLLECTED
        answers[index] = unpack_report(answer.data, query)
    ledger.close()
    return Reports.from_bytes(FACTS, [Question(query)], answers)


@pytest.mark.parametrize("reporting", ["both", "one-end"])
def test_bits_about_neighbours(reporting: Reporting, tmp_path: Path) -> None:
    mechanism = UnlikeFlips.from_epsilon(1.0, n=N, reporting=reporting)
    query = Query("c", ((Ask("adjacency", (mechanism,)),),))
    assert Query.from_bytes(query.to_bytes()) == query
    reports = collected(query, tmp_path, reporting=reporting)
    assert reports.adjacency is not None and reports.adjacency.dtype == np.bool_
    rows = reports.adjacency.toarray()
    assert rows.any() and not np.diag(rows).any()
    assert not (reporting == "one-end" and np.triu(rows).any())
    assert agreed_pairs(reports).shape == (N, N)
    reports.save(tmp_path / "saved")
    assert np.array_equal(Reports.load(tmp_path / "saved").adjacency.toarray(), rows)  # type: ignore[union-attr]
    holds = local_guarantee(FACTS, [Question(query)], claim=Claim("its own", 1.0)).holds
    assert holds["bit_adjacency"].value == pytest.approx(1.0, abs=2e-9)
    ends = 2 if reporting == "both" else 1
    assert holds["relationship"].value == pytest.approx(ends, abs=4e-9)
    assert holds["node"].value == pytest.approx(ends * (N - 1), abs=1e-6)


def test_what_a_mechanism_that_left_has_answered_stays_the_only_answer(tmp_path: Path) -> None:
    """Its question is refused, and so is every other one about the list; with it come back the stored bytes."""
    question, other = (Query("c", ((Ask("adjacency", (kind.from_epsilon(1.0, n=N),)),),)).to_bytes()
                       for kind in (UnlikeFlips, RandomizedResponse))  # fmt: skip
    rules = policy_for(map(Query.from_bytes, (question, other)), FACTS)
    ledger = Ledger.create(tmp_path / "ledger.sqlite")
    device = lone_device(0, people()[0], bytes(32), rules, ledger)
    first = device.answer(question)
    with installed():
        assert device.answer(question) is Refusal.UNKNOWN_QUERY
        assert device.answer(other) is Refusal.REPORT_COLLECTED
    assert isinstance(first, Report) and device.answer(question) == replace(first, replayed=True)
    ledger.close()


def test_kept_reports_of_a_mechanism_that_left_are_refused_by_its_name(tmp_path: Path) -> None:
    query = Query("c", ((Ask("adjacency", (UnlikeFlips.from_epsilon(1.0, n=N),)),),))
    Reports.from_bytes(FACTS, [Question(query)], {}).save(tmp_path)
    with installed(), pytest.raises(ValueError, match=" cannot be read: unknown mechanism or version: 'unlike_flips'$"):
        Reports.load(tmp_path)


def test_a_row_of_numbers_is_not_taken_for_bits() -> None:
    class Numbers(UnlikeFlips):
        def decode(self, data: Sequence[bytes], devices: np.ndarray) -> Any:
            return np.arange(self.n)[None]

    with pytest.raises(ValueError, match="device 3: a report of unlike_flips is no row of bits"):
        stacked(Numbers.from_epsilon(1.0, n=N), N, {3: b""})


def test_it_is_found_by_its_name_and_audited() -> None:
    assert mechanisms.every()["unlike_flips"] is mechanisms.find("unlike_flips") is UnlikeFlips
    assert mechanisms.find("grr") is GRR and mechanisms.find("nobody") is None  # a built-in's name cannot be taken
    rows = audit_mechanism(UnlikeFlips, Effort(trials=400, rows=20), stream=Noise)
    assert {row.level for row in rows} >= {"bit", "vector"} and all(row.passed for row in rows)


def test_a_wrong_loss_of_theirs_fails_the_audit() -> None:
    class Cheap(UnlikeFlips):
        @classmethod
        def from_epsilon(cls, epsilon: float, *, n: int, reporting: Reporting = "both") -> Cheap:
            return cls(probability_threshold(epsilon) // 2, n, reporting)

        def loss(self, *, device: int | None = None) -> Loss:
            return Loss(0.5, 0.5 * (self.n - 1))

    rows = audit_mechanism(Cheap, Effort(trials=400, rows=20), stream=Noise)
    assert {row.level for row in rows if not row.passed} == {"bit", "vector"}
