"""Plans of two stages and of batches: everybody is asked once, on every engine, also when it goes on after a stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import LDPGen, Question
from ldpsim.curator.methods.base import Budget, LocalMethod, MethodSpec
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import IntArray, PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.rounds.batches import ask_in_batches
from ldpsim.strategies.rounds.collect_once import Collected, Stages, at_stage

METHOD = LDPGen(groups=3)
SPEND = Budget(epsilon=4, public_features=True)
Make = Callable[..., State]


def _ask(population: Population, collection: str = "first", **given: Any) -> tuple[Question, ...]:
    return METHOD.questions(population.facts, make_split("random", population, 0), replace(SPEND, **given), collection)


def _collect(state: State, population: Population, questions: Sequence[Question], **given: Any) -> Collected:
    kept = given.pop("kept", state.folder)
    method = given.pop("method", METHOD)
    stages = Stages(method, population.facts, kept)
    return collect(state.folder, questions, devices=len(population), stages=stages, **given)


@pytest.mark.usefixtures("ray_here")
def test_both_stages_are_the_same_on_local_and_ray(enrolled: Make, population: Population) -> None:
    seen = []
    for engine in ("local", "ray"):
        state = enrolled(_ask(population))
        rows = []
        for collection, epsilon in (("first", 4.0), ("first", 4.0), ("second", 4.0), ("third", 2.0)):
            questions = _ask(population, collection, epsilon=epsilon)
            c = _collect(state, population, questions, engine=engine, workers=2)
            rows.append(
                (c.reports_sha256, c.grouping, c.rounds, c.asked, c.reported, c.replayed, c.refused, c.messages)
            )
        seen.append(rows)
    assert seen[0] == seen[1]
    first, retry, other, smaller = seen[0]
    assert first[2:] == (2, 40, 40, 0, Counter(), 160) and set(first[1]) <= {0, 1, 2}
    assert retry[:2] == first[:2] and retry[4:6] == (0, 40)  # stored bytes of both stages
    for refused in (other, smaller):
        assert refused[2:] == (1, 40, 0, 0, Counter(REPORT_COLLECTED=40), 80)  # nobody is left for a second round


class Fickle(LDPGen):
    """A curator who groups people anew each time it asks."""

    def regroup(self, reports: Reports, stage: int) -> IntArray | None:
        """Another grouping than before."""
        own = super().regroup(reports, stage=stage)
        return (own + 1) % 3


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_a_second_grouping_is_not_answered(
    enrolled: Make, population: Population, on_requery: str, tmp_path: Path
) -> None:
    """Under another collection, and under the same id with the kept grouping thrown away."""
    state = enrolled(_ask(population), on_requery=on_requery)
    _collect(state, population, _ask(population))
    for number, collection in enumerate(("first", "second")):
        c = _collect(
            state, population, _ask(population, collection), method=Fickle(groups=3), kept=tmp_path / str(number)
        )
        assert not c.reported and c.replayed == 0 and c.refused == Counter(REPORT_COLLECTED=40)


def test_the_ledger_holds_the_whole_loss_from_the_first_stage_on(enrolled: Make, population: Population) -> None:
    state = enrolled(_ask(population))
    (question,) = _ask(population)
    collect(
        state.folder, (replace(question, query=question.query),), devices=40, stages=_Never(METHOD, population, state)
    )
    assert _losses(state) == [(0, pytest.approx(4.0))]
    _collect(state, population, (question,))
    assert _losses(state) == [(0, pytest.approx(4.0)), (1, 0.0)]


def _losses(state: State) -> list[tuple[int, float]]:
    return [(answer.stage, part.loss.bit) for answer in state.ledger(0).answers(3) for part in answer.parts]


class _Never(Stages):
    """The curator goes away after the first stage."""

    def __init__(self, method: LDPGen, population: Population, state: State) -> None:
        super().__init__(method, population.facts, state.folder)

    def advance(self, questions: Sequence[Question], answers: Any, stage: int) -> tuple[Question, ...]:
        """Ask nobody."""
        return tuple(replace(q, devices=np.zeros(0, np.int64)) for q in at_stage(questions, stage, (0,) * 40))


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


def _ask_batches(
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
    questions, collected = _ask_batches(state, population)
    assert [question.part for question in questions] == [0, 1, 2]
    assert (collected.asked, collected.reported, collected.rounds, collected.messages) == (40, 40, 3, 2 * 50)
    answers = [[part.attribute for row in state.ledger(i).answers(i) for part in row.parts] for i in range(40)]
    assert answers == [["label", "adjacency"]] * 10 + [["adjacency"]] * 30


def test_an_interrupted_collection_asks_the_same_again(enrolled: Callable[..., State], population: Population) -> None:
    whole = _ask_batches(enrolled(_planned(population)), population)[1]
    for stop in (1, 2):
        state = enrolled(_planned(population))
        with pytest.raises(KeyboardInterrupt):
            _ask_batches(state, population, stop_after=stop)
        again = _ask_batches(state, population)[1]
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
        _ask_batches(enrolled(_planned(population)), population, InBatches(halves))


def test_nobody_is_asked_further_where_nobody_answers(enrolled: Callable[..., State], population: Population) -> None:
    _, collected = _ask_batches(enrolled(_planned(population)), population, silent=frozenset(range(40)))
    assert (collected.asked, collected.reported, collected.rounds) == (10, 0, 1)
