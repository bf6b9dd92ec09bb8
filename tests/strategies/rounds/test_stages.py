"""Plans of two stages (LDPGen) from devices to a result, on every engine, killed and continued."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord

from ldpsim.curator.methods import LDPGen, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.facts import IntArray
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Query
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds.collect_once import Collected, CollectOnce, Stages, at_stage, run_collection, stages_of
from tests.strategies.forks import Forks

METHOD = LDPGen(groups=3)
SPEND = Budget(epsilon=4, public_features=True)
Make = Callable[..., State]


def _ask(population: Population, collection: str = "first", **given: Any) -> tuple[Question, ...]:
    return METHOD.questions(population.facts, make_split("random", population, 0), replace(SPEND, **given), collection)


@pytest.fixture
def enrolled(tmp_path: Path, population: Population) -> Make:
    """Return freshly enrolled folders; every one has the same seeded devices."""
    number = iter(range(100))

    def make(**policy: Any) -> State:
        rules = policy_for([q.query for q in _ask(population)], population.facts, **policy)
        return enrol(tmp_path / f"state-{next(number)}", population, rules, seed=5)

    return make


def _collect(state: State, population: Population, questions: Sequence[Question], **given: Any) -> Collected:
    kept = given.pop("kept", state.folder)
    method = given.pop("method", METHOD)
    stages = Stages(method, population.facts, kept)
    return collect(state.folder, questions, devices=len(population), stages=stages, **given)


@pytest.mark.usefixtures("ray_here")
def test_both_stages_are_the_same_on_local_and_ray(enrolled: Make, population: Population) -> None:
    seen = []
    for engine in ("local", "ray"):
        state = enrolled()
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


def test_a_replaying_device_replays_both_stages(enrolled: Make, population: Population) -> None:
    state = enrolled(on_requery="replay")
    first = _collect(state, population, _ask(population))
    again = _collect(state, population, _ask(population, "second"))
    assert again.reports == first.reports and again.grouping == first.grouping
    assert (again.reported, again.replayed, again.rounds) == (0, 40, 2)


class Fickle(LDPGen):
    """A curator who groups people anew each time it asks."""

    def regroup(self, reports: Reports, stage: int) -> IntArray | None:
        """Another grouping than before."""
        own = super().regroup(reports, stage=stage)
        assert own is not None
        return (own + 1) % 3


@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_a_second_grouping_is_not_answered(
    enrolled: Make, population: Population, on_requery: str, tmp_path: Path
) -> None:
    """Under another collection, and under the same id with the kept grouping thrown away."""
    state = enrolled(on_requery=on_requery)
    _collect(state, population, _ask(population))
    for number, collection in enumerate(("first", "second")):
        c = _collect(
            state, population, _ask(population, collection), method=Fickle(groups=3), kept=tmp_path / str(number)
        )
        assert not c.reported and c.replayed == 0 and c.refused == Counter(REPORT_COLLECTED=40)


def test_the_ledger_holds_the_whole_loss_from_the_first_stage_on(enrolled: Make, population: Population) -> None:
    state = enrolled()
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


def test_who_misses_the_first_stage_is_not_asked_the_second(enrolled: Make, population: Population) -> None:
    state = enrolled()
    questions = _ask(population)
    some = _collect(state, population, questions, silent=frozenset({1, 5}))
    assert (some.asked, some.reported, some.silent, some.messages) == (40, 38, 2, 40 + 38 + 38 + 38)
    reports = Reports.from_bytes(population.facts, at_stage(questions, 1, some.grouping), some.answers)
    assert np.flatnonzero(~reports.answered).tolist() == [1, 5]
    # they come later: the kept grouping is asked again, although the reports would make another one
    rest = _collect(state, population, questions)
    assert (rest.reported, rest.replayed, rest.grouping) == (2, 38, some.grouping)
    assert {i: rest.reports[i] for i in some.reports} == some.reports


def test_who_stops_between_the_stages_is_silent(
    enrolled: Make, population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = enrolled()
    (question,) = _ask(population)
    strategy = CollectOnce((question,), range(1, 41), stages=Stages(METHOD, population.facts, state.folder))
    monkeypatch.setattr(outbox, "SHARD", 10)
    grid = LocalGrid(state.folder, 40)
    first = strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid)
    strategy.aggregate_train(1, grid.send_and_receive(first))
    second = list(strategy.configure_train(2, ArrayRecord(), ConfigRecord(), grid))
    strategy.aggregate_train(2, grid.send_and_receive(second[:3]))
    c = strategy.collected
    assert (c.asked, c.reported, c.silent, len(c.reports), len(c.answers)) == (40, 30, 10, 40, 30)
    with pytest.raises(ValueError, match="needs stages= to make the questions"):
        CollectOnce((question,), range(1, 41))


def test_a_device_is_known_by_its_node_in_the_second_stage(enrolled: Make, population: Population) -> None:
    state = enrolled()
    stages = Stages(METHOD, population.facts, state.folder)
    collected = run_collection(CollectOnce(_ask(population), range(1, 41), stages=stages), LocalGrid(state.folder, 40))
    assert collected.reported == 40 and collected.rounds == 2
    other = enrolled()
    assert collected.reports_sha256 == _collect(other, population, _ask(population)).reports_sha256


def test_a_grouping_that_groups_nobody_is_refused(enrolled: Make, population: Population) -> None:
    class Half(LDPGen):
        def regroup(self, reports: Reports, stage: int) -> IntArray | None:
            return np.zeros(20, np.int64)

    with pytest.raises(ValueError, match="ldpgen: a grouping needs one group for every person"):
        _collect(enrolled(), population, _ask(population), method=Half(groups=3))


@pytest.mark.parametrize("name", ["ldpgen", "fp-ldpgen"])
def test_a_run_names_two_rounds_and_is_read_again_from_its_reports(name: str, tmp_path: Path) -> None:
    options = RunOptions(
        method=name, clients=60, settings={"epochs": "3"}, reference=False, nulls=False, out=tmp_path, dropout=0.1,
        save_reports=True, private_labels=True, eps_labels=2.0,
    )  # fmt: skip
    result = simulate(options)
    record = result.record
    assert record["communication"]["rounds"] == 2
    assert (record["devices"]["reported"], record["devices"]["silent"]) == (54, 6)
    life = record["privacy"]["lifetime_per_device"]
    assert life["bit_adjacency"]["max"] == pytest.approx(record["privacy"]["holds"]["bit_adjacency"]["value"])
    assert result.folder is not None
    kept = replace(options, from_reports=result.folder / "reports", save_reports=False, dropout=0.0)
    again = simulate(kept).record
    assert again["accuracy"] == record["accuracy"]
    for level in ("bit_adjacency", "relationship", "label"):
        assert again["privacy"]["holds"][level]["value"] == record["privacy"]["holds"][level]["value"]


KILLED = """
import os, signal, sys
from pathlib import Path
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.rounds.collect_once import Stages
import ldpsim.strategies.rounds.collect_once as module

