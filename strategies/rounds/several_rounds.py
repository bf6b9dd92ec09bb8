"""A collection of several rounds: the method yields questions, and is sent the decoded reports of all rounds so far.

Nobody is asked twice about an attribute, and everybody whom the method's ``questions`` name is asked
(:class:`ldpsim.curator.reports.rounds.CollectionRounds`).

An interrupted collection goes on by running it again: devices give the reports that their ledgers hold. A device
answers one question only, and other devices may be silent the second time. So the questions of a round are saved before
they are sent, and the saved ones are sent again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ldpsim.curator.methods.base import Budget, LocalMethod, Question
from ldpsim.curator.reports.question import collection_id, keys_of, number_of_recipients
from ldpsim.curator.reports.rounds import CollectionRounds, asked_people, following
from ldpsim.devices.atomic_files import made_once, private_folder
from ldpsim.devices.facts import PublicKnowledge
from ldpsim.devices.query import Query
from ldpsim.strategies.rounds.collect_once import Collected

MOST_ROUNDS = 64
_SUMS = ("rounds", "messages", "downlink_bytes", "uplink_bytes", "seconds")


def ask_rounds(
    method: LocalMethod,
    public: PublicKnowledge,
    budget: Budget,
    planned: Sequence[Question],
    folder: Path,
    ask: Callable[[Sequence[Question]], Collected],
) -> Collected:
    """Ask the questions of all rounds.

    Args:
        method: The method.
        public: Public knowledge.
        budget: The budget.
        planned: The method's ``questions``: all people who are to be asked, and the collection's id.
        folder: Folder of the saved questions.
        ask: Sends the questions of a round to the devices.

    Returns:
        The result of the collection, with the questions at their latest stage and the decoded reports. A person who is
        asked in several rounds counts once, with the last answer. Where nobody reports, nothing is decoded.

    Raises:
        ValueError: for a round that asks somebody again, or nobody, or if somebody whom the plan names is left out.
    """
    name, n, collection = method.spec.name, public.facts.n, collection_id(planned)
    # The id of a collection is a valid file name: the query checks its characters. Other options, other questions.
    options = hashlib.sha256(repr(keys_of(planned)).encode()).hexdigest()[:12]
    private_folder(folder)
    rounds = CollectionRounds(public.facts, in_batches=method.spec.in_batches)
    steps = method.rounds(public, budget, planned)
    done: list[tuple[Sequence[Question], Collected]] = []
    questions = next(steps, ())
    while questions:
        if len(done) == MOST_ROUNDS:
            raise ValueError(f"{name}: more than {MOST_ROUNDS} rounds")
        path = folder / f"round-{collection}-{options}-{len(done)}.json"
        try:
            sent = rounds.add(_from_json(made_once(path, partial(_to_json, questions))))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if not number_of_recipients(sent, n):
            break  # no device is left
        done.append((sent, ask(sent)))
        collected = done[-1][1]
        if not any(earlier.reports for _, earlier in done):
            return _joined(done, rounds.questions, n)  # the caller says why nobody answered
        collected.drop(rounds.take(sent, collected.answers))
        questions = following(steps, rounds.reports)
    for attribute, people in asked_people(n, planned).items():
        if not np.array_equal(people, asked_people(n, rounds.questions).get(attribute, ())):
            raise ValueError(f"{name}: its rounds do not ask the planned people about {attribute}")
    result = _joined(done, rounds.questions, n)
    result.decoded = rounds.reports
    return result


def _to_json(questions: Sequence[Question]) -> str:
    values = [(question.query.to_bytes().decode("ascii"), question.devices) for question in questions]
    return json.dumps(values, default=np.ndarray.tolist)


def _from_json(text: str) -> tuple[Question, ...]:
    return tuple(
        Question(Query.from_bytes(query.encode("ascii")), None if devices is None else np.array(devices, np.int64))
        for query, devices in json.loads(text)
    )


def _joined(done: Sequence[tuple[Sequence[Question], Collected]], questions: tuple[Question, ...], n: int) -> Collected:
    """Return reports and traffic of all rounds, and the counts of each person's last round."""
    result = Collected(questions=questions)
    for _, collected in done:
        for device, report in collected.reports.items():
            result.reports[device] = result.reports.get(device, b"") + report
        for name in _SUMS:
            setattr(result, name, getattr(result, name) + getattr(collected, name))
    later = np.zeros(n, np.bool_)
    for sent, collected in reversed(done):
        people = np.isin(np.arange(n), np.concatenate([question.people(n) for question in sent]))
        last = people & ~later
        later |= people
        if not last.any():
            continue
        answered = any(last[device] for device in collected.answers)  # else all of them are asked a later stage
        result.asked += collected.asked if answered else int(last.sum())
        result.reported += collected.reported * answered
        result.replayed += collected.replayed * answered
        result.refused += collected.refused
        result.silent += collected.silent
        result.failed += collected.failed
    return result
