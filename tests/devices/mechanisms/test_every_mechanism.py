"""What holds for all built-in mechanisms alike: questions, data of any kind, foreign bytes, one-end policies.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from ldpsim.devices import mechanisms
from ldpsim.devices.data.records import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRR,
    GRRFS,
    AnalyticGaussian,
    ClearAdjacency,
    ClearFeatures,
    Degree,
    Laplace,
    Mechanism,
    MultiBit,
    OneBit,
    RandomizedResponse,
    Window,
)
from ldpsim.devices.mechanisms.clear import IN_CLEAR
from ldpsim.devices.mechanisms.mechanism import one_report, one_value
from ldpsim.devices.mechanisms.stacked_reports import stacked
from ldpsim.devices.noise import Noise
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, InvalidQuery, Query
from tests.devices.mechanisms.examples import EXAMPLES, FACTS, C, D, N
from tests.devices.mechanisms.one import encoded, respond

LISTS = [m for m in EXAMPLES if "adjacency" in m.reads]
every = pytest.mark.parametrize("mechanism", EXAMPLES, ids=lambda m: m.name)


def attribute(mechanism: Mechanism) -> str:
    return mechanism.reads[0]


def people() -> list[Record]:
    rng = np.random.default_rng(2)
    made = []
    for _ in range(6):
        columns = np.sort(rng.choice(D, rng.integers(0, D), replace=False)).astype(np.int32)
        neighbours = np.sort(rng.choice(N, 3, replace=False)).astype(np.int32)
        made.append(Record(columns, np.ones(len(columns), np.float32), neighbours, int(rng.integers(C))))
    strange = np.array([np.nan, np.inf, -np.inf, 1e30, -7.0], np.float32)
    made.append(Record(np.array([-5, 0, 4, 10, 99], np.int32), strange, np.array([-3, 0, 8, 700], np.int32), -1))
    made.append(Record(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int32), 10**6))
    return made


def test_the_examples_are_all_there_are() -> None:
    assert [m.name for m in EXAMPLES] == list(mechanisms.BUILT_IN)
    assert all(type(m).__dataclass_params__.frozen for m in EXAMPLES)  # type: ignore[attr-defined]
    assert all(mechanisms.find(m.name) is type(m) for m in EXAMPLES)


def test_no_version_changes_by_accident() -> None:
    """A new version says that the same key gives other bytes: old questions then have other fingerprints."""
    assert {m.name: m.version for m in EXAMPLES} == {**dict.fromkeys(mechanisms.BUILT_IN, 1), "neighbourhood_vote": 2}
    samplers = {name: 1 if kind.in_clear else 2 for name, kind in mechanisms.BUILT_IN.items()}
    samplers["randomized_response"] = 3
    assert {m.name: m.sampler for m in EXAMPLES} == samplers


@every
def test_questions_are_read_back(mechanism: Mechanism) -> None:
    query = Query("c", ((Ask(attribute(mechanism), (mechanism,)),),))
    again = Query.from_bytes(query.to_bytes())
    assert again == query and again.fingerprint(attribute(mechanism)) == query.fingerprint(attribute(mechanism))
    assert mechanism.agrees_with(FACTS)


@every
def test_parameters_of_another_type_are_no_question(mechanism: Mechanism) -> None:
    """1, True, 1.0 and "1" are four parameters: each would have a fingerprint of its own."""
    plain = json.loads(Query("c", ((Ask(attribute(mechanism), (mechanism,)),),)).to_bytes())
    refused = 0
    for entry in fields(mechanism):  # type: ignore[arg-type]
        for wrong in (None, True, "1", [], {}, [True], [1.0], 1.5, math.pi, 10**400, -1):
            given = plain["plan"][0][0]["mechanisms"][0]
            absent = entry.name not in given  # a later parameter is spelled out only where it is not at its default
            kept, given[entry.name] = given.get(entry.name, entry.default), wrong
            data = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
            try:
                read = Query.from_bytes(data)
                assert type(wrong) is type(kept) and read.to_bytes() == data
            except InvalidQuery:
                refused += 1
            given[entry.name] = kept
            if absent:
                del given[entry.name]
    assert refused >= 9 * len(fields(mechanism))  # type: ignore[arg-type]


@every
def test_whatever_the_data_there_is_a_report_and_it_is_read_back(mechanism: Mechanism) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for device, record in enumerate(people()):
            data = respond(mechanism, record, bytes([device]) * 32, device)
            report = one_report(mechanism, data, device)
            assert encoded(mechanism, report, device) == data
            value = one_value(mechanism, record, device)
            chance = mechanism.log_probability(report, value)
            assert -math.inf < chance <= 1e-12
            assert np.all(np.isfinite(mechanism.estimate(report)))


@every
def test_the_same_key_gives_the_same_bytes_and_another_key_others(mechanism: Mechanism) -> None:
    record = people()[0]
    bytes_ = [respond(mechanism, record, bytes([k]) * 32, 4) for k in (0, 0, *range(1, 30))]
    assert bytes_[0] == bytes_[1]
    assert (len(set(bytes_)) == 1) == mechanism.name.startswith("clear_")


@every
def test_foreign_bytes_are_a_value_error_or_a_report(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(0)
    good = respond(mechanism, people()[0], bytes(32), 4)
    trials = [rng.bytes(int(rng.integers(0, 2 * len(good) + 4))) for _ in range(300)]
    for _ in range(300):
        spoiled = bytearray(good)
        spoiled[int(rng.integers(len(spoiled)))] ^= 1 << int(rng.integers(8))
        trials.append(bytes(spoiled))
    for data in trials:
        try:
            report = one_report(mechanism, data, 4)
        except ValueError:
            continue
        assert encoded(mechanism, report, 4) == data


@pytest.mark.parametrize(("mechanism", "data"), [
    (ClearAdjacency(801), bytes([0]) + bytes(100)),  # 800 packed zeros, where no gap at all is smaller
    (ClearFeatures(3), b"\2\0\0\0\0\x80" + bytes(4)),  # a feature that is 0, listed as if it were not
    (OneBit.from_epsilon(1.0, d=3), b"\x1f"),  # bits after the last feature
    (Degree.from_epsilon(1.0, n=3), b"\2\1\0"),  # two bytes for a number that fits one
])  # fmt: skip
def test_there_is_one_way_to_write_a_report(mechanism: Mechanism, data: bytes) -> None:
    with pytest.raises(ValueError):
        one_report(mechanism, data, 1)
    with pytest.raises(ValueError, match="^device 1: "):
        stacked(mechanism, 900, {1: data})


@every
def test_the_log_likelihood_is_that_of_the_stated_probabilities(mechanism: Mechanism) -> None:
    """Of each entry, the others being equal: ln Pr[report | high] - ln Pr[report | low]."""
    report: Any
    base: Any
    data = respond(mechanism, people()[0], bytes(range(32)), 4)
    report = one_report(mechanism, data, 4)
    found = mechanism.log_likelihood(report)
    if mechanism.name in ("degree", "group_degrees", "neighbourhood_vote", "grr_fs", "analytic_gaussian", "sum_share"):
        assert found is None
        return
    if mechanism.in_clear:
        assert set(np.abs(found).tolist()) <= {0.0, IN_CLEAR}
        return
    if attribute(mechanism) == "label":
        chances = [mechanism.log_probability(report, category) for category in range(C)]
        assert found - found[0] == pytest.approx(np.array(chances) - chances[0], abs=1e-9)
        return
    base = np.zeros(len(found)) if attribute(mechanism) == "features" else np.zeros(len(found), np.int64)
    for entry in range(len(found)):
        high = base.copy()
        high[entry] = mechanism.grid if mechanism.name == "noisy_row" else 1  # type: ignore[attr-defined]
        ratio = mechanism.log_probability(report, high) - mechanism.log_probability(report, base)
        assert found[entry] == pytest.approx(ratio, abs=1e-9)


@every
def test_losses_are_ordered_and_rounded_up(mechanism: Mechanism) -> None:
    loss = mechanism.loss()
    assert 0 < loss.bit <= loss.vector
    assert (loss.bit == math.inf) == (mechanism.name.startswith("clear_") or mechanism.name == "sum_share")
    assert (loss.delta > 0) == (mechanism.name == "analytic_gaussian")
    for device in range(N):
        own = mechanism.loss(device=device)
        assert own.bit <= loss.bit and own.vector <= loss.vector


MORE: list[Mechanism] = [
    OneBit.from_epsilon(0.3, d=3), Laplace.from_epsilon(2.0, d=4), MultiBit.from_epsilon(4.0, d=4, m=2),
    Window.from_epsilon(2.0, d=3, m=3, kind="sw"), AnalyticGaussian.from_epsilon(0.5, delta=1e-6, d=1),
    GRRFS.from_epsilon(1.0, facts=PublicFacts(N, D, 2, domains=(3, 2, 6, 2)), m=2), GRR.from_epsilon(3.0, categories=5),
    *(replace(m, reporting="one-end") for m in LISTS),  # type: ignore[type-var]
]  # fmt: skip


@pytest.mark.parametrize("mechanism", [*EXAMPLES, *MORE], ids=lambda m: m.name)
@pytest.mark.parametrize("device", [None, 0, 1, 4, N - 1])
def test_a_loss_is_0_at_no_change_never_falls_and_ends_at_that_of_the_whole(
    mechanism: Mechanism, device: int | None
) -> None:
    """For every number of entries that somebody may ask about, beyond the last one too."""
    losses = [mechanism.loss_of(changed, device=device) for changed in (*range(2 * D + 2), 10**6)]
    whole = mechanism.loss_of(device=device)
    assert losses[0] == 0 and losses == sorted(losses) and losses[-1] <= whole
    assert (losses[1], whole) == (mechanism.loss(device=device).bit, mechanism.loss(device=device).vector)
    if not isinstance(mechanism, GRRFS):  # its bound of the whole is one of all choices of features
        assert losses[-1] == whole


@pytest.mark.parametrize("mechanism", LISTS, ids=lambda m: m.name)
def test_a_one_ended_device_answers_only_what_reads_one_end(mechanism: Mechanism) -> None:
    both = Query("c", ((Ask("adjacency", (mechanism,)),),))
    one = Query("c", ((Ask("adjacency", (replace(mechanism, reporting="one-end"),)),),))  # type: ignore[type-var]
    policy = policy_for([both, one], FACTS, reporting="one-end")
    assert policy.allows(one, device=4) and not policy.allows(both, device=4)
    if len(mechanism.reads) > 1:  # it is asked alone
        return
    joined = Query("c", ((Ask("adjacency", (*one.asks[0].mechanisms, mechanism)),),))
    wide = policy_for([joined, one], FACTS, reporting="one-end")
    assert not wide.allows(joined, device=4)
    assert policy_for([joined], FACTS).allows(joined, device=4)


@pytest.mark.parametrize("mechanism", [m for m in EXAMPLES if m.name.startswith("clear_")], ids=lambda m: m.name)
def test_a_finite_cap_keeps_an_attribute_from_going_in_clear(mechanism: Mechanism) -> None:
    query = Query("c", ((Ask(attribute(mechanism), (mechanism,)),),))
    assert policy_for([query], FACTS).allows(query, device=1)
    for level in ("bit", "vector", "user"):
        assert not policy_for([query], FACTS, caps={level: 1e9}).allows(query, device=1)


@every
def test_many_reports_at_once_are_those_of_one_by_one(mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    others: list[Mechanism] = [mechanism]
    if isinstance(mechanism, RandomizedResponse):  # packed bits and gaps, both kinds of rows
        others += [RandomizedResponse.from_epsilon(e, n=N, reporting="one-end") for e in (0.1, 3.0, 9.0)]
    if isinstance(mechanism, MultiBit):
        others += [MultiBit.from_epsilon(4.0, d=D, m=m) for m in (1, D - 1, D)]
    if isinstance(mechanism, GRRFS):  # categories, every feature sampled, columns without blocks
        categories = PublicFacts(N, D, 2, domains=(3, 2, 6, 2))
        others += [GRRFS.from_epsilon(1.0, facts=categories, m=m) for m in (2, 4)]
        others += [GRRFS.from_epsilon(1.0, facts=FACTS, m=m) for m in (1, D)]
    records, devices = people(), list(range(len(people())))
    for kind in others:
        for trial in range(20):
            keys = [bytes([trial, i]) * 16 for i in devices]
            asked = zip(records, keys, devices, strict=True)
            alone = [respond(kind, record, key, device, stream=1) for record, key, device in asked]
            assert kind.respond(records, Noise(keys, 1), devices=devices) == alone
        for at_once in (1, 2 * D):  # words of one person, of two
            with monkeypatch.context() as patch:
                patch.setattr("ldpsim.devices.mechanisms.mechanism.AT_ONCE", at_once)
                assert kind.respond(records, Noise(keys, 1), devices=devices) == alone


class Chosen(Noise):
    """Noise whose blocks are words of a few values, so that many tie with a threshold or are rejected."""

    def squeeze(self, draw: int, number: int, size: int, rows: Iterable[int] | None = None) -> bytes:
        most = (1 << 32) - 1
        keys = self._keys if rows is None else [self._keys[row] for row in rows]
        made = []
        for key in keys:
            choose = np.random.default_rng([*key, draw, number])
            made.append(choose.choice([most, 5, 1 << 31, choose.integers(most)], 400).astype("<u4").tobytes()[:size])
        return b"".join(made)


@pytest.mark.parametrize("mechanism", [
    OneBit((1 << 31 + 32) - 1, D),
    GRR.from_epsilon(1.0, categories=8),
    MultiBit.from_epsilon(4.0, d=D, m=4), Window.from_epsilon(2.0, d=D, m=2),
    GRRFS.from_epsilon(1.0, facts=PublicFacts(N, 10, 2, domains=(3, 3, 4)), m=2),
])  # fmt: skip
def test_ties_and_rejected_words_are_decided_as_alone(mechanism: Mechanism) -> None:
    """The largest word lies beyond the last whole multiple of 3, of 7, of 11 and of 10."""
    records, devices = people(), np.arange(len(people())).tolist()
    for trial in range(20):
        keys = [bytes([trial, device]) * 16 for device in devices]
        alone = [mechanism.respond([record], Chosen([key]), devices=[device])[0]
                 for record, key, device in zip(records, keys, devices, strict=True)]  # fmt: skip
        assert mechanism.respond(records, Chosen(keys), devices=devices) == alone
