"""Reports of a collection in parts: their people are asked differently, and each person once about an attribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.reports.question import Question
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.query import Ask

Answers = Mapping[int, Mapping[str, tuple[bytes, ...]]]  # device -> attribute -> bytes of each mechanism


def joined_reports(parts: Sequence[Any]) -> Any:
    """Return the reports of all parts of a collection as one; each person is in one part for each attribute.

    The parts are :class:`ldpsim.curator.reports.reports.Reports`, which imports this module. A person answered if there
    is an answer to everything that the person was asked.

    Raises:
        ValueError: if somebody was asked twice about an attribute.
    """
    last = parts[-1]
    asks: dict[str, Ask] = {}
    asked: dict[str, BoolArray] = {}
    missed = np.zeros(last.facts.n, np.bool_)
    arrays: dict[str, Any] = {}
    for number, part in enumerate(parts):
        asks.update(part.asks)
        for attribute, who in part.asked.items():
            before = asked.get(attribute, np.zeros_like(who))
            if np.any(before & who):
                person = int(np.flatnonzero(before & who)[0])
                raise ValueError(f"part {number} asks person {person} about {attribute} again")
            asked[attribute] = before | who
            missed |= who & ~part.answered
            for mechanism in part.asks[attribute].mechanisms:
                name = mechanism.field
                new = part.others[name] if name in part.others else getattr(part, name)
                arrays[name] = _merged(arrays.get(name), new, who)
    answered = np.logical_or.reduce(list(asked.values())) & ~missed
    others = {name: arrays.pop(name) for name in [*arrays] if name in last.others or not hasattr(last, name)}
    plan = (tuple(asks[attribute] for attribute in sorted(asks)),)
    return replace(last, asks=asks, asked=asked, answered=answered, **arrays, plan=plan, grouping=None, others=others,
                   parts=tuple(parts))  # fmt: skip


def _merged(old: Any, new: Any, who: BoolArray) -> Any:
    """Return the array of earlier parts with the rows of the people of a later one."""
    if old is None:
        return new
    if isinstance(new, csr_array):
        return csr_array(old + new)  # rows of people who were not asked are empty
    return np.where(who.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def answers_to(questions: Iterable[Question], answers: Answers) -> dict[int, dict[str, tuple[bytes, ...]]]:
    """Return the answers to the questions of one part: these people, and these attributes of each."""
    found = {}
    for question in questions:
        devices = list(answers) if question.devices is None else question.devices.tolist()
        for device in devices:
            known = answers.get(device, {})
            given = {name: known[name] for name in question.query.attributes if name in known}
            if given:
                found[device] = given
    return found
