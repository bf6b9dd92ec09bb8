"""Consent to a diffusion: one row for all its messages, under signed terms, once in a life, whatever is told."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.data.population import records_of
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.friends.diffusion import diffuse, friend_pairs
from ldpsim.devices.friends.diffusion_consent import DiffusionConsent, DiffusionTerms, agree_to_diffusion
from ldpsim.devices.friends.telling import Telling, tell_friends
from ldpsim.devices.ledger.rows import TO_FRIENDS
from ldpsim.devices.network import Shape, softmax
from tests.devices.friends.test_telling import KEY, PEOPLE, PERSON, STRANGER, enrolled, model, policy, published

SHAPE = Shape(PEOPLE.facts.d, 4, PEOPLE.facts.classes)


def terms(rounds: int = 50, people: int = len(PEOPLE), key: object = KEY, seed: int = 0) -> bytes:
    made = DiffusionTerms(people, rounds, SHAPE, SHAPE.initial(seed))
    return key.sign_model(made.to_bytes()).to_bytes()  # type: ignore[attr-defined]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[State]:
    state = enrolled(tmp_path / "state", policy())
    yield state
    state.close()


def test_one_row_says_whom_and_how_often(home: State) -> None:
    found = agree_to_diffusion(home, PERSON, terms())
    assert isinstance(found, DiffusionConsent) and found.rounds == 50 and not found.replayed
    own = PEOPLE.neighbour_indices[slice(*PEOPLE.neighbour_indptr[PERSON : PERSON + 2])]
    assert found.friends.tolist() == own.tolist()
    (answer,) = home.ledger(PERSON).chains(home.seal_keys([PERSON]))[PERSON]
    (row,) = answer.parts
    assert answer.collection == TO_FRIENDS and row.loss.vector == row.loss.bit == math.inf
    assert (
        np.array_equal(DiffusionConsent.read(row.report).friends, found.friends)
        and DiffusionConsent.read(row.report).rounds == 50
    )


def test_the_same_terms_get_the_same_row_and_nothing_else_is_told(home: State) -> None:
    first = agree_to_diffusion(home, PERSON, terms())
    again = agree_to_diffusion(home, PERSON, terms())
    assert isinstance(first, DiffusionConsent) and isinstance(again, DiffusionConsent)
    assert again.replayed and not first.replayed
    for other in (terms(51), terms(seed=1)):
        assert agree_to_diffusion(home, PERSON, other) == Refusal.REPORT_COLLECTED
    assert tell_friends(home, PERSON, published(model())) == Refusal.REPORT_COLLECTED
    assert len(home.ledger(PERSON).chains(home.seal_keys([PERSON]))[PERSON]) == 1


def test_a_person_who_told_a_guess_takes_no_part(home: State) -> None:
    assert isinstance(tell_friends(home, PERSON, published(model())), Telling)
    assert agree_to_diffusion(home, PERSON, terms()) == Refusal.REPORT_COLLECTED


def test_other_terms_cost_nothing(home: State) -> None:
    assert agree_to_diffusion(home, PERSON, terms(key=STRANGER)) == Refusal.COLLECTOR_REFUSED
    broken = KEY.sign_model(DiffusionTerms(len(PEOPLE), 5, SHAPE, np.full(SHAPE.size, np.nan)).to_bytes()).to_bytes()
    short = KEY.sign_model(b"12").to_bytes()
    for file in (terms(people=41), terms(rounds=0), broken, short, terms() + bytes(1 << 22)):
        assert agree_to_diffusion(home, PERSON, file) == Refusal.UNKNOWN_QUERY
    assert not home.ledger(PERSON).chains(home.seal_keys([PERSON]))[PERSON]


def test_a_crafted_predictor_makes_a_first_value_an_answer_about_a_feature() -> None:
    """An audit of what a friend with the curator learns: signed terms, and whether a feature is there, right of all."""
    feature = int(np.bincount(PEOPLE.feature_indices, minlength=PEOPLE.facts.d).argmax())
    weights = np.zeros(SHAPE.size, np.float32)
    into, _, out, bias = SHAPE.parts(weights)
    into[feature, 0], out[0, 0], bias[1] = 100.0, 100.0, 50.0  # class 0 where the feature is there, else class 1
    made = DiffusionTerms(len(PEOPLE), 50, SHAPE, weights)
    read = DiffusionTerms.read(made.to_bytes(), policy())
    first, first_bias, last, last_bias = read.shape.parts(read.weights)
    columns = (PEOPLE.feature_values, PEOPLE.feature_indices, PEOPLE.feature_indptr)
    features = csr_array(columns, shape=(len(PEOPLE), PEOPLE.facts.d)).toarray()
    said = softmax(np.maximum(features @ first + first_bias, 0) @ last + last_bias)
    pairs = friend_pairs(records_of(PEOPLE, range(len(PEOPLE))))
    heard = diffuse(said, np.full(len(PEOPLE), -1), pairs, rounds=0, most_rate=1.0, restart=0.1, seed=0).values
    there = features[:, feature] > 0
    assert 0 < there.sum() < len(PEOPLE) and np.array_equal(heard.argmax(axis=1) == 0, there)
