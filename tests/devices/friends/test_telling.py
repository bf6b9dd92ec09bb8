"""One telling in a life: under the pinned curator's model, with its row in the ledger, whatever the data are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.curator_key import CuratorKey, SignedModel
from ldpsim.devices.data.population import Population, records_of
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal, answer
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.friends.telling import Telling, tell_friends
from ldpsim.devices.friends.told_guesses import Guesses, scores_of_levels, scores_with_told
from ldpsim.devices.ledger.rows import TO_FRIENDS
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.mechanisms.score_rows import affinity, score_table
from ldpsim.devices.policy.policy import Policy, policy_for
from ldpsim.devices.prediction import DeviceModel
from ldpsim.devices.query import Ask, Query
from tests.signing import signed

KEY, STRANGER = (CuratorKey(Path("key"), bytes([number]) * 32) for number in (1, 2))
PEOPLE = generate(40, seed=3)
CLASSES, PERSON = PEOPLE.facts.classes, int(PEOPLE.degrees.argmax())
LABEL = Query("asked", ((Ask("label", (GRR.from_epsilon(1.0, categories=CLASSES),)),),))


def model(seed: int = 0, *, people: int = len(PEOPLE), friends: bool = True) -> DeviceModel:
    shares, rng = np.ones(CLASSES), np.random.default_rng(seed)
    like = affinity(0.6, shares)
    table = score_table(rng.dirichlet(np.ones(CLASSES), people), like, shares)
    return DeviceModel.of(table, shares, saturation=10, friends=like if friends else None)


def published(of: DeviceModel, key: CuratorKey = KEY) -> bytes:
    return key.sign_model(of.as_text().encode()).to_bytes()


def policy(collector: str | None = KEY.public, **more: object) -> Policy:
    return replace(policy_for([LABEL], PEOPLE.facts, collector=collector), **more)


def enrolled(folder: Path, agreed: Policy, people: Population = PEOPLE) -> State:
    return enrol(folder, people, agreed, seed=5)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[State]:
    state = enrolled(tmp_path / "state", policy())
    yield state
    state.close()


def told(home: State, device: int, file: bytes) -> Telling:
    found = tell_friends(home, device, file)
    assert isinstance(found, Telling)
    return found


def test_a_device_tells_what_the_simulation_computes(home: State) -> None:
    """Each device alone, from its own record; then a friend adds what it was told, as in the vectorised function."""
    everyone, given = np.arange(len(PEOPLE)), model()
    records = records_of(PEOPLE, everyone)
    guesses = Guesses.of(given, records, everyone)
    tellings = [told(home, device, published(given)) for device in everyone.tolist()]
    for device, telling in enumerate(tellings):
        assert telling.friends.tolist() == PEOPLE.record(device).neighbours.tolist()
        levels = guesses.levels(np.full(len(telling.friends), device), telling.friends)
        assert np.array_equal(telling.levels, levels)
    heard = [
        tellings[friend].levels[tellings[friend].friends == PERSON] for friend in tellings[PERSON].friends.tolist()
    ]
    sums = given.score_table.list_sums(records, everyone)[PERSON]
    sums[:-1] += scores_of_levels(given, np.concatenate(heard)).sum(axis=0)
    alone = given.scores(records, everyone, lists=False)[PERSON]
    total = alone + given.score_table.shared(sums[None], saturation=10)[0]
    found = scores_with_told(given, records, np.array([PERSON]), np.ones(len(PEOPLE), np.bool_))[0]
    assert total.max() >= alone.max() - 55528 and found.tolist() == total.tolist()


def test_the_telling_is_a_row_in_clear_in_the_ledger(home: State) -> None:
    telling = told(home, PERSON, published(model()))
    (row,) = home.ledger(PERSON).answers(PERSON)
    (part,) = row.parts
    assert (row.collection, part.attribute, part.loss.vector) == (TO_FRIENDS, TO_FRIENDS, math.inf)
    assert part.report == telling.to_bytes() and Telling.read(part.report).levels.tolist() == telling.levels.tolist()


def test_the_same_model_gets_the_same_and_another_one_nothing(home: State) -> None:
    first = told(home, PERSON, published(model()))
    again = told(home, PERSON, published(model()))
    assert again.replayed and not first.replayed and again.to_bytes() == first.to_bytes()
    assert tell_friends(home, PERSON, published(model(1))) is Refusal.REPORT_COLLECTED
    assert tell_friends(home, PERSON, published(model()), kind="label") is Refusal.REPORT_COLLECTED
    assert len(home.ledger(PERSON).answers(PERSON)) == 1


def test_after_the_data_changed_the_same_is_told_and_a_second_model_refused(tmp_path: Path) -> None:
    """The second answer is decided by the ledger alone: the data are not looked at."""
    state = enrolled(tmp_path / "state", policy())
    first = told(state, PERSON, published(model()))
    state.close()
    changed = generate(40, seed=4)
    for name in ("neighbour_indptr", "neighbour_indices", "feature_indptr", "feature_indices", "feature_values"):
        np.save(tmp_path / "state" / "population" / f"{name}.npy", getattr(changed, name))
    state = State(tmp_path / "state")
    assert told(state, PERSON, published(model())).to_bytes() == first.to_bytes()
    assert tell_friends(state, PERSON, published(model(1))) is Refusal.REPORT_COLLECTED
    state.close()


@pytest.mark.parametrize(
    ("file", "refusal"),
    [
        (published(model(), STRANGER), Refusal.COLLECTOR_REFUSED),
        (model().as_text().encode(), Refusal.COLLECTOR_REFUSED),
        (SignedModel(b"\0" * 64, model().as_text().encode()).to_bytes(), Refusal.COLLECTOR_REFUSED),
        (published(model(people=39)), Refusal.UNKNOWN_QUERY),
        (published(model(friends=False)), Refusal.UNKNOWN_QUERY),
        (KEY.sign_model(b"{}").to_bytes(), Refusal.UNKNOWN_QUERY),
        (b"x" * 10**7, Refusal.UNKNOWN_QUERY),
    ],
)  # fmt: skip
def test_other_models_get_nothing_and_cost_nothing(home: State, file: bytes, refusal: Refusal) -> None:
    assert tell_friends(home, PERSON, file) is refusal
    assert not home.ledger(PERSON).answers()


@pytest.mark.parametrize(
    ("agreed", "refusal"),
    [
        (policy(None), Refusal.COLLECTOR_REFUSED),
        (policy(volunteers=frozenset({PERSON})), Refusal.POLICY_REFUSED),
        (policy(mode="owner"), Refusal.MODE_REFUSED),
    ],
)  # fmt: skip
def test_who_pins_no_key_or_volunteers_tells_nothing(tmp_path: Path, agreed: Policy, refusal: Refusal) -> None:
    state = enrolled(tmp_path / "state", agreed)
    assert tell_friends(state, PERSON, published(model())) is refusal
    assert tell_friends(state, len(PEOPLE) + 7, published(model())) is Refusal.LEDGER_DAMAGED
    state.close()


def test_caps_count_what_a_curator_gets(tmp_path: Path) -> None:
    """A capped device tells, and answers its curator before or after; a second question stays refused."""
    state = enrolled(tmp_path / "state", policy_for([LABEL], PEOPLE.facts, collector=KEY.public, caps={"user": 1.0}))
    question = signed(KEY, LABEL, len(PEOPLE))
    told(state, PERSON, published(model()))
    (report,) = answer(state, [PERSON], question)
    assert not isinstance(report, Refusal) and not report.replayed
    assert told(state, PERSON, published(model())).replayed
    state.close()


def test_a_damaged_ledger_tells_nothing(home: State) -> None:
    told(home, PERSON, published(model()))
    ledger = home.ledger(PERSON)
    with ledger.transaction():
        ledger._db.execute("UPDATE answer SET collection = 'other'")
    assert tell_friends(home, PERSON, published(model(1))) is Refusal.LEDGER_DAMAGED