where, out = sys.argv[1], Path(sys.argv[2])
advance, keep = Stages.advance, module.CollectOnce._keep
left = [70]  # of the 40 + 40 answers

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def advancing(self, *arguments):
    if where == "before the grouping":
        die()
    asked = advance(self, *arguments)
    if where == "after the grouping":
        die()
    return asked

def keeping(self, *arguments, **named):
    left[0] -= 1
    if where == "in the second stage" and left[0] == 0:
        die()
    return keep(self, *arguments, **named)

Stages.advance, module.CollectOnce._keep = advancing, keeping
simulate(RunOptions(method="ldpgen", clients=40, settings={"epochs": "3", "groups": "3"}, reference=False, nulls=False,
                    out=out))
"""


@pytest.mark.parametrize("where", ["before the grouping", "after the grouping", "in the second stage"])
def test_a_run_that_is_killed_between_the_stages_goes_on(where: str, tmp_path: Path, forked: Forks) -> None:
    options = RunOptions(
        method="ldpgen",
        clients=40,
        settings={"epochs": "3", "groups": "3"},
        reference=False,
        nulls=False,
        out=tmp_path / "whole",
    )
    whole = simulate(options).record
    assert forked.run(KILLED, where, tmp_path / "killed") == -signal.SIGKILL
    again = simulate(replace(options, out=tmp_path / "killed")).record
    assert again["devices"]["reports_sha256"] == whole["devices"]["reports_sha256"]
    assert again["accuracy"] == whole["accuracy"]
    devices = again["devices"]
    # a device that had answered the last stage gives the stored bytes; nobody refuses
    assert devices["replayed"] == (40 if where == "in the second stage" else 0)
    assert devices["reported"] + devices["replayed"] == 40


def test_a_plan_is_one_question_for_the_ledger(population: Population) -> None:
    (question,) = _ask(population)
    later = question.query.at_stage(1, tuple([0, 1] * 20))
    assert isinstance(later, Query) and later.fingerprint("adjacency") == question.query.fingerprint("adjacency")
    assert later.question("adjacency") != question.query.question("adjacency")


class Regroups(LDPGen):
    """Groups people by what is given."""

    made: Any = None
    calls = 0

    def regroup(self, reports: Reports, stage: int) -> Any:
        type(self).calls += 1
        assert stage == 1
        return type(self).made


@pytest.mark.parametrize(("made", "fine"), [
    (np.zeros(40, np.int64), True), (np.arange(40, dtype=np.int32) % 3, True), (None, False),
    (np.zeros(39, np.int64), False),
    (np.zeros((40, 1), np.int64), False), (np.append(np.zeros(39, np.int64), -1), False),
])  # fmt: skip
def test_a_grouping_has_a_group_for_every_person_and_is_made_once(
    population: Population, tmp_path: Path, made: Any, fine: bool
) -> None:
    method = Regroups(groups=3)
    split = make_split("random", population, 0)
    questions = method.questions(population.facts, split, Budget(epsilon=4, public_features=True), "first")
    Regroups.made, Regroups.calls = made, 0
    stages = Stages(method, population.facts, tmp_path / "kept")
    path = tmp_path / "kept" / "grouping-first-1.json"
    if not fine and made is not None:
        with pytest.raises(ValueError, match="a grouping needs one group for every person"):
            stages.advance(questions, {}, 1)
        assert not path.exists()
        return
    wanted = None if made is None else tuple(made.tolist())
    for _ in range(2):
        later = stages.advance(questions, {}, 1)
        assert [question.query.stage for question in later] == [1] * len(questions)
        assert [question.query.grouping for question in later] == [wanted] * len(questions)
        assert [question.devices for question in later] == [question.devices for question in questions]
    assert Regroups.calls == 1 and json.loads(path.read_text()) == (None if made is None else made.tolist())
    assert stages_of(questions) == stages_of(later) == 2
    assert [question.query.to_bytes() for question in at_stage(later, 0, None)] == [
        question.query.to_bytes() for question in questions
    ]
