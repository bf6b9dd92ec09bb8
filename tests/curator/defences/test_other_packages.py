"""Mechanisms of another package: a defence reads what they state of themselves, and leaves the others alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.defences import defences_named, defend
from ldpsim.curator.defences.degree import clip_degrees, implausible_degrees
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import AdjacencyBits, Mechanism, RandomizedResponse, Reporting
from ldpsim.devices.mechanisms.counts import NoisyCounts
from ldpsim.devices.query import Ask
from tests.curator.defences.lies import a_graph, features_of, honest_rows, reports_of

N, EPSILON = 300, 3.0
FLIP = RandomizedResponse.from_epsilon(EPSILON, n=N).flip_probability


@dataclass(frozen=True)
class Bits(AdjacencyBits):
    """Bits under a law of which nothing is stated."""

    n: int
    reporting: Reporting = "both"
    name = "bits"


class FlippedBits(Bits):
    """Bits that are flipped alike."""

    name, flip_probability = "flipped_bits", FLIP


@dataclass(frozen=True)
class Numbers(Mechanism):
    """A mechanism whose reports fill a field that built-in ones fill, and that states nothing."""

    fills: str
    reads = ("adjacency",)
    name = "numbers"

    @property
    def field(self) -> str:
        return self.fills


@dataclass(frozen=True)
class NoisyNumbers(NoisyCounts):
    fills: str
    t: int = 1
    s: int = 1
    n: int = 9
    name = "numbers"

    @property
    def field(self) -> str:  # type: ignore[override]
        return self.fills


def lying_rows() -> np.ndarray:
    rows = honest_rows(a_graph(N, 5, 1), FLIP, 2)
    rows[:15] = True
    np.fill_diagonal(rows, False)
    return rows


def asked(reports: Reports, *mechanisms: Mechanism) -> Reports:
    return replace(reports, asks={"adjacency": Ask("adjacency", mechanisms)})


def test_rows_that_are_flipped_alike_are_judged_as_those_of_randomised_response() -> None:
    ours = reports_of(lying_rows(), EPSILON)
    theirs = asked(ours, FlippedBits(N))
    found = defend(defences_named("all"), theirs, 1e-3)
    assert np.flatnonzero(found.flagged).tolist() == list(range(15))
    assert found.notes == defend(defences_named("all"), ours, 1e-3).notes


def test_rows_under_an_unknown_law_are_left_alone() -> None:
    found = defend(defences_named("all"), asked(reports_of(lying_rows(), EPSILON), Bits(N)), 1e-3)
    assert not found.flagged.any() and "not_used" in found.notes["duplicates"]


@pytest.mark.parametrize(("field", "shape"), [("degrees", (9,)), ("group_degrees", (9, 2)), ("noisy_rows", (9, 9))])
def test_numbers_are_clipped_where_their_noise_is_stated(field: str, shape: tuple[int, ...]) -> None:
    everybody = np.ones(9, np.bool_)
    wild = np.full(shape, 10**6)
    for kind, clipped in ((Numbers, False), (NoisyNumbers, field != "group_degrees")):  # groups are not stated
        asks = {"adjacency": Ask("adjacency", (kind(field),))}
        reports = Reports(PublicFacts(9, 1, 2), asks, {"adjacency": everybody}, everybody, **{field: wild})  # type: ignore[arg-type]
        changed = clip_degrees(reports, 1e-3)[0]
        assert bool(np.max(getattr(changed, field)) < 10**6) == clipped
        assert implausible_degrees(reports, 1e-3)[0].any() == (clipped and field == "degrees")


def test_features_of_which_nothing_is_stated_are_left_alone() -> None:
    class Sums(Mechanism):
        name, reads = "sums", ("features",)

    same = csr_array(np.ones((40, 3)))
    found = defend(defences_named("all"), features_of(Sums(), same, 40, 3), 1e-3)
    assert not found.flagged.any() and "not_used" in found.notes["duplicates"]
