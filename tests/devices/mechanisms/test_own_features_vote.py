"""The vote with own features: the answer, its law over lists and features, its one loss, and what is refused."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.attacks.audit_row import AuditRow, Effort
from ldpsim.curator.attacks.mechanism_audit import audit_mechanism
from ldpsim.devices.data.population import Record, records_by_column
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, NeighbourhoodVote, OwnFeaturesVote
from ldpsim.devices.mechanisms.class_table import as_text
from ldpsim.devices.mechanisms.exact_loss import ONE, Loss
from ldpsim.devices.mechanisms.scored_vote import PADDED
from ldpsim.devices.mechanisms.word_model import UNIT, WordModel
from ldpsim.devices.noise import NoiseStream

N, D, C = 12, 10, 4
RNG = np.random.default_rng(11)
Q = RNG.dirichlet(np.ones(C) / 2, N)
MODEL = WordModel(RNG.integers(-UNIT, UNIT, (D, C)), RNG.integers(1, UNIT, D), np.full(C, UNIT // C), (900, 200))


def person(words: Any = (), near: Any = ()) -> Record:
    columns = np.array(words, np.int32)
    return Record(columns, np.ones(len(columns), np.float32), np.array(near, np.int32), 0)


def vote(**changed: Any) -> OwnFeaturesVote:
    return OwnFeaturesVote.from_probabilities(**{
        "probabilities": Q, "epsilon": 2.0, "model": MODEL, "homophily": 0.7, **changed
    })  # fmt: skip


def test_the_answer_is_the_best_class_of_list_and_words_together() -> None:
    asked, plain = vote(), NeighbourhoodVote.from_probabilities(Q, 2.0, homophily=0.7, candidates=C, own=False)
    for number in range(60):
        draw = np.random.default_rng(number)
        words, near = np.flatnonzero(draw.random(D) < 0.4), np.flatnonzero(draw.random(N) < 0.3)
        row = np.zeros((1, D), np.int64)
        row[0, words] = 1
        scores = plain.scores(near, 3)[0] + MODEL.evidence(MODEL.shares(row))[0]
        assert asked.value_of(person(words, near), device=3) == scores.argmax()
    own, nothing = vote(own=True), np.zeros((1, D), np.int64)
    scores = own._read.own[3] + MODEL.evidence(MODEL.shares(nothing))[0]
    assert own.value_of(person(), device=3) == scores.argmax()


def test_each_of_list_and_words_alone_changes_the_answer() -> None:
    asked = vote(probabilities=np.eye(C)[np.arange(N) % C])
    by_words = {asked.value_of(person(words), device=5) for words in product(range(D), repeat=2)}
    by_list = {asked.value_of(person((), near), device=5) for near in product(range(N), repeat=2)}
    assert len(by_words) > 1 and len(by_list) > 1


def test_one_loss_whatever_changes() -> None:
    for epsilon in (0.01, 1.0, 4.0, 20.0):
        asked = vote(epsilon=epsilon)
        codes = vote(epsilon=epsilon, form="codes")
        assert codes.loss() == codes.loss(device=0) == asked.loss() and codes != asked
        assert asked.loss() == asked.loss(device=0) == GRR.from_epsilon(epsilon, categories=C).loss()
        assert asked.loss() == Loss(pytest.approx(epsilon, abs=1e-9), pytest.approx(epsilon, abs=1e-9))  # type: ignore[arg-type]


def test_every_list_with_every_row_of_features_and_every_answer() -> None:
    """All lists of five people with all rows of two features: epsilon is attained, and is not twice epsilon."""
    rows = audit_mechanism(OwnFeaturesVote, Effort(2000), stream=NoiseStream)
    found = {row.level: row for row in rows}
    assert set(found) == {"bit", "vector", "law"} and all(row.passed for row in rows)
    assert all("walked through" in row.detail for row in rows)
    for level in ("bit", "vector"):
        row: AuditRow = found[level]
        assert row.exact == pytest.approx(row.claimed, abs=1e-8)


def test_an_audit_finds_a_device_that_answers_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: were list and features two answers, each at epsilon, the loss of both would be twice epsilon."""
    answer = OwnFeaturesVote.respond

    def twice(self: OwnFeaturesVote, record: Record, noise: NoiseStream, *, device: int, grouping: Any = None) -> bytes:
        alone = person((), record.neighbours)
        first = answer(self, alone, noise, device=device)
        return first + answer(self, replace(record, neighbours=alone.neighbours[:0]), noise, device=device)

    monkeypatch.setattr(OwnFeaturesVote, "respond", twice)
    rows = audit_mechanism(OwnFeaturesVote, Effort(200), stream=NoiseStream)
    assert not all(row.passed for row in rows)


def test_law_of_every_draw(all_noise: Callable[..., Any]) -> None:
    asked = vote()
    for value in range(C):
        for noise in all_noise(1, C - 1):
            report = asked.perturb(value, noise)
            assert asked.log_probability(report, value) <= math.log((ONE - asked.lie) / ONE) + 1e-12
            assert asked.decode(asked.encode(report), device=0) == report


