"""Laws of a poisoned collection, on reports of many devices that are made here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from curator.reports.question import Question
from curator.reports.reports import Reports
from devices.data.population import Population
from devices.datasets.generated import generate
from devices.device import pack_parts, pack_report, unpack_report
from devices.mechanisms import GRR, OneBit, RandomizedResponse
from devices.noise import NoiseStream, derive_key
from devices.query import Ask, Query
from strategies.attacks.liars.app import LyingApp
from strategies.attacks.liars.attacks import ATTACKS
from strategies.attacks.liars.plan import LyingPlan, draw_liars
from strategies.attacks.poison.laws import _expected_labels, laws_of, rare_events, report_measures

N, M = 200, 40
PEOPLE = generate(N, seed=3)
LIARS = draw_liars(N, M / N, 1)


def plan(attack: str, lie: str) -> LyingPlan:
    return LyingPlan(ATTACKS[attack], lie, "inflate", "all", PEOPLE, LIARS, np.array([], np.int64), target_class=1,
                fakes=20, seed=3)  # fmt: skip


def query_of(epsilon: float) -> Query:
    row = RandomizedResponse.from_epsilon(epsilon, n=N)
    bit = OneBit.from_epsilon(epsilon, d=PEOPLE.facts.d)
    label = GRR.from_epsilon(epsilon, categories=PEOPLE.facts.classes)
    return Query("first", ((Ask("adjacency", (row,)), Ask("features", (bit,)), Ask("label", (label,))),))


def collected(query: Query, lies: LyingPlan | None) -> Reports:
    """Return the reports of everybody; liars answer by the edited app's own code."""
    answers = {}
    for device in range(N):
        secret = derive_key(b"secrets of the test, 32 bytes...", device.to_bytes(4, "little"))
        told = []
        for ask in query.asks:
            key = derive_key(secret, ask.attribute.encode())
            told.append(pack_parts(m.respond(PEOPLE.record(device), NoiseStream(key, place), device=device)
                                   for place, m in enumerate(ask.mechanisms)))  # fmt: skip
        data = pack_report(tuple(told))
        if lies is not None and device in LIARS:
            data = LyingApp(lies).lie(query, data, device, secret)
        answers[device] = unpack_report(data, query)
    return Reports.from_bytes(PEOPLE.facts, [Question(query)], answers)


