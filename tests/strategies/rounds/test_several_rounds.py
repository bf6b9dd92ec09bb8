"""Several rounds, of stages or of batches: everybody is asked once, on every engine, also after a stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import LDPGen, Question
from ldpsim.curator.methods.base import Budget, LocalMethod, MethodSpec, collection_id
from ldpsim.curator.reports.question import at_stage
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.several_rounds import ask_rounds

METHOD = LDPGen(groups=3)
SPEND = Budget(epsilon=4, public_features=True)
Make = Callable[..., State]


def _ask(population: Population, collection: str = "first", **given: Any) -> tuple[Question, ...]:
    return METHOD.questions(population.facts, make_split("random", population, 0), replace(SPEND, **given), collection)


def _collect(state: State, population: Population, questions: Sequence[Question], **given: Any) -> Collected:
    """Collect in rounds; the method's own questions are replaced by these."""
    kept, method = given.pop("kept", state.folder), given.pop("method", METHOD)

    def ask(sent: Sequence[Question]) -> Collected:
        return collect(state.folder, sent, devices=len(population), **given)

    public = PublicKnowledge(population.facts, make_split("random", population, 0), np.full(len(population), -1))
    budget = replace(SPEND, epsilon=round(questions[0].query.loss("adjacency").bit, 6))
    return ask_rounds(method, public, budget, questions, kept, ask)


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
                (
                    c.reports_sha256,
                    c.questions[0].query.grouping,
                    c.rounds,
                    c.asked,
                    c.reported,
                    c.replayed,
                    c.refused,
                    c.messages,
                )
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

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Question]) -> RoundSteps:
        """Yield another grouping than before."""
        steps = super().rounds(public, budget, planned)
        reports = yield next(steps)
        made = steps.send(reports)
        yield at_stage(made, 1, tuple((group + 1) % 3 for group in made[0].query.grouping or ()))


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
    collect(state.folder, (question,), devices=40)  # the curator goes away after the first stage
    assert _losses(state) == [(0, pytest.approx(4.0))]
    _collect(state, population, (question,))
    assert _losses(state) == [(0, pytest.approx(4.0)), (1, 0.0)]


def _losses(state: State) -> list[tuple[int, float]]:
    return [(answer.stage, part.loss.bit) for answer in state.ledger(0).answers(3) for part in answer.parts]


BUDGET = Budget(epsilon=2.0)


@dataclass(frozen=True)
class InBatches(LocalMethod):
    """Labels of the first ten people, then rows of two halves; the second half's epsilon hangs on the first's ones."""

    halves: tuple[tuple[int, int], ...] = ((0, 20), (20, 40))

    spec = MethodSpec(name="in-batches", in_batches=True)

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        return (_rows(facts, budget.epsilon, collection, 0, 40), _labels(facts, collection))

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Question]) -> RoundSteps:
        collection = collection_id(planned)
        reports = yield (_labels(public.facts, collection),)
        for half in self.halves:
            epsilon = budget.epsilon if reports.adjacency is None else 1 + reports.adjacency.nnz / 40**2
            reports = yield (_rows(public.facts, epsilon, collection, *half),)


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
    dropouts: frozenset[int] = frozenset(), stop_after: int | None = None, budget: Budget = BUDGET,
) -> Collected:  # fmt: skip
    method, public, calls = method or InBatches(), _public(population), iter(range(100))

    def ask(questions: Sequence[Question]) -> Collected:
        if next(calls) == stop_after:
            raise KeyboardInterrupt
        return collect(state.folder, questions, devices=40, engine=engine, workers=2, dropouts=dropouts)

    planned = method.questions(public.facts, public.split, budget, "c")
    return ask_rounds(method, public, budget, planned, state.folder, ask)


def test_everybody_answers_once(enrolled: Callable[..., State], population: Population) -> None:
    state = enrolled(_planned(population))
    collected = _ask_batches(state, population)
    assert [question.part for question in collected.questions] == [0, 1, 2]
    assert (collected.asked, collected.reported, collected.rounds, collected.messages) == (40, 40, 3, 2 * 50)
    answers = [[part.attribute for row in state.ledger(i).answers(i) for part in row.parts] for i in range(40)]
    assert answers == [["label", "adjacency"]] * 10 + [["adjacency"]] * 30


def test_an_interrupted_collection_asks_the_same_again(enrolled: Callable[..., State], population: Population) -> None:
    whole = _ask_batches(enrolled(_planned(population)), population)
    for stop in (1, 2):
        state = enrolled(_planned(population))
        with pytest.raises(KeyboardInterrupt):
            _ask_batches(state, population, stop_after=stop)
        again = _ask_batches(state, population)
        assert again.reports == whole.reports
        assert (again.decoded.adjacency != whole.decoded.adjacency).nnz == 0  # type: ignore[union-attr,operator]
        replayed = {1: 0, 2: 20}[stop]  # the label alone makes nobody's count
        assert (again.asked, again.reported, again.replayed) == (40, 40 - replayed, replayed)


@pytest.mark.parametrize(
    ("halves", "said"),
    [
        (((0, 20), (10, 40)), "a round asks somebody again about adjacency"),
        (((0, 20), (20, 39)), "do not ask the planned people about adjacency"),
        (((0, 20), (20, 20), (20, 40)), "a round asks nobody about adjacency"),
    ],
)
def test_batches_that_do_not_ask_everybody_once_are_refused(
    halves: tuple[tuple[int, int], ...], said: str, enrolled: Callable[..., State], population: Population
) -> None:
    with pytest.raises(ValueError, match=f"in-batches: .*{said}"):
        _ask_batches(enrolled(_planned(population)), population, InBatches(halves))


def test_nobody_is_asked_further_where_nobody_answers(enrolled: Callable[..., State], population: Population) -> None:
    collected = _ask_batches(enrolled(_planned(population)), population, dropouts=frozenset(range(40)))
    assert (collected.asked, collected.reported, collected.rounds) == (10, 0, 1)


def test_other_options_under_the_same_id_do_not_send_the_kept_questions(
    enrolled: Callable[..., State], population: Population
) -> None:
    """The result of such a run would name an epsilon that nobody was asked with."""
    state = enrolled(_planned(population))
    assert _ask_batches(state, population).reported == 40
    collected = _ask_batches(state, population, budget=replace(BUDGET, epsilon=1.5))
    assert collected.questions[1].query.loss("adjacency").bit == 1.5
    assert collected.reported == 0 and collected.refused
