"""Table of the adversaries: what each sends. All must come back with one release of an attribute a device at most.

Each row is a function from the devices and a number of asks to runs of rounds of messages. Attacks with processes,
malformed messages or faults of a device's state are tests: ``tests/strategies/attacks/adversaries``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ldpsim.devices.mechanisms import GRR, Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries import questions as q
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Curator, RunRounds, Runs, Shot, Target

_BATCH = 1 << 15  # largest number of messages that are sent together


@dataclass(frozen=True)
class Adversary:
    """One row.

    Args:
        name: Name on the command line.
        description: What it sends.
        runs: (target, number of asks) -> runs.
    """

    name: str
    description: str
    runs: Callable[[Target, int], Runs] = field(repr=False)

    def attack(self, target: Target, *, asks: int = 25) -> AttackResult:
        """Attack the devices, and return what was learned."""
        return Curator(target).carry_out(self.runs(target, asks))


def one_each(questions: Iterator[Query] | list[Query]) -> RunRounds:
    """Return a round for each question, to everybody."""
    return [[Shot(question)] for question in questions]


def _repeat(target: Target, asks: int) -> Runs:
    yield one_each([q.recollected(target.query, f"ask-{number}") for number in range(1, asks + 1)])


def _new_run(target: Target, asks: int) -> Runs:
    yield from ([round_] for rounds in _repeat(target, asks) for round_ in rounds)


def _at_once(target: Target, asks: int) -> Runs:
    width = max(1, _BATCH // asks)
    for first in range(0, target.devices, width):
        some = range(first, min(first + width, target.devices))
        yield [[Shot(target.query, devices=some, times=asks)]]


def _greedy_first(target: Target, asks: int) -> Runs:
    query, facts = target.query, target.facts
    greedy = [q.rebudgeted(query, factor, facts) for factor in (2.0, 100.0)]
    sharpest: dict[str, Callable[[], Mechanism]] = {  # ln(2**64 - 1) = 44.4, the largest loss of a 64-bit threshold
        "adjacency": lambda: RandomizedResponse(1, facts.n),
        "features": lambda: OneBit(1, facts.d, facts.feature_low, facts.feature_high),
        "label": lambda: GRR(1, facts.classes),
    }
    names = [ask.attribute for ask in query.asks if ask.attribute != "label" or facts.classes > 1]
    if names:
        greedy.append(Query(query.collection, (tuple(Ask(name, (sharpest[name](),)) for name in names),)))
    for wrong in (1, 2 * facts.n, 2 * facts.d, max(2, 2 * facts.classes)):
        greedy.append(q.with_sizes(query, n=wrong, d=wrong, categories=max(2, wrong)))
    yield one_each([question for question in greedy if question != query])
    yield one_each([query])


def _ghost_first(target: Target, asks: int) -> Runs:
    small = q.rebudgeted(target.query, 0.01, target.facts)
    yield [[Shot(q.recollected(question, "ghost"), signed=False)] for question in (small, target.query)]
    yield one_each([target.query])


def _one_batch(target: Target, asks: int) -> Runs:
    query = target.query
    half, quarter = (q.rebudgeted(query, factor, target.facts) for factor in (0.5, 0.25))
    kinds = (query, q.recollected(query, "another"), half, q.recollected(quarter, "another"))
    yield [[Shot(kinds[number % len(kinds)]) for number in range(asks)]]


def _growing(target: Target, asks: int) -> Runs:
    yield one_each([q.recollected(q.rebudgeted(target.query, (n + 1) / asks, target.facts), f"budget-{n}")
                    for n in range(asks)])  # fmt: skip


def _shrinking(target: Target, asks: int) -> Runs:
    yield from (rounds[::-1] for rounds in _growing(target, asks))


def _subsets(target: Target, asks: int) -> Runs:
    query, questions = target.query, []
    for number in range(max(1, asks // 8)):
        every = q.rebudgeted(query, 1.0 - (number % 4) / 8, target.facts).asks
        chosen = [part for size in range(1, len(every) + 1) for part in itertools.combinations(every, size)]
        questions += [Query(name, (part,)) for part in chosen for name in (query.collection, f"subset-{number}")]
    yield one_each(questions)


def _other_mechanisms(target: Target, asks: int) -> Runs:
    query, rounds = target.query, one_each([target.query])
    for ask in query.asks:
        for mechanism in q.every_mechanism(ask.attribute, target.facts):
            if mechanism in ask.mechanisms:
                continue
            joined = [(mechanism,)]
            if len(ask.attributes) == len(mechanism.reads) == 1:  # another answer cannot be joined to one
                joined.append((*ask.mechanisms[:3], mechanism))  # type: ignore[arg-type]
            for mechanisms in joined:
                question = q.alone(query, Ask(ask.attribute, mechanisms))
                rounds.append([Shot(question), Shot(q.recollected(question, mechanism.name))])
    yield rounds


def _changed_data(target: Target, asks: int) -> Runs:
    query = target.query
    yield one_each([query])
    for number in range(max(1, asks // 4)):
        target.change_data()
        yield one_each([query, q.recollected(query, f"later-{number}"), q.rebudgeted(query, 0.5, target.facts)])


def _sybils(target: Target, asks: int) -> Runs:
    """Yield a run for each of several curators, with questions of their own."""
    query, half = target.query, max(1, target.devices // 2)
    everybody = (range(half), range(half, target.devices), None)
    for number in range(asks):
        if number % 2 == 0 or len(query.asks) == 1:
            question = q.rebudgeted(query, (1.0, 0.5, 0.75)[number % 3], target.facts)
        else:
            question = q.alone(query, query.asks[(number // 2) % len(query.asks)])
        yield [[Shot(q.recollected(question, f"curator-{number}"), devices=everybody[number % len(everybody)])]]


# The plain ones change nothing but the collection. An app without a ledger never withstands all three.
PLAIN: Mapping[str, Adversary] = {row.name: row for row in (
    Adversary("repeat", "the same question in T rounds of one run, each under a new collection id", _repeat),
    Adversary("new-run", "the same question in T runs, each under a new collection id", _new_run),
    Adversary("at-once", "the same question in T messages that are pushed together", _at_once),
)}  # fmt: skip

ADVERSARIES: Mapping[str, Adversary] = {row.name: row for row in (
    Adversary("greedy-first",
              "one greedy first question: epsilon 40 (a threshold's limit) and 100 times the budget, wrong facts",
              _greedy_first),
    Adversary("ghost-first", "another curator asks first, at a hundredth of the budget, and takes the only report",
              _ghost_first),
    Adversary("one-batch", "sends repeats, other collections and other budgets to a device in one batch of messages",
              _one_batch),
    Adversary("growing-budgets", "asks T times, each time at a larger budget", _growing),
    Adversary("shrinking-budgets", "asks T times, each time at a smaller budget", _shrinking),
    Adversary("subsets", "asks every subset of the attributes, in every order of their sizes, in old and new "
              "collections", _subsets),
    Adversary("other-mechanisms",
              "asks an attribute through every other mechanism, in place of the honest one or joined to it",
              _other_mechanisms),
    Adversary("changed-data",
              "asks again, in old and new collections and at other budgets, after everybody's data changed",
              _changed_data),
    Adversary("sybils", "curators with their own ids, budgets, devices and attributes ask in turn and pool the answers",
              _sybils),
)}  # fmt: skip
