"""An answer that depends on list and features, on whole devices: one release, entered for both, counted once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Device, Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.mechanisms import GRR, NeighbourhoodVote, OneBit, RandomizedResponse
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.mechanisms.feature_model import UNIT, FeatureModel
from ldpsim.devices.mechanisms.mechanism import Mechanism
from ldpsim.devices.policy.policy import Cap, Policy, policy_for
from ldpsim.devices.query import Ask, InvalidQuery, Query
from ldpsim.devices.report import Report, unpack_report
from ldpsim.strategies.results.lifetime import read_ledgers
from tests.fleets import Untouchable, lone_device

N, D, CLASSES = 12, 10, 3
Q = np.random.default_rng(4).dirichlet(np.ones(CLASSES), N)
WEIGHTS = np.random.default_rng(5).integers(-UNIT, UNIT, (D, CLASSES))


def mechanism(epsilon: float = 4.0, **changed: Any) -> NeighbourhoodVote:
    model = FeatureModel(WEIGHTS, np.zeros(CLASSES, np.int64))
    return NeighbourhoodVote.from_probabilities(**{
        "probabilities": Q, "epsilon": epsilon, "model": model, "homophily": 0.8, **changed
    })  # fmt: skip


def query(attribute: str, *mechanisms: Mechanism, collection: str = "first") -> Query:
    return Query(collection, ((Ask(attribute, mechanisms),),))


def question(collection: str = "first", epsilon: float = 4.0, **changed: Any) -> Query:
    return query("adjacency", mechanism(epsilon, **changed), collection=collection)


WORDS = query("features", OneBit.from_epsilon(1.0, d=D), collection="words")
LIST = query("adjacency", RandomizedResponse.from_epsilon(1.0, n=N), collection="list")
VOTE = query("adjacency", NeighbourhoodVote.from_probabilities(Q, 1.0, homophily=0.8, candidates=3), collection="v")
LABEL = query("label", GRR.from_epsilon(1.0, categories=CLASSES), collection="labels")
BOTH = Query("both", ((*LIST.asks, *WORDS.asks),))


@pytest.fixture
def state(tmp_path: Path, population: Population) -> State:
    queries = [question(), WORDS, LIST, VOTE, LABEL, BOTH]
    return enrol(tmp_path / "s", population, policy_for(queries, population.facts), seed=3)


# --- the question ---------------------------------------------------------------------------


def test_a_question_about_both_has_one_fingerprint() -> None:
    asked = question()
    assert asked.attributes == ("adjacency", "features") and asked.asks[0].attributes == asked.attributes
    assert asked.fingerprint("adjacency") == asked.fingerprint("features")
    assert asked.loss("adjacency") == asked.loss("features") == Loss(4.0, 4.0) and asked.total() == 4.0
    assert Query.from_bytes(asked.to_bytes()) == asked
    assert BOTH.fingerprint("adjacency") != BOTH.fingerprint("features") and BOTH.total() == N - 1 + D
    assert question(epsilon=2.0).fingerprint("features") != asked.fingerprint("features")


def test_it_is_asked_alone_and_under_its_own_attribute() -> None:
    asked, words = question().asks[0], WORDS.asks[0]
    with pytest.raises(InvalidQuery, match="repeated"):
        Query("c", ((asked, words),))
    with pytest.raises(InvalidQuery, match="in one stage"):
        Query("c", ((asked,), (words,)))
    with pytest.raises(InvalidQuery, match="does not apply"):
        Ask("features", (mechanism(),))
    for others in ((LIST.asks[0].mechanisms[0],), (mechanism(1.0),)):
        with pytest.raises(InvalidQuery, match="asked alone"):
            Ask("adjacency", (*others, mechanism()))
    assert Query("c", ((asked, *LABEL.asks),)).attributes == ("adjacency", "features", "label")
    assert Query("c", ((asked, *LABEL.asks),)).total() == 5.0


# --- one release ------------------------------------------------------------------------------


def test_the_ledger_has_both_attributes_and_one_report(state: State) -> None:
    asked = question()
    told = state.device(5).answer(asked)
    assert isinstance(told, Report) and set(unpack_report(told.data, asked)) == {"adjacency"}
    (row,) = state.ledger(5).answers(5)
    assert [(part.attribute, part.loss) for part in row.parts] == [
        ("adjacency", Loss(4.0, 4.0)), ("features", Loss(4.0, 4.0))
    ]  # fmt: skip
    assert len({part.fingerprint for part in row.parts}) == 1 and len({part.data_digest for part in row.parts}) == 2
    assert row.parts[0].report and not row.parts[1].report
    assert [part.attribute for part in row.releases] == ["adjacency"]


def test_every_later_question_about_either_is_refused(state: State) -> None:
    for first in (question(), replace(question(), collection="other")):
        index = 5 if first.collection == "first" else 6
        assert isinstance(state.device(index).answer(first), Report)
        before = state.ledger(index).answers(index)
        for later in (WORDS, LIST, VOTE, BOTH, question("next"), question(epsilon=1.0), question(homophily=0.1),
                      question(probabilities=Q[::-1]),
                      Query("next", ((*question().asks, *LABEL.asks),))):  # fmt: skip
            assert state.device(index).answer(later) is Refusal.REPORT_COLLECTED
        assert state.ledger(index).answers(index) == before
        assert isinstance(state.device(index).answer(LABEL), Report)


def test_a_calibration_is_about_list_and_label(tmp_path: Path, population: Population) -> None:
    """One release under two attributes: whatever is asked about one of them later is refused, in both orders."""
    calibration = query("adjacency", NeighbourhoodVote.from_probabilities(Q, 4.0, homophily=0.8, calibration=True))
    assert calibration.attributes == ("adjacency", "label") and calibration.total() == 4.0
    assert Query.from_bytes(calibration.to_bytes()) == calibration
    policy = policy_for([calibration, question(), WORDS, LABEL], population.facts)
    devices = enrol(tmp_path / "w", population, policy, seed=3)
    assert isinstance(devices.device(5).answer(calibration), Report)
    (row,) = devices.ledger(5).answers(5)
    assert [part.attribute for part in row.parts] == ["adjacency", "label"]
    for later in (LABEL, question(), LIST, replace(calibration, collection="next")):
        assert devices.device(5).answer(later) in (Refusal.REPORT_COLLECTED, Refusal.POLICY_REFUSED)
    assert isinstance(devices.device(5).answer(WORDS), Report)  # features were not read
    assert isinstance(devices.device(6).answer(LABEL), Report)
    assert devices.device(6).answer(calibration) is Refusal.REPORT_COLLECTED
    closed = enrol(tmp_path / "n", population, policy_for([question()], population.facts), seed=3)
    assert closed.device(5).answer(calibration) is Refusal.POLICY_REFUSED  # the policy has no loss for a label


@pytest.mark.parametrize("before", [WORDS, LIST, VOTE, BOTH], ids=["words", "list", "vote", "both"])
def test_it_is_refused_where_one_of_both_was_released(state: State, before: Query) -> None:
    assert isinstance(state.device(5).answer(before), Report)
    assert state.device(5).answer(question()) is Refusal.REPORT_COLLECTED
    assert len(state.ledger(5).answers(5)) == 1


# --- counted once -------------------------------------------------------------------------------


def test_the_loss_counts_once_for_the_person_and_fully_for_each_attribute(state: State) -> None:
    for index in range(N):
        assert isinstance(state.device(index).answer(question()), Report)
    known = read_ledgers(state, None)[0].figures()
    assert {name: known[name]["max"] for name in ("bit_adjacency", "bit_feature", "vector", "user")} == {
        "bit_adjacency": 4.0, "bit_feature": 4.0, "vector": 4.0, "user": 4.0,
    }  # fmt: skip
    assert isinstance(state.device(5).answer(LABEL), Report)
    assert read_ledgers(state, None)[0].figures()["user"]["max"] == 5.0


@pytest.mark.parametrize(("cap", "allowed"), [(5.0, True), (4.9, False)])
@pytest.mark.parametrize("reverse", [False, True])
def test_it_uses_up_its_loss_of_a_persons_cap_once(
    tmp_path: Path, population: Population, cap: float, allowed: bool, reverse: bool
) -> None:
    """4 for list and features together, and 1 for the label: 5 in all, whichever comes first."""
    asked = [question(), LABEL]
    policy = replace(policy_for(asked, population.facts), user_cap=cap)
    device = enrol(tmp_path / "capped", population, policy, seed=3).device(5)
    first, second = asked[::-1] if reverse else asked
    assert isinstance(device.answer(first), Report)
    told = device.answer(second)
    assert isinstance(told, Report) if allowed else told is Refusal.POLICY_REFUSED


def _untouchable(policy: Policy, ledger: Ledger) -> Device:
    return lone_device(3, Untouchable(), b"s" * 32, policy, ledger)


@pytest.mark.parametrize("cap", [Cap(3.9, 4.0, 4.0), Cap(4.0, 3.9, 4.0), Cap(4.0, 4.0, 3.9), None])
@pytest.mark.parametrize("attribute", ["adjacency", "features"])
def test_the_caps_of_both_attributes_hold(state: State, attribute: str, cap: Cap | None) -> None:
    """A cap below epsilon on either attribute refuses it at any level; so does an attribute without a cap."""
    full = policy_for([question()], state.policy.facts)
    assert full.allows(question(), device=3)
    caps = {name: kept for name in full.caps if (kept := cap if name == attribute else full.caps[name]) is not None}
    assert _untouchable(replace(full, caps=caps), state.ledger(3)).answer(question()) is Refusal.POLICY_REFUSED


# --- the noise --------------------------------------------------------------------------------


def test_new_data_of_either_attribute_draw_new_noise(
    tmp_path: Path, state: State, population: Population, keys: list[bytes]
) -> None:
    """On a ledger that is lost, the same noise on other data would tell the difference without any."""
    record = population.record(5)
    words = replace(record, feature_indices=np.array([0], np.int32), feature_values=np.ones(1, np.float32))
    near = replace(record, neighbours=np.array([2], np.int32))
    for place, held in enumerate((record, record, words, near)):
        ledger = Ledger.create(tmp_path / f"l{place}")
        assert isinstance(lone_device(5, held, b"s" * 32, state.policy, ledger).answer(question()), Report)
    assert keys[0] == keys[1] and len(set(keys)) == 3
