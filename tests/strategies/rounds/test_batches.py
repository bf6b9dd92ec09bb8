"""Batches: each person is asked once, and an interrupted collection asks the same again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import Question
from ldpsim.curator.methods.base import Budget, LocalMethod, MethodSpec
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, RandomizedResponse
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.rounds import batches
from ldpsim.strategies.rounds.batches import ask_in_batches, asked_people, questions_from_json, questions_to_json
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


@pytest.fixture
def enrolled(tmp_path: Path, population: Population) -> Callable[[], State]:
    """Return freshly enrolled folders; every one has the same seeded devices."""
    number = iter(range(10))

    def make() -> State:
        planned = InBatches().questions(population.facts, _public(population).split, BUDGET, "c")
        rules = policy_for([question.query for question in planned], population.facts)
        return enrol(tmp_path / f"state-{next(number)}", population, rules, seed=5)

    return make


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


@pytest.mark.usefixtures("ray_here")
def test_everybody_answers_once_and_alike_on_local_and_ray(
    enrolled: Callable[[], State], population: Population
) -> None:
    seen = []
    for engine in ("local", "ray"):
        state = enrolled()
        questions, collected = _ask(state, population, engine=engine)
        assert [question.part for question in questions] == [0, 1, 2]
        assert (collected.asked, collected.reported, collected.rounds, collected.messages) == (40, 40, 3, 2 * 50)
        answers = [[part.attribute for row in state.ledger(i).answers(i) for part in row.parts] for i in range(40)]
        assert answers == [["label", "adjacency"]] * 10 + [["adjacency"]] * 30
        seen.append(collected.reports_sha256)
    assert seen[0] == seen[1]


def test_an_interrupted_collection_asks_the_same_again(enrolled: Callable[[], State], population: Population) -> None:
    whole = _ask(enrolled(), population)[1]
    for stop in (1, 2):
        state = enrolled()
        with pytest.raises(KeyboardInterrupt):
            _ask(state, population, stop_after=stop)
        again = _ask(state, population)[1]
        assert again.reports == whole.reports and again.answers == whole.answers
        replayed = {1: 0, 2: 20}[stop]  # the label alone makes nobody's count
        assert (again.asked, again.reported, again.replayed) == (40, 40 - replayed, replayed)


def test_the_saved_question_is_asked_though_the_reports_would_make_another(
    enrolled: Callable[[], State], population: Population
) -> None:
    """Somebody was silent at first, and is there when the collection goes on."""
    state = enrolled()
    first, some = _ask(state, population, silent=frozenset({3, 30}))
    assert (some.asked, some.reported, some.silent) == (40, 38, 2)
    second, rest = _ask(state, population)
    assert [q.query for q in second] == [q.query for q in first]
    assert (rest.reported, rest.replayed) == (2, 38)
    state = enrolled()
    fresh, _ = _ask(state, population)
    assert fresh[2].query != first[2].query  # without the file the epsilon would have been this one's


@pytest.mark.parametrize(
    ("halves", "said"),
    [
        (((0, 20), (10, 40)), "a batch asks somebody again about adjacency"),
        (((0, 20), (20, 39)), "do not ask the planned people about adjacency"),
        (((0, 20), (20, 20), (20, 40)), "a batch asks nobody about adjacency"),
    ],
)
def test_batches_that_do_not_ask_everybody_once_are_refused(
    halves: tuple[tuple[int, int], ...], said: str, enrolled: Callable[[], State], population: Population
) -> None:
    with pytest.raises(ValueError, match=f"in-batches: .*{said}"):
        _ask(enrolled(), population, InBatches(halves))


def test_nobody_is_asked_further_where_nobody_answers(enrolled: Callable[[], State], population: Population) -> None:
    _, collected = _ask(enrolled(), population, silent=frozenset(range(40)))
    assert (collected.asked, collected.reported, collected.rounds) == (10, 0, 1)


def test_questions_are_read_as_they_were_written(population: Population) -> None:
    planned = InBatches().questions(population.facts, _public(population).split, BUDGET, "c")
    everybody = replace(planned[0], devices=None)
    text = json.dumps(questions_to_json([*planned, everybody]), default=np.ndarray.tolist)
    read = questions_from_json(json.loads(text))
    assert [question.query for question in read] == [planned[0].query, planned[1].query, planned[0].query]
    assert np.array_equal(read[1].devices, np.arange(10)) and read[2].devices is None  # type: ignore[arg-type]


def test_people_who_are_asked_by_attribute() -> None:
    facts = PublicFacts(8, 3, 2)
    rows, labels = _rows(facts, 1.0, "c", 2, 5), replace(_labels(facts, "c"), devices=np.array([1, 7]))
    found = asked_people(8, [rows, labels, replace(labels, devices=np.array([0]))])
    assert {name: np.flatnonzero(who).tolist() for name, who in found.items()} == {
        "adjacency": [2, 3, 4], "label": [0, 1, 7]
    }  # fmt: skip
    assert asked_people(8, [replace(rows, devices=None)])["adjacency"].all() and asked_people(8, ()) == {}


def collected(reports: dict[int, bytes], asked: int, **counts: Any) -> Collected:
    answers: Any = {device: {"x": data} for device, data in reports.items()}
    return Collected(
        dict(reports), answers, asked=asked, reported=len(reports), refused=Counter({"A": asked % 3}), **counts
    )


def test_counts_of_batches_by_hand() -> None:
    """People 0 to 3 are asked about labels and then about rows, 4 to 7 about rows in a batch of their own."""
    facts = PublicFacts(8, 3, 2)
    labels = replace(_labels(facts, "c"), devices=np.arange(4))
    first = collected(
        {0: b"a", 1: b"b"}, 4, rounds=1, messages=6, downlink_bytes=10, uplink_bytes=3, seconds=0.5, silent=2
    )
    second = collected({0: b"c", 2: b"d"}, 4, downlink_bytes=20, uplink_bytes=5, failed=1, seconds=1.0,
                       rounds=1, messages=5, replayed=1)  # fmt: skip
    second.answers = {0: {"y": b"c"}, 2: {"y": b"d"}}  # type: ignore[dict-item]
    third = collected({4: b"e"}, 4, rounds=1, messages=4, downlink_bytes=40, uplink_bytes=7, seconds=2.0, silent=3)
    made = [([labels], first), ([_rows(facts, 1.0, "c", 0, 4)], second), ([_rows(facts, 1.0, "c", 4, 8)], third)]
    whole = batches._joined(made)
    assert whole.reports == {0: b"ac", 1: b"b", 2: b"d", 4: b"e"}
    assert whole.answers == {0: {"x": b"a", "y": b"c"}, 1: {"x": b"b"}, 2: {"y": b"d"}, 4: {"x": b"e"}}
    sums = (whole.rounds, whole.messages, whole.downlink_bytes, whole.uplink_bytes, whole.seconds)
    assert sums == (3, 15, 70, 15, 3.5) and (whole.asked, whole.reported, whole.silent) == (0, 0, 0)
    counted = batches._counted(made, 8)
    assert (counted.asked, counted.reported, counted.replayed, counted.silent, counted.failed) == (8, 3, 1, 3, 1)
    assert counted.refused == {"A": 2} and counted.messages == 15
    longer = [([replace(labels, devices=np.arange(5))], first), *made[1:2]]  # person 4 is asked about the label alone
    assert batches._counted(longer, 8).asked == 8 and batches._counted(made[:2], 8).asked == 4


def test_what_a_batch_may_not_be(population: Population, tmp_path: Path) -> None:
    facts = population.facts
    label = _labels(facts, "c")
    seen = asked_people(40, ())
    batches._check("m", [label, _rows(facts, 1.0, "c", 0, 9)], seen, 40)
    assert np.flatnonzero(seen["adjacency"]).tolist() == list(range(9)) and seen["label"].sum() == 10
    batches._check("m", [_rows(facts, 1.0, "c", 9, 20), _rows(facts, 1.0, "c", 20, 40)], seen, 40)
    for batch, said in (
        ([_rows(facts, 1.0, "c", 39, 40)], "m: a batch asks somebody again about adjacency"),
        ([replace(label, devices=np.arange(10, 20)), replace(label, devices=np.arange(19, 30))],
         "m: a batch asks somebody again about label"),
        ([replace(label, devices=np.arange(0))], "m: a batch asks nobody about label"),
        ([replace(label, devices=np.arange(30, 31)), _labels(facts, "d")], "m: all batches belong to one collection"),
    ):  # fmt: skip
        with pytest.raises(ValueError) as raised:
            batches._check("m", batch, dict(seen), 40)
        assert str(raised.value) == said
    public = _public(population)
    for number, refused in ((63, False), (64, True)):
        if refused:
            with pytest.raises(ValueError, match="in-batches: more than 64 batches"):
                batches._kept_questions(InBatches(), public, BUDGET, "c", tmp_path / "a", None, number=number)
        else:
            made = batches._kept_questions(InBatches(), public, BUDGET, "c", tmp_path / "a", None, number=number)
            assert [question.query for question in made] == [label.query]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["batch-c-63.json"]


def test_a_batch_that_cannot_be_read_counts_as_failed(enrolled: Callable[[], State], population: Population) -> None:
    """Two devices of the second batch send bytes that no decoder reads; the third batch does not see them."""
    state, public, calls = enrolled(), _public(population), []

    def ask(questions: Sequence[Question]) -> Collected:
        calls.append([question.part for question in questions])
        found = collect(state.folder, questions, devices=40, engine="local")
        if len(calls) == 2:
            for device in (3, 17):
                found.answers[device] = {name: [b"\xff?"] for name in found.answers[device]}
        return found

    planned = InBatches().questions(public.facts, public.split, BUDGET, "c")
    questions, whole = ask_in_batches(InBatches(), public, BUDGET, planned, state.folder, ask)
    assert calls == [[0], [1], [2]] and [question.part for question in questions] == [0, 1, 2]
    assert (whole.asked, whole.reported, whole.failed) == (40, 38, 2)


def test_each_answer_is_decoded_once(
    enrolled: Callable[[], State], population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    answers = batches.answers_to

    def counted(questions: Sequence[Question], given: Any) -> Any:
        found = answers(questions, given)
        read.extend(found)
        return found

    monkeypatch.setattr(batches, "answers_to", counted)
    _ask(enrolled(), population)
    assert sorted(read) == sorted([*range(10), *range(40)])
