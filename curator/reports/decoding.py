"""Reports of one part of a collection, decoded as they come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.reports.parts import Answers
from ldpsim.curator.reports.question import Question
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.stacked_reports import ReportStack
from ldpsim.devices.query import Ask

AnswersByDevice = dict[int, dict[str, tuple[bytes, ...]]]  # device -> attribute -> bytes of each mechanism


class Decoder:
    """Answers of devices, decoded batch by batch into the arrays of :class:`ldpsim.curator.reports.reports.Reports`.

    Args:
        facts: Sizes, ranges and domains.
        questions: The questions of one part, at their latest stage.

    Raises:
        ValueError: for two different asks about one attribute, or two mechanisms that fill one field.
    """

    def __init__(self, facts: PublicFacts, questions: Sequence[Question]) -> None:
        self.facts = facts
        self.asks, self.asked = _asked(facts.n, questions)
        self.answered: BoolArray = np.zeros(facts.n, np.bool_)
        self.plan = _whole_plan(questions)
        self.grouping = _grouping(questions)
        self._wrong: ValueError | None = None
        self._stacks: dict[str, ReportStack] = {}
        for ask in self.asks.values():
            for mechanism in ask.mechanisms:
                if mechanism.field in self._stacks:
                    raise ValueError(f"two mechanisms of one collection fill the field {mechanism.field}")
                self._stacks[mechanism.field] = mechanism.stacker(facts.n)

    def add(self, answers: Answers) -> None:
        """Take answers, devices in rising order, also from call to call. :meth:`arrays` tells what is wrong."""
        if self._wrong is not None:
            return
        self.answered[list(answers)] = True
        try:
            for attribute, ask in self.asks.items():
                payloads = _payloads(attribute, ask, self.asked[attribute], answers)
                for place, mechanism in enumerate(ask.mechanisms):
                    self._stacks[mechanism.field].add({device: given[place] for device, given in payloads.items()})
        except ValueError as error:
            self._wrong = error

    def add_part(self, attribute: str, place: int, devices: Sequence[int], reports: Sequence[bytes]) -> None:
        """Take one mechanism's reports of devices that were asked about its attribute, in the order of :meth:`add`.

        Args:
            attribute: The attribute.
            place: The mechanism's place in the ask about it.
            devices: Their public numbers.
            reports: The report of each.
        """
        self.answered[devices] = True
        field = self.asks[attribute].mechanisms[place].field
        self._stacks[field].add(dict(zip(devices, reports, strict=True)))

    def arrays(self) -> tuple[dict[str, Any], dict[int, ValueError]]:
        """Return the arrays by field, and errors by device whose bytes are malformed.

        Raises:
            ValueError: for an answer of a device that was not asked.
        """
        if self._wrong is not None:
            raise self._wrong
        found = {name: stack.done() for name, stack in self._stacks.items()}
        return found, {device: error for stack in self._stacks.values() for device, error in stack.wrong.items()}


def _asked(n: int, questions: Iterable[Question]) -> tuple[dict[str, Ask], dict[str, BoolArray]]:
    asks: dict[str, Ask] = {}
    asked: dict[str, BoolArray] = {}
    for question in questions:
        so_far = question.query.plan[: question.query.stage + 1]
        for ask in {ask.attribute: ask for stage in so_far for ask in stage}.values():
            if asks.setdefault(ask.attribute, ask) != ask:
                raise ValueError(f"two questions ask differently about {ask.attribute}")
            who = asked.setdefault(ask.attribute, np.zeros(n, np.bool_))
            who[slice(None) if question.devices is None else question.devices] = True
    return asks, asked


def _whole_plan(questions: Sequence[Question]) -> tuple[tuple[Ask, ...], ...]:
    """Join the questions' plans, stage by stage."""
    stages: list[dict[str, Ask]] = [{} for _ in range(max((len(q.query.plan) for q in questions), default=0))]
    for question in questions:
        for together, stage in zip(stages, question.query.plan, strict=False):
            together.update({ask.attribute: ask for ask in stage})
    return tuple(tuple(stage[name] for name in sorted(stage)) for stage in stages)


def _grouping(questions: Iterable[Question]) -> NDArray[np.int64] | None:
    found = {question.query.grouping for question in questions} - {None}
    if len(found) > 1:
        raise ValueError("two questions group people differently")
    return np.array(found.pop(), np.int64) if found else None


def _payloads(attribute: str, ask: Ask, asked: BoolArray, answers: Answers) -> dict[int, tuple[bytes, ...]]:
    """Return the attribute's bytes by device, in rising order of devices."""
    payloads = {}
    for device in sorted(answers):
        given = answers[device].get(attribute)
        if (given is not None) != bool(asked[device]):
            if given is None:
                raise ValueError(f"device {device} was asked about {attribute} and did not report it")
            raise ValueError(f"device {device} reported {attribute} without being asked")
        if given is not None:
            if len(given) != len(ask.mechanisms):
                raise ValueError(
                    f"device {device} reported {len(given)} parts of {attribute}, not {len(ask.mechanisms)}"
                )
            payloads[device] = given
    return payloads