def measured(epsilon: float, attack: str, lie: str) -> tuple[dict, dict]:
    query, lies = query_of(epsilon), plan(attack, lie)
    columns = lies.columns(PEOPLE.facts.d // 2)
    clean = report_measures(collected(query, None), PEOPLE, None, LIARS, columns)
    return report_measures(collected(query, lies), PEOPLE, lies, LIARS, columns), clean


@pytest.mark.parametrize("lie", ["input", "response"])
@pytest.mark.parametrize(("attack", "law"), [("one-label", "grr shift"), ("extreme-bit", "bit-mean shift"),
                                             ("fakes", "false pairs by both ends")])  # fmt: skip
def test_laws_hold(attack: str, law: str, lie: str) -> None:
    now, clean = measured(1.0, attack, lie)
    found = {entry["law"]: entry for entry in laws_of(now, clean, 1)}
    assert set(found) == {law, "honest disagreements"}
    assert all(entry["passed"] for entry in found.values())
    entry = found[law]
    assert abs(entry["found"] - entry["expected"]) <= 3 * entry["sd"]  # the seeds are fixed
    if entry["bound"] is not None:
        assert abs(entry["expected"]) <= entry["bound"]


def test_a_response_costs_the_estimators_range() -> None:
    """m/n times the range of the estimator, from the lowest value to the highest, within 3 standard errors."""
    epsilon, query = 1.0, query_of(1.0)
    mechanism = query.asks[2].mechanisms[0]
    assert isinstance(mechanism, GRR)
    width = 1 / (mechanism.truth_probability - mechanism.other_probability)
    for label, end in ((1, mechanism.estimate(1)[1]), (2, mechanism.estimate(2)[1])):
        lies = replace(plan("one-label", "response"), target_class=label)
        labels = collected(query, lies).labels
        assert labels is not None
        told = np.mean([mechanism.estimate(int(value))[1] for value in labels[LIARS]])
        assert told == pytest.approx(end)
    assert mechanism.estimate(1)[1] - mechanism.estimate(2)[1] == pytest.approx(width)
    now, clean = measured(epsilon, "one-label", "response")
    (law, *_) = laws_of(now, clean, 1)
    truth = np.mean(PEOPLE.labels[LIARS] == 1)
    assert law["bound"] == pytest.approx(M / N * width)
    # from honest truth to the top: (1 - q)/(p - q) - truth, of a range of 1/(p - q)
    top = M / N * (mechanism.estimate(1)[1] - truth)
    assert abs(law["found"] - top) <= 3 * law["sd"]


def test_input_and_response_become_one() -> None:
    """The gap is 1.94 at epsilon 2 for seven classes, and nothing at 12."""
    shifts = {}
    for epsilon in (1.0, 12.0):
        mechanism = GRR.from_epsilon(epsilon, categories=PEOPLE.facts.classes)
        for lie in ("input", "response"):
            lies = plan("one-label", lie)
            shifts[epsilon, lie] = _expected_labels(mechanism, PEOPLE, lies, np.isin(np.arange(N), LIARS))["shift"][1]
    assert shifts[1.0, "response"] > 2 * shifts[1.0, "input"]
    assert shifts[12.0, "response"] == pytest.approx(shifts[12.0, "input"], abs=1e-3)


def test_a_wrong_law_is_found() -> None:
    """The test of the laws has power: a clean collection does not obey the law of the lie."""
    now, clean = measured(1.0, "one-label", "response")
    (law, *_) = laws_of({**clean, "labels": {**now["labels"], "estimates": clean["labels"]["estimates"]}}, clean, 1)
    assert not law["passed"]
    claims = {"claims": 4000, "found": 4000, "chance": 0.27, "liars": 60}
    assert not laws_of({"both_ends": claims}, {}, 1)[0]["passed"]


def test_laws_of_nobody() -> None:
    assert report_measures(_without_answers(PEOPLE), PEOPLE, None, LIARS, np.arange(4))["labels"]["reports"] == 0
    assert laws_of({}, {}, 0) == []


def _without_answers(people: Population) -> Reports:
    return Reports.from_bytes(people.facts, [Question(query_of(1.0))], {})


def test_rare_events_have_a_largest_number() -> None:
    assert rare_events("false alarms", 0, 1e-3)["passed"]
    assert rare_events("false alarms", 1, 1e-3)["passed"]
    assert not rare_events("false alarms", 3, 1e-3)["passed"]


def test_expectation_and_deviation_of_each_law() -> None:
    """And the slack: six deviations and one event, where no bound says that it is a mean."""
    ends = {"found": 45, "claims": 100, "chance": 0.2}
    pairs = {"found": 2, "pairs": 400, "chance": 0.01}
    names = ("false pairs by both ends", "honest disagreements")
    both, honest = laws_of({"both_ends": ends, "disagreements": pairs}, {}, 0)
    for law, name, expected, sd in ((both, names[0], 20, 4.0), (honest, names[1], 4, 3.96**0.5)):
        assert (law["law"], law["expected"], law["bound"]) == (name, pytest.approx(expected), None)
        assert law["sd"] == pytest.approx(sd) and law["passed"]
    for found, passed in ((45, True), (46, False), (0, True)):
        (law,) = laws_of({"both_ends": {**ends, "found": found}}, {}, 0)
        assert law["passed"] is passed and law["found"] == found
    bits = {"liars": 5, "reports": 50, "range": 3.0, "mean": 0.5, "shift": 10.0, "variance": 100.0}
    (law,) = laws_of({"bits": bits}, {"bits": {"mean": 0.25}}, 0)
    assert law == {"law": "bit-mean shift", "found": 0.25, "expected": 0.2, "sd": 0.2, "bound": pytest.approx(0.3),
                   "passed": True}  # fmt: skip
    for mean, passed in ((1.649, True), (1.651, False)):
        (law,) = laws_of({"bits": {**bits, "mean": mean}}, {"bits": {"mean": 0.25}}, 0)
        assert law["passed"] is passed
    labels = {"liars": 2, "reports": 10, "range": 1.0, "estimates": [0.1, 0.6, 0.3], "shift": [0, 2, -1],
              "variance": [1, 4, 9]}  # fmt: skip
    (law,) = laws_of({"labels": labels}, {"labels": {"estimates": [0.2, 0.3, 0.5]}}, 4)  # of three classes, the second
    assert law["law"] == "grr shift" and law["found"] == pytest.approx(0.3)
    assert (law["expected"], law["sd"], law["bound"]) == (0.2, 0.2, 0.2)


def test_a_count_below_its_mean_is_as_it_should_be() -> None:
    assert rare_events("rare", 0, 100.0)["passed"] and rare_events("rare", 161, 100.0)["passed"]
    assert not rare_events("rare", 162, 100.0)["passed"]
    assert rare_events("rare", 1, 0.0)["passed"] and not rare_events("rare", 2, 0.0)["passed"]
    assert rare_events("rare", 1, 4.0)["sd"] == 2.0