def test_words_are_the_entries_above_zero_and_odd_ones_are_clamped() -> None:
    asked = vote()
    odd = Record(np.array([-4, 2, 5, 6, 99], np.int32), np.array([1, -1, np.nan, 0.5, np.inf], np.float32),
                 np.array([-7, 99], np.int32), 0)  # fmt: skip
    assert np.flatnonzero(asked.read_features(odd)).tolist() == [0, 6, 9]
    assert asked.value_of(odd, device=3) == asked.value_of(person((0, 6, 9), (0, N - 1)), device=3)


def test_one_end_reads_the_neighbours_before_the_device_and_all_words() -> None:
    asked = vote(reporting="one-end")
    for device in range(N):
        before, after = list(range(device)), list(range(device + 1, N))
        both = asked.value_of(person((1, 2), (*before, *after)), device=device)
        assert both == asked.value_of(person((1, 2), before), device=device)


def test_a_model_that_asks_for_one_word_is_right_as_often_as_grr() -> None:
    """ "Do you have this word?": 98 % at epsilon 4, of two classes; the loss stays epsilon."""
    weights = np.zeros((D, 2), np.int64)
    weights[3, 1] = 20 * UNIT
    model = WordModel(weights, np.zeros(D, np.int64), np.zeros(2, np.int64), (1 << 16, 0))
    asked = vote(probabilities=np.zeros((N, 2)), model=model, epsilon=4.0)
    has, lacks = (asked.value_of(person(words, (1, 2)), device=5) for words in ((1, 3, 7), (1, 7)))
    assert (lacks, has) == (0, 1) and math.exp(asked.log_probability(1, 1)) == pytest.approx(0.982, abs=5e-4)
    assert asked.loss() == Loss(4.0, 4.0)


def test_the_path_does_not_depend_on_the_number_of_words() -> None:
    asked = vote()
    for size in (0, 1, D):
        row = asked.read_features(person(range(size)))
        assert row.shape == (D,) and row.dtype == np.int64 and row.sum() == size
    assert asked.padded(1, np.arange(0)).shape == asked.padded(1, np.arange(12)).shape == (PADDED,)


def test_two_words_and_two_thousand_take_equally_long() -> None:
    """At most a factor of 2: the best of several rounds each, in turn, by CPU time."""
    columns = 2500
    model = WordModel(np.ones((columns, C), np.int64), np.ones(columns, np.int64), np.zeros(C, np.int64), (256, 256))
    asked = vote(model=model)
    few, many = person((0, 1), (0, 1)), person(range(2000), (0, 1))

    def seconds(record: Record) -> float:
        started = time.process_time()
        for _ in range(40):
            asked.value_of(record, device=3)
        return time.process_time() - started

    for _ in range(6):
        rounds = [(seconds(few), seconds(many)) for _ in range(5)]
        ratio = min(b for _, b in rounds) / min(a for a, _ in rounds)
        if ratio <= 2:
            return
    raise AssertionError(f"2,000 words take {ratio:.2f} times as long as 2")


