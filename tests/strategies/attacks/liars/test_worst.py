"""Worst responses: one for each mechanism, all of them bytes that the real decoder reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from devices import mechanisms
from devices.data.population import Population, Record
from devices.mechanisms import (
    GRR,
    AnalyticGaussian,
    ClearAdjacency,
    Degree,
    GroupDegrees,
    Laplace,
    Mechanism,
    MultiBit,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    SubsetSelection,
    Window,
)
from devices.noise import NoiseStream, derive_key
from strategies.attacks.adversaries.varying import every_mechanism
from strategies.attacks.liars.worst import LARGEST, RESPONSES, Said, _most_telling, response
from tests.curator.reports.kinds import Flags

NOISE = derive_key(bytes(32), b"a test")


def said(mechanism: mechanisms.Mechanism, true: Record, false: Record, *, adds: bool = False) -> Said:
    honest = mechanism.respond(true, NoiseStream(NOISE), device=3)
    return Said(3, false, true, None, honest, adds)


def record(neighbours: list[int], columns: list[int], label: int) -> Record:
    return Record(np.array(columns, np.int32), np.ones(len(columns), np.float32), np.array(neighbours, np.int32), label)


def test_a_mechanism_without_an_entry_says_what_speaks_most_for_the_claim() -> None:
    """Flags of another package: the claimed flag up, the true one down. An exact value would be no report at all."""
    true, false = record([], [], 1), record([], [], 2)
    flags = Flags.from_epsilon(1.0, categories=4)
    assert type(flags) not in RESPONSES
    told = flags.decode(response(flags, said(flags, true, false)), device=3)
    assert told[2] and not told[1]


@pytest.mark.parametrize("kind", mechanisms.BUILT_IN.values(), ids=lambda kind: kind.name)
def test_a_fake_account_says_what_speaks_for_its_claim(kind: type[Mechanism], population: Population) -> None:
    """It has no other record. Of noisy counts and features alone the end of the range is further than the claim."""
    claim = record([1, 5], [0, 2], 1)
    made = [m for name in kind.attributes for m in every_mechanism(name, population.facts) if type(m) is kind]
    for mechanism in made:
        one = replace(said(mechanism, claim, claim), true=None)
        report = mechanism.decode(response(mechanism, one), device=3)
        if kind in (NoisyRow, MultiBit, OneBit, Window, Laplace, AnalyticGaussian, GroupDegrees):
            continue  # the decoder has read it
        likely = mechanism.log_probability(_most_telling(mechanism, one), one.value(mechanism))
        assert mechanism.log_probability(report, one.value(mechanism)) >= likely - 1e-9


@pytest.mark.parametrize("kind", mechanisms.BUILT_IN.values(), ids=lambda kind: kind.name)
def test_no_drawn_report_says_more_than_the_worst_response(kind: type[Mechanism], population: Population) -> None:
    """By the likelihood ratio of the claim and the truth."""
    true, false = record([1, 5], [0, 2], 1), record([0, 1, 2, 7], [1, 2, 3], 0)
    made = [m for name in kind.attributes for m in every_mechanism(name, population.facts) if type(m) is kind]
    for mechanism in made:
        one = said(mechanism, true, false)
        claim, truth = one.value(mechanism), one.value(mechanism, true)
        ratio = [
            mechanism.log_probability(report, claim) - mechanism.log_probability(report, truth)
            for report in (mechanism.decode(response(mechanism, one), device=3), _most_telling(mechanism, one))
        ]
        assert ratio[0] >= ratio[1] - 1e-9


@pytest.mark.parametrize("attribute", ["adjacency", "features", "label"])
@pytest.mark.parametrize("adds", [False, True])
def test_worst_responses_are_read(population: Population, attribute: str, adds: bool) -> None:
    true, false = record([1, 5], [0, 2], 1), record([0, 1, 2, 7], [1, 2, 3], 0)
    for mechanism in every_mechanism(attribute, population.facts):
        data = response(mechanism, said(mechanism, true, false, adds=adds))
        assert mechanism.encode(mechanism.decode(data, device=3)) == data, mechanism.name
        mechanism.stack({3: data}, population.facts.n)


def test_responses_of_rows() -> None:
    true, false = record([1], [], 0), record([0, 2], [], 0)
    for mechanism in (RandomizedResponse.from_epsilon(1.0, n=6), ClearAdjacency(6)):
        row = mechanism.decode(response(mechanism, said(mechanism, true, false)), device=3)
        assert mechanism.nodes(3, np.flatnonzero(row)).tolist() == [0, 2]
    clear = ClearAdjacency(6)
    added = clear.decode(response(clear, said(clear, true, false, adds=True)), device=3)
    assert clear.nodes(3, np.flatnonzero(added)).tolist() == [0, 1, 2]
    noisy = NoisyRow.from_epsilon(1.0, n=6)
    far = noisy.decode(response(noisy, said(noisy, true, false)), device=3)
    assert far.tolist() == [LARGEST, -LARGEST, LARGEST, -LARGEST, -LARGEST]


def test_responses_of_counts() -> None:
    true, everybody = record([1], [], 0), record([0, 1, 2, 4, 5], [], 0)
    degree = Degree.from_epsilon(1.0, n=6)
    assert degree.decode(response(degree, said(degree, true, everybody)), device=3) == 5
    groups = GroupDegrees.from_epsilon(1.0, n=6, groups=2, seed=7)
    counts = groups.decode(response(groups, said(groups, true, everybody)), device=3)
    assert sorted(counts.tolist()) == [0, 5]  # all in one group


def test_responses_of_features_and_labels() -> None:
    true, false = record([], [0], 1), record([], [1, 3], 2)
    one = OneBit.from_epsilon(1.0, d=4)
    assert one.decode(response(one, said(one, true, false)), device=3).tolist() == [False, True, False, True]
    multi = MultiBit.from_epsilon(1.0, d=4, m=3)
    assert multi.decode(response(multi, said(multi, true, false)), device=3).tolist() == [-1, 1, 0, 1]
    window = Window.from_epsilon(1.0, d=4, m=2)
    assert window.decode(response(window, said(window, true, false)), device=3).tolist() == [0, 4096, 0, 4096]
    grr = GRR.from_epsilon(1.0, categories=4)
    assert grr.decode(response(grr, said(grr, true, false)), device=3) == 2
    three = SubsetSelection.from_epsilon(0.5, categories=7)
    named = three.decode(response(three, said(three, true, record([], [], 6))), device=3)
    assert np.flatnonzero(named).tolist() == [0, 2, 6]  # the claim and those after it, but not the true one
    most = SubsetSelection(1 << 50, 6, 7)
    assert most.decode(response(most, said(most, true, false)), device=3).tolist() == [True, False] + [True] * 5
    same = three.decode(response(three, said(three, true, true)), device=3)
    assert np.flatnonzero(same).tolist() == [1, 2, 3]


def test_a_vote_says_what_the_list_speaks_against(population: Population) -> None:
    """Also where the claim happens to speak for the truth."""
    facts = population.facts
    votes = [m for m in every_mechanism("adjacency", facts) if m.field == "votes"]
    assert len(votes) == 3
    for vote in votes:
        for true in (record([], [], 0), record([1, 2], [0], 0)):
            told = vote.decode(response(vote, said(vote, true, true)), device=3)
            values = range(vote.values_of(3) if hasattr(vote, "values_of") else 2)
            chances = [vote.log_probability(value, vote.value_of(true, device=3)) for value in values]
            assert chances[told] == min(chances)
