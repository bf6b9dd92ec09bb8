"""A part in a diffusion: one row for all its messages, under signed terms, once in a life, whatever is told."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.friends.taking_part import DiffusionPart, DiffusionTerms, take_part
from ldpsim.devices.friends.telling import Telling, tell_friends
from ldpsim.devices.ledger.rows import TOLD
from ldpsim.devices.network import Shape
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
    found = take_part(home, PERSON, terms())
    assert isinstance(found, DiffusionPart) and found.rounds == 50 and not found.replayed
    own = PEOPLE.neighbour_indices[slice(*PEOPLE.neighbour_indptr[PERSON : PERSON + 2])]
    assert found.friends.tolist() == own.tolist()
    (answer,) = home.ledger(PERSON).chains(home.seal_keys([PERSON]))[PERSON]
    (row,) = answer.parts
    assert answer.collection == TOLD and row.loss.vector == row.loss.bit == math.inf
    assert (
        np.array_equal(DiffusionPart.read(row.report).friends, found.friends)
        and DiffusionPart.read(row.report).rounds == 50
    )


def test_the_same_terms_get_the_same_row_and_nothing_else_is_told(home: State) -> None:
    first = take_part(home, PERSON, terms())
    again = take_part(home, PERSON, terms())
    assert (
        isinstance(first, DiffusionPart) and isinstance(again, DiffusionPart) and again.replayed and not first.replayed
    )
    for other in (terms(51), terms(seed=1)):
        assert take_part(home, PERSON, other) == Refusal.REPORT_COLLECTED
    assert tell_friends(home, PERSON, published(model())) == Refusal.REPORT_COLLECTED
    assert len(home.ledger(PERSON).chains(home.seal_keys([PERSON]))[PERSON]) == 1


def test_a_person_who_told_a_guess_takes_no_part(home: State) -> None:
    assert isinstance(tell_friends(home, PERSON, published(model())), Telling)
    assert take_part(home, PERSON, terms()) == Refusal.REPORT_COLLECTED


def test_other_terms_cost_nothing(home: State) -> None:
    assert take_part(home, PERSON, terms(key=STRANGER)) == Refusal.COLLECTOR_REFUSED
    broken = KEY.sign_model(DiffusionTerms(len(PEOPLE), 5, SHAPE, np.full(SHAPE.size, np.nan)).to_bytes()).to_bytes()
    short = KEY.sign_model(b"12").to_bytes()
    for file in (terms(people=41), terms(rounds=0), broken, short, terms() + bytes(1 << 22)):
        assert take_part(home, PERSON, file) == Refusal.UNKNOWN_QUERY
    assert not home.ledger(PERSON).chains(home.seal_keys([PERSON]))[PERSON]
