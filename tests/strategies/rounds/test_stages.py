"""Plans of two stages (LDPGen) from devices to a result, on every engine, killed and continued."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import LDPGen, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import IntArray
from ldpsim.strategies.engines.collect import collect
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
