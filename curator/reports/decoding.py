"""Reports to the questions of one part of a collection, decoded as they come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.reports.question import Question
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.stacked_reports import ReportStack, report_stack
from ldpsim.devices.query import Ask

# Device -> attribute -> the bytes of each mechanism's report.
AnswersByDevice = dict[int, dict[str, tuple[bytes, ...]]]


def answers_to(questions: Iterable[Question], answers: AnswersByDevice) -> AnswersByDevice:
    """Return the answers to the questions of one part: these people, and these attributes of each."""
    by_device = {}
    for question in questions:
        devices = list(answers) if question.devices is None else question.devices.tolist()
        for device in devices:
            payloads = answers.get(device, {})
            asked = {name: payloads[name] for name in question.query.attributes if name in payloads}
            if asked:
                by_device[device] = asked
    return by_device


class Decoder:
    """Reports of devices, decoded as they come into the arrays of :class:`ldpsim.curator.reports.reports.Reports`.

    Args:
        facts: Sizes, ranges and domains.
        questions: The questions of one part, at their latest stage.

    Raises:
        ValueError: for two different asks about one attribute, or two mechanisms that fill one field.
    """

    def __init__(self, facts: PublicFacts, questions: Sequence[Question]) -> None:
        self.facts = facts
        self.asks, self.recipients = _asks(facts.n, questions)
        self.answered: BoolArray = np.zeros(facts.n, np.bool_)
        self.plan = _whole_plan(questions)
        self.grouping = _grouping(questions)
        mechanisms = [mechanism for ask in self.asks.values() for mechanism in ask.mechanisms]
        self._stacks: dict[str, ReportStack] = {each.field: report_stack(each, facts.n) for each in mechanisms}
        if len(self._stacks) < len(mechanisms):
            raise ValueError("two mechanisms of one collection fill one field")

    def add(self, answers: AnswersByDevice) -> None:
        """Take answers, devices in rising order, also from call to call.

        Raises:
            ValueError: for an answer of a device that was not asked, or one that lacks a part.
        """
        self.answered[list(answers)] = True
        for attribute, ask in self.asks.items():
            payloads = _payloads(attribute, ask, self.recipients[attribute], answers)
            for place in range(len(ask.mechanisms)):
                self.add_part(attribute, place, list(payloads), [payload[place] for payload in payloads.values()])

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
        """Return the arrays by field, and errors by device whose bytes are malformed."""
        arrays = {name: stack.done() for name, stack in self._stacks.items()}
        return arrays, {device: error for stack in self._stacks.values() for device, error in stack.wrong.items()}


def _asks(n: int, questions: Iterable[Question]) -> tuple[dict[str, Ask], dict[str, BoolArray]]:
    asks: dict[str, Ask] = {}
    people: dict[str, BoolArray] = {}
    for question in questions:
        stages = question.query.plan[: question.query.stage + 1]
        for ask in {ask.attribute: ask for stage in stages for ask in stage}.values():
            if asks.setdefault(ask.attribute, ask) != ask:
                raise ValueError(f"two questions ask differently about {ask.attribute}")
            people.setdefault(ask.attribute, np.zeros(n, np.bool_))[question.people(n)] = True
    return asks, people


def _whole_plan(questions: Sequence[Question]) -> tuple[tuple[Ask, ...], ...]:
    """Join the questions' plans, stage by stage."""
    stages: list[dict[str, Ask]] = [{} for _ in range(max((len(q.query.plan) for q in questions), default=0))]
    for question in questions:
        for together, stage in zip(stages, question.query.plan, strict=False):
            together.update({ask.attribute: ask for ask in stage})
    return tuple(tuple(stage[name] for name in sorted(stage)) for stage in stages)


def _grouping(questions: Iterable[Question]) -> NDArray[np.int64] | None:
    groupings = {question.query.grouping for question in questions} - {None}
    if len(groupings) > 1:
        raise ValueError("two questions group people differently")
    return np.array(groupings.pop(), np.int64) if groupings else None


def _payloads(
    attribute: str, ask: Ask, recipients: BoolArray, answers: AnswersByDevice
) -> dict[int, tuple[bytes, ...]]:
    """Return the attribute's bytes by device, in rising order of devices."""
    payloads = {}
    for device in sorted(answers):
        payload = answers[device].get(attribute)
        if (payload is not None) != bool(recipients[device]):
            if payload is None:
                raise ValueError(f"device {device} was asked about {attribute} and did not report it")
            raise ValueError(f"device {device} reported {attribute} without being asked")
        if payload is not None:
            if len(payload) != len(ask.mechanisms):
                raise ValueError(
                    f"device {device} reported {len(payload)} parts of {attribute}, not {len(ask.mechanisms)}"
                )
            payloads[device] = payload
    return payloads
