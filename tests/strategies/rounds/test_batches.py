"""Batches: each person is asked once, and an interrupted collection asks the same again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.methods import Question
from ldpsim.curator.methods.base import Budget, LocalMethod, MethodSpec
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.rounds.batches import ask_in_batches
from ldpsim.strategies.rounds.collect_once import Collected

BUDGET = Budget(epsilon=2.0)


@dataclass(frozen=True)
class InBatches(LocalMethod):
    """Labels of the first ten people, then rows of two halves; the second half's epsilon hangs on the first's ones."""

    halves: tuple[tuple[int, int], ...] = ((0, 20), (20, 40))

    spec = MethodSpec(name="in-batches", in_batches=True)

    def questions(
        self, facts: PublicFacts, split: Split, budget: Budget, collection: str,
        so_far: tuple[PublicKnowledge, Reports | None] | None = None,
    ) -> tuple[Question, ...]:  # fmt: skip
        if so_far is None:
            return (_rows(facts, 2.0, collection, 0, 40), _labels(facts, collection))
        earlier = so_far[1]
        if earlier is None:
            return (_labels(facts, collection),)
        done = len(earlier.parts) - 1 if earlier.parts else 0
        if done >= len(self.halves):
            return ()
        epsilon = 2.0 if earlier.adjacency is None else 1 + earlier.adjacency.nnz / 40**2
        return (_rows(facts, epsilon, collection, *self.halves[done]),)


def _rows(facts: PublicFacts, epsilon: float, collection: str, start: int, end: int) -> Question:
    ask = Ask("adjacency", (RandomizedResponse.from_epsilon(epsilon, n=facts.n),))
    return Question(Query(collection, ((ask,),)), np.arange(start, end))


def _labels(facts: PublicFacts, collection: str) -> Question:
    ask = Ask("label", (GRR.from_epsilon(1.0, categories=facts.classes),))
    return Question(Query(collection, ((ask,),)), np.arange(10))


def _planned(population: Population) -> tuple[Question, ...]:
    return InBatches().questions(population.facts, _public(population).split, BUDGET, "c")


def _public(population: Population) -> PublicKnowledge:
    split = make_split("random", population, 0)
    return PublicKnowledge(population.facts, split, np.full(len(population), -1))


def _ask(
    state: State, population: Population, method: InBatches | None = None, *, engine: str = "local",
    silent: frozenset[int] = frozenset(), stop_after: int | None = None, kept: Path | None = None,
) -> tuple[tuple[Question, ...], Collected]:  # fmt: skip
    method, public, calls = method or InBatches(), _public(population), iter(range(100))

    def ask(questions: Sequence[Question]) -> Collected:
        if next(calls) == stop_after:
            raise KeyboardInterrupt
        return collect(state.folder, questions, devices=40, engine=engine, workers=2, silent=silent)

    planned = method.questions(public.facts, public.split, BUDGET, "c")
    return ask_in_batches(method, public, BUDGET, planned, kept or state.folder, ask)


def test_everybody_answers_once(enrolled: Callable[..., State], population: Population) -> None:
    state = enrolled(_planned(population))
    questions, collected = _ask(state, population)
    assert [question.part for question in questions] == [0, 1, 2]
    assert (collected.asked, collected.reported, collected.rounds, collected.messages) == (40, 40, 3, 2 * 50)
    answers = [[part.attribute for row in state.ledger(i).answers(i) for part in row.parts] for i in range(40)]
    assert answers == [["label", "adjacency"]] * 10 + [["adjacency"]] * 30


def test_an_interrupted_collection_asks_the_same_again(enrolled: Callable[..., State], population: Population) -> None:
    whole = _ask(enrolled(_planned(population)), population)[1]
    for stop in (1, 2):
        state = enrolled(_planned(population))
        with pytest.raises(KeyboardInterrupt):
            _ask(state, population, stop_after=stop)
        again = _ask(state, population)[1]
        assert again.reports == whole.reports and again.answers == whole.answers
        replayed = {1: 0, 2: 20}[stop]  # the label alone makes nobody's count
        assert (again.asked, again.reported, again.replayed) == (40, 40 - replayed, replayed)


@pytest.mark.parametrize(
    ("halves", "said"),
    [
        (((0, 20), (10, 40)), "a batch asks somebody again about adjacency"),
        (((0, 20), (20, 39)), "do not ask the planned people about adjacency"),
        (((0, 20), (20, 20), (20, 40)), "a batch asks nobody about adjacency"),
    ],
)
def test_batches_that_do_not_ask_everybody_once_are_refused(
    halves: tuple[tuple[int, int], ...], said: str, enrolled: Callable[..., State], population: Population
) -> None:
    with pytest.raises(ValueError, match=f"in-batches: .*{said}"):
        _ask(enrolled(_planned(population)), population, InBatches(halves))


def test_nobody_is_asked_further_where_nobody_answers(enrolled: Callable[..., State], population: Population) -> None:
    _, collected = _ask(enrolled(_planned(population)), population, silent=frozenset(range(40)))
    assert (collected.asked, collected.reported, collected.rounds) == (10, 0, 1)
