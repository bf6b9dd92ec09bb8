"""Questions of a method on paper: from sizes alone, with mechanisms of the full number of people.

A method makes its questions for a few hundred people. Mechanisms that hold the number of people then get the full
one. Nothing with an entry a person is made, so a plan for 100 million people takes as long as one for 1,000.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget, Method, questions_asked
from ldpsim.curator.methods.owner.owner import OwnerMethod
from ldpsim.devices.data.splits import LEAST_VOLUNTEERS
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.devices.mechanisms import Mechanism
from ldpsim.devices.query import Query
from ldpsim.devices.raw_record import hand_over
from ldpsim.strategies.estimate.row_sizes import expected_ones
from ldpsim.strategies.people.division import PRIVATE
from ldpsim.strategies.setup.options import RunOptions

FEW = 600  # people for whom questions are made
FEW_A_CLASS = 60  # and at least so many a class: the vote's first batch depends on it
COLLECTION = "0" * 32  # an id as long as that of a run
_USUAL = RunOptions()


@dataclass(frozen=True, eq=False)
class PaperQuestion:
    """A query at the full size, and who is asked.

    Args:
        query: The query; its mechanisms hold the full number of people.
        share: Share of the people who are asked.
        rows: Bytes of the query that each further person adds: of a public table with a row a person.
        few: Number of people for whom the query was made; ``rows`` counts from them.
    """

    query: Query
    share: float
    rows: float = 0.0
    few: int = 0


def few_people(facts: PublicFacts) -> int:
    """Return the number of people for whom questions are made."""
    return min(facts.n, max(FEW, FEW_A_CLASS * max(facts.classes, 1)))


def split_sizes(n: int, label_rate: float | None = None, volunteers: float | None = None) -> tuple[int, int, int, int]:
    """Return how many of n people are in each part of a split ``random``: train, val, test and ordinary.

    Args:
        n: Number of people.
        label_rate, volunteers: As in :func:`ldpsim.devices.data.splits.make_split`; rounded to a possible number.
    """
    half, quarter = n // 2, (n - n // 2) // 2
    if volunteers is not None:
        givers = min(half + quarter, max(LEAST_VOLUNTEERS, round(volunteers * n)))
        return givers - givers // 3, givers // 3, n - half - quarter, half + quarter - givers
    labels = half if label_rate is None else min(half, max(1, round(label_rate * n)))
    return labels, quarter, n - half - quarter, 0


def random_split(n: int, label_rate: float | None = None, volunteers: float | None = None) -> Split:
    """Divide n people as ``--split random`` does, in order; as :func:`split_sizes`."""
    train, val, _, ordinary = split_sizes(n, label_rate, volunteers)
    first = n // 2 if volunteers is None else train  # training people without a label are in no part
    parts = np.split(np.arange(n), np.cumsum([first, val, ordinary]))
    return Split(parts[0][:train], parts[1], parts[3], ordinary=parts[2])


def questions_on_paper(
    method: Method,
    facts: PublicFacts,
    budget: Budget,
    options: RunOptions = _USUAL,
) -> tuple[PaperQuestion, ...]:
    """Return the questions that a method asks of ``facts.n`` people; empty if it asks for no report.

    Args:
        method: The method.
        facts: Sizes of the whole population.
        budget: Its budget.
        options: Options of the run, whose ``label_rate`` and ``volunteers`` are read.

    Raises:
        ValueError: one line, for a budget or a parameter that does not fit.
    """
    if method.spec.trained_by == "owner":
        handed = cast(OwnerMethod, method).hands_over
        return (PaperQuestion(hand_over(COLLECTION), PRIVATE),) if handed else ()
    if method.spec.trained_by == "graph owner":
        return (PaperQuestion(hand_over(COLLECTION), 1.0),)
    if method.spec.in_rounds:
        return ()
    few = few_people(facts)
    double = min(2 * few, facts.n)

    def made(n: int) -> list[tuple[Query, float]]:
        return _made(method, facts, n, budget, random_split(n, options.label_rate, options.volunteers))

    pairs = made(few)
    if few == facts.n:
        return tuple(PaperQuestion(query, share) for query, share in pairs)
    more = made(double)
    grown = [0.0] * len(pairs)
    if len(more) == len(pairs):
        added = (
            len(large.to_bytes()) - len(small.to_bytes()) for (small, _), (large, _) in zip(pairs, more, strict=True)
        )
        grown = [each / (double - few) for each in added]
    return tuple(
        PaperQuestion(query, share, rows, few) for (query, share), rows in zip(pairs, grown, strict=True)
    )  # fmt: skip


def _made(method: Method, facts: PublicFacts, few: int, budget: Budget, split: Split) -> list[tuple[Query, float]]:
    questions = questions_asked(method, replace(facts, n=few), split, budget, COLLECTION)
    at_size = (q.with_mechanisms(lambda m: with_people(m, facts.n)) for q in questions)
    return [(q.query, 1.0 if q.devices is None else len(q.devices) / few) for q in at_size]


def with_people(mechanism: Mechanism, n: int) -> Mechanism:
    """Return the mechanism with this number of people, where it holds one."""
    has_n = any(field.name == "n" for field in fields(mechanism))  # type: ignore[arg-type]
    return replace(mechanism, n=n) if has_n else mechanism  # type: ignore[type-var]


def asks_features(questions: Sequence[PaperQuestion]) -> bool:
    """Return whether any question is about features."""
    return any("features" in ask.attributes for question in questions for stage in question.query.plan for ask in stage)


def mechanisms_asked(method: Method, questions: Sequence[PaperQuestion]) -> tuple[str, ...]:
    """Return the mechanisms of a method's questions, each with the attributes that it is about, each once.

    An owner and a training in rounds ask for no noisy report: they have the mechanisms of their class.
    """
    if method.spec.trained_by != "curator":
        return method.spec.mechanisms
    names = (
        f"{mechanism.name} on {' and '.join(ask.attributes)}"
        for question in questions for stage in question.query.plan for ask in stage for mechanism in ask.mechanisms
        if not mechanism.in_clear
    )  # fmt: skip
    return tuple(dict.fromkeys(names))


def mechanisms_of_run(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the mechanisms of a finished run: its questions are made again on paper.

    Args:
        record: Content of its result.json, which may be somebody else's: a part that is not there is a KeyError or
            another error of access.
    """
    kind, config, data = find(record["method"]), record["config"], record["dataset"]
    names = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    method = kind.from_settings({key: value for key, value in config["parameters"].items() if key in names})
    budget: dict[str, Any] = {name: math.inf if value == "inf" else value for name, value in config["budget"].items()}
    facts = PublicFacts(n=data["nodes"], d=data["features"], classes=data["classes"])
    people = RunOptions(label_rate=config.get("label_rate"), volunteers=config.get("volunteers"),
                        private_labels=bool(budget.get("private_labels")))  # fmt: skip
    return mechanisms_asked(method, questions_on_paper(method, facts, Budget(**budget), people))


def ones_reported(questions: Sequence[PaperQuestion], n: int, degree: float) -> float:
    """Return the expected number of neighbours that all reports name together, false ones included."""
    return n * sum(
        question.share * expected_ones(mechanism, degree)
        for question in questions for stage in question.query.plan for ask in stage for mechanism in ask.mechanisms
    )  # fmt: skip


def largest_question(questions: Sequence[PaperQuestion], n: int) -> float:
    """Return the bytes of the largest question of any stage; 0 if nobody is asked."""
    return max(
        (
            len(query.to_bytes()) + q.rows * (n - q.few) + grouping_bytes(query, n)
            for q in questions for query in map(q.query.at_stage, range(len(q.query.plan)))
        ),
        default=0.0,
    )  # fmt: skip


def grouping_bytes(query: Query, n: int) -> float:
    """Return the bytes of a public group for each person, in place of the word null; 0 for a stage without groups."""
    if query.answerable:
        return 0.0
    groups = np.arange(getattr(query.asks[0].mechanisms[0], "groups", 1))
    return n * (1 + float(np.mean(np.char.str_len(groups.astype(str))))) + 1 - len("null")