@pytest.mark.filterwarnings("ignore:overflow")  # of an infinite feature
@pytest.mark.parametrize("changed", [
    {}, {"form": "codes"}, {"own": True, "form": "codes"}, {"reporting": "one-end"},
    {"agreement": True}, {"levels": 9, "low": -1.0, "high": 2.0},
    {"levels": 255, "low": 0.5, "high": 0.75, "epsilon": 0.1},
])  # fmt: skip
def test_many_answer_at_once_as_one_by_one(changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for columns that are given twice or are none, features that are no numbers, and nobody's neighbours."""
    asked, rng = vote(**changed), np.random.default_rng(3)
    strange = np.array([np.nan, np.inf, -np.inf, 0, 1, -1, 0.6], np.float32)
    records = []
    for _ in range(60):
        size = int(rng.integers(0, 9))
        records.append(Record(rng.integers(-2, D + 3, size).astype(np.int32), rng.choice(strange, size),
                              rng.integers(-2, N + 3, rng.integers(0, 9)).astype(np.int32),
                              int(rng.integers(-1, C + 1))))  # fmt: skip
    devices = (np.arange(60) % N).tolist()
    wanted = [asked.value_of(record, device=device) for record, device in zip(records, devices, strict=True)]
    assert len(set(wanted)) > 1
    for at_once in (1, 40, 1 << 22):
        monkeypatch.setattr("ldpsim.devices.mechanisms.scored_vote._ENTRIES", at_once)
        assert asked.values_of_many(records_by_column(records), devices=devices).tolist() == wanted
    made = [[NoiseStream(bytes([i]) * 32) for i in range(60)] for _ in range(2)]
    alone = [asked.respond([r], [s], devices=[d])[0] for r, s, d in zip(records, made[0], devices, strict=True)]
    assert asked.respond(records, made[1], devices=devices) == alone


def test_a_few_devices_answer_in_a_time_that_does_not_depend_on_their_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, lists = vote(), []
    monkeypatch.setattr(OwnFeaturesVote, "scores_of_many", lambda self, people, devices: lists.append(people))
    asked.respond([person()] * 7, [NoiseStream(bytes(32))] * 7, devices=range(7))
    assert not lists


def test_a_witness_says_whether_the_vote_is_the_own_label() -> None:
    asked, witness = vote(), vote(agreement=True)
    for number in range(60):
        draw = np.random.default_rng(number)
        record = person(np.flatnonzero(draw.random(D) < 0.4), np.flatnonzero(draw.random(N) < 0.3))
        best = asked.value_of(record, device=3)
        said = [witness.value_of(replace(record, label=label), device=3) for label in range(-1, C + 2)]
        assert said == [int(label == best) for label in range(-1, C + 2)]
    assert witness.loss() == GRR.from_epsilon(2.0, categories=2).loss() and witness.values_of(0) == 2
    assert (witness.reads, asked.reads) == (("adjacency", "features", "label"), ("adjacency", "features"))
    assert witness.estimate(1).shape == (2,)
    with pytest.raises(ValueError, match="not a report"):
        witness.decode(b"\x02", device=0)
    with pytest.raises(ValueError, match="agreement is true or false"):
        replace(asked, agreement=1)


def test_every_list_features_and_label_of_a_witness() -> None:
    """All records of five people: epsilon is attained, also by the label alone, and never exceeded."""
    (example,) = (each for each in OwnFeaturesVote.audit_examples() if getattr(each[0], "agreement"))  # noqa: B009
    witness, facts = example
    assert isinstance(witness, OwnFeaturesVote) and facts.n == 5
    logs: dict[int, dict[tuple[Any, ...], float]] = {0: {}, 1: {}}
    lists = [near for size in range(5) for near in combinations((0, 1, 3, 4), size)]
    for near, words, label in product(lists, product((0, 1), repeat=2), range(-1, 3)):
        record = replace(person(np.flatnonzero(words), near), label=label)
        value = witness.value_of(record, device=2)
        for report, found in logs.items():
            found[near, words, label] = witness.log_probability(report, value)
    for found in logs.values():
        assert max(found.values()) - min(found.values()) == pytest.approx(1.0, abs=1e-9)
        by_label = [abs(found[near, words, a] - found[near, words, b])
                    for near, words, _ in found for a in range(-1, 3) for b in range(-1, 3)]  # fmt: skip
        assert max(by_label) == pytest.approx(1.0, abs=1e-9)


def test_facts_must_agree() -> None:
    asked = vote()
    assert asked.agrees_with(PublicFacts(N, D, C))
    assert not any(asked.agrees_with(facts) for facts in (PublicFacts(N, D + 1, C), PublicFacts(N + 1, D, C),
                                                          PublicFacts(N, D, C + 1)))  # fmt: skip


@pytest.mark.parametrize("changed", [
    {"columns": D + 1}, {"columns": 0}, {"columns": -1}, {"columns": 1 << 62}, {"model": ""}, {"model": "AAAA"},
    {"exponents": (1,)}, {"exponents": (1, 1 << 20)}, {"exponents": (1.0, 1)}, {"lie": 0}, {"lie": ONE},
    {"lie": ONE // 4 * 3}, {"people": N + 1}, {"classes": C + 1}, {"table": "AAAA"}, {"form": "half"},
    {"reporting": "none"}, {"affinity": (0,) * 16}, {"table": as_text(np.array([255, 0, 0, 0] * N, np.uint8))},
])  # fmt: skip
def test_invalid_questions_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(vote(), **changed)


def test_the_answers_are_the_same_for_ever() -> None:
    """Whole numbers alone: this digest holds on any processor, with any library for sums and with any threads."""
    draw = np.random.default_rng(7)
    table = as_text(draw.integers(0, 255, (300, 6)).astype(np.uint8))
    affinity = tuple(int(a) for a in draw.integers(1, (1 << 16) + 1, 36))
    model = WordModel(draw.integers(-1 << 20, 1 << 20, (400, 6)), draw.integers(0, 1 << 20, 400),
                      draw.integers(-1 << 15, 1 << 16, 6), (1234, 567))  # fmt: skip
    asked = OwnFeaturesVote(lie=1 << 62, people=300, classes=6, columns=400, table=table, affinity=affinity,
                            model=model.as_text(), exponents=model.exponents)  # fmt: skip
    answers = bytes(
        asked.value_of(
            person(draw.choice(400, draw.integers(0, 80), replace=False),
                   draw.choice(300, draw.integers(0, 4), replace=False)), device=device)
        for device in range(300)
    )  # fmt: skip
    assert len(set(answers)) == 6
    assert hashlib.sha256(answers).hexdigest() == "1558c4136b262d5e1b8dc4b92fb96a4fb5c2dc4cc95f7a7b37efe042e5f500d3"
