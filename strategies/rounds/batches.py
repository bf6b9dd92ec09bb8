"""Batches of one collection: each is one or several questions of one stage, to people of their own.

The method makes the questions of a batch from public knowledge and the reports of the earlier
batches (:meth:`ldpsim.curator.methods.base.LocalMethod.questions`). Nobody is asked twice about an
attribute, and everybody whom the plan names is asked. The questions of a batch are saved before
they are sent: a device answers once, so an interrupted collection must ask the same again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from ldpsim.curator.methods.base import Budget, Method, Question
from ldpsim.curator.reports.decoding import answers_to, joined_reports
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts, PublicKnowledge
from ldpsim.devices.raw_record import read_question, read_record
from ldpsim.strategies.rounds.collect_once import Collected, stages_of


def read_reports(facts: PublicFacts, questions: Sequence[Question], collected: Collected) -> Reports:
    """Return the decoded reports; devices whose bytes are malformed are counted as failed and dropped.

    Raises:
        ValueError: for answers that are wrong in another way.
    """
    reports, wrong = Reports.readable(facts, questions, collected.answers)
    if not wrong:
        return reports
    collected.drop(sorted(wrong))
    return Reports.from_bytes(facts, questions, collected.answers)


def read_records(facts: PublicFacts, collected: Collected) -> dict[int, Record]:
    """Return the raw records that were handed over; devices whose record is malformed are counted as failed."""
    records: dict[int, Record] = {}
    for device, parts in sorted(collected.answers.items()):
        with suppress(ValueError):
            records[device] = read_record(parts, facts)
    collected.drop(sorted(collected.answers.keys() - records.keys()))
    collected.answers.clear()
    return records


MOST_BATCHES = 64
_SUMS = ("rounds", "messages", "downlink_bytes", "uplink_bytes", "seconds")
_COUNTS = ("asked", "reported", "replayed", "refused", "silent", "failed")


def ask_in_batches(
    method: Method,
    public: PublicKnowledge,
    budget: Budget,
    planned: Sequence[Question],
    folder: Path,
    ask: Callable[[Sequence[Question]], Collected],
) -> tuple[tuple[Question, ...], Collected]:
    """Ask all batches, one after the other.

    Args:
        method: A method with ``in_batches``.
        public: Public knowledge.
        budget: The budget.
        planned: The method's :meth:`questions`: all people who are to be asked, and the collection's id.
        folder: Folder of the saved questions.
        ask: Sends the questions of a batch to the devices.

    Returns:
        The questions of all batches, and the result of the collection. A person who is asked about one attribute
        after another counts once, with the last answer.

    Raises:
        ValueError: if a batch asks somebody again, or nobody, has several stages, or if somebody is left out.
    """
    collection = planned[0].query.collection
    people, seen = asked_people(public.facts.n, planned), asked_people(public.facts.n, ())
    questions: list[Question] = []
    batches: list[tuple[Sequence[Question], Collected]] = []
    parts: list[Reports] = []
    earlier: Reports | None = None
    while made := _kept_questions(method, public, budget, collection, folder, earlier, number=len(batches)):
        batch = [replace(question, part=len(questions) + place) for place, question in enumerate(made)]
        _check(method.spec.name, batch, seen, public.facts.n)
        batches.append((batch, ask(batch)))
        questions += batch
        if not any(collected.reports for _, collected in batches):
            return tuple(questions), batches[-1][1]  # nobody answered: the caller says why
        parts += _read(public.facts, batch, batches[-1][1])
        earlier = joined_reports(parts) if len(parts) > 1 else parts[0]
    for attribute, wanted in people.items():
        if np.any(wanted != seen.get(attribute, ~wanted)):
            raise ValueError(f"{method.spec.name}: its batches do not ask the planned people about {attribute}")
    return tuple(questions), _counted(batches, public.facts.n)


def asked_people(n: int, questions: Sequence[Question]) -> dict[str, BoolArray]:
    """Return bool (n,) for each attribute: the people who are asked about it."""
    people: dict[str, BoolArray] = {}
    for question in questions:
        for attribute in question.query.attributes:
            who = people.setdefault(attribute, np.zeros(n, np.bool_))
            who[slice(None) if question.devices is None else question.devices] = True
    return people


def questions_to_json(questions: Sequence[Question]) -> list[Any]:
    """Return JSON values of questions; numpy arrays of devices are left as they are."""
    return [(question.query.to_bytes().decode("ascii"), question.devices) for question in questions]


def questions_from_json(values: Sequence[Any]) -> tuple[Question, ...]:
    """Read :func:`questions_to_json` back, after a passage through JSON."""
    return tuple(
        Question(read_question(text.encode("ascii")), None if devices is None else np.array(devices, np.int64))
        for text, devices in values
    )


def _kept_questions(
    method: Method, public: PublicKnowledge, budget: Budget, collection: str, folder: Path, earlier: Reports | None,
    *, number: int,
) -> tuple[Question, ...]:  # fmt: skip
    """Return the saved questions of a batch; make and save them if there are none."""
    if number >= MOST_BATCHES:
        raise ValueError(f"{method.spec.name}: more than {MOST_BATCHES} batches")
    # The id of a collection is a valid file name: the query checks its characters.
    path = folder / f"batch-{collection}-{number}.json"
    if not path.is_file():
        made = cast(Any, method).questions(public.facts, public.split, budget, collection, (public, earlier))
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(questions_to_json(made), default=np.ndarray.tolist))
    return questions_from_json(json.loads(path.read_text()))


def _check(method: str, batch: Sequence[Question], seen: dict[str, BoolArray], n: int) -> None:
    """Refuse a batch that asks somebody again (ValueError); enter its people in ``seen``."""
    if stages_of(batch) > 1:
        raise ValueError(f"{method}: a batch has one stage")
    if len({question.query.collection for question in batch}) > 1:
        raise ValueError(f"{method}: all batches belong to one collection")
    for question in batch:
        for attribute, who in asked_people(n, [question]).items():
            before = seen.setdefault(attribute, np.zeros(n, np.bool_))
            if not who.any() or np.any(before & who):
                problem = "somebody again" if who.any() else "nobody"
                raise ValueError(f"{method}: a batch asks {problem} about {attribute}")
            before |= who


def _read(facts: PublicFacts, batch: Sequence[Question], collected: Collected) -> Sequence[Reports]:
    """Return the reports of each part of a batch; the batch loses the devices whose bytes cannot be read."""
    reports, wrong = Reports.readable(facts, batch, answers_to(batch, collected.answers))
    if wrong:
        collected.drop(sorted(wrong))
        reports = Reports.from_bytes(facts, batch, answers_to(batch, collected.answers))
    return reports.parts or (reports,)


def _joined(batches: Sequence[tuple[Sequence[Question], Collected]]) -> Collected:
    """Return reports, answers and traffic of all batches; the counts of devices are left at 0."""
    result = Collected()
    for _, collected in batches:
        for device, report in collected.reports.items():
            result.reports[device] = result.reports.get(device, b"") + report
        for device, parts in collected.answers.items():
            result.answers.setdefault(device, {}).update(parts)
        for name in _SUMS:
            setattr(result, name, getattr(result, name) + getattr(collected, name))
    return result


def _counted(batches: Sequence[tuple[Sequence[Question], Collected]], n: int) -> Collected:
    """Return the joined batches with the counts of those whose people no later batch asks again."""
    result = _joined(batches)
    later = np.zeros(n, np.bool_)
    for questions, collected in reversed(batches):
        own = np.logical_or.reduce(list(asked_people(n, questions).values()))
        if np.any(own & ~later):
            for name in _COUNTS:
                setattr(result, name, getattr(result, name) + getattr(collected, name))
        later |= own
    return result
