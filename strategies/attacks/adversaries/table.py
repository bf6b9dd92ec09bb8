"""Table of the adversaries: what each sends. All must come back with one release of an attribute a device at most.

Each row is a function from the devices and a number of asks to runs of rounds of messages. The models of
``train-and-evaluate`` follow Zhu, Liu and Han 2019, "Deep Leakage from Gradients", https://arxiv.org/abs/1906.08935: on
a device that trains without noise a gradient reveals the data, and an evaluation the label.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MessageType, RecordDict
from numpy.typing import NDArray

from ldpsim.devices.mechanisms import GRR, Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries import questions as q
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Curator, RunRounds, Runs, Shot, Target
from ldpsim.strategies.attacks.adversaries.malformed import hostile_shot
from ldpsim.strategies.attacks.adversaries.processes import from_processes, from_supernodes

Model = tuple[NDArray[np.floating], NDArray[np.floating]]  # weights (classes, d) and bias (classes,)
_BATCH = 1 << 15  # largest number of messages that are sent together
_MOST = 40.0  # epsilon of a vote, a little below what a threshold can hold


@dataclass(frozen=True)
class Adversary:
    """One row.

    Args:
        name: Name on the command line.
        description: What it sends.
        runs: (target, number of asks) -> runs.
        carry_out: Sends them: from this process unless it is another function.
    """

    name: str
    description: str
    runs: Callable[[Target, int], Runs] = field(repr=False)
    carry_out: Callable[[Target, Runs, int], AttackResult] = field(
        default=lambda target, runs, asks: Curator(target).carry_out(runs), repr=False
    )

    def attack(self, target: Target, *, asks: int = 25) -> AttackResult:
        """Attack the devices, and return what was learned."""
        return self.carry_out(target, self.runs(target, asks), asks)


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


def crafted_models(classes: int, d: int) -> list[Model]:
    """Return a model for each class that always predicts it; its accuracy on a device shows the label."""
    return [(np.zeros((classes, d), np.float32), 30.0 * np.eye(classes, dtype=np.float32)[c]) for c in range(classes)]


def _train_and_evaluate(target: Target, asks: int) -> Runs:
    models = crafted_models(max(2, target.facts.classes), max(1, target.facts.d))
    kinds = (MessageType.TRAIN, MessageType.EVALUATE, "train.report", "evaluate.report")
    rounds = []
    for kind, model in itertools.product(kinds, models):  # in the form of Flower's own strategies
        arrays = ArrayRecord({name: Array(value) for name, value in zip(("weight", "bias"), model, strict=True)})
        config = ConfigRecord({"lr": 0.1, "local-epochs": 1})
        rounds.append([Shot(content=RecordDict({"arrays": arrays, "config": config}), kind=kind)])
    yield [*rounds, *one_each([target.query]), *rounds]


def _changed_data(target: Target, asks: int) -> Runs:
    query = target.query
    yield one_each([query])
    for number in range(max(1, asks // 4)):
        target.change_data()
        yield one_each([query, q.recollected(query, f"later-{number}"), q.rebudgeted(query, 0.5, target.facts)])


def _broken_plans(target: Target, asks: int) -> Runs:
    """Yield the rounds, for devices that are enrolled for the query of two stages; others refuse all of it."""
    n = target.facts.n
    staged = q.two_stages(target.query, n)
    groups = max([getattr(m, "groups", 2) for ask in staged.plan[-1] for m in ask.mechanisms] or [2])
    groupings = [tuple((j + shift) % groups for j in range(n)) for shift in range(max(2, asks))]
    last, swapped = len(staged.plan) - 1, replace(staged, plan=staged.plan[::-1])
    another = q.recollected(staged, "another")
    rounds = [
        *one_each([
            staged.at_stage(last, groupings[0]),  # skipped: the last stage first
            swapped.at_stage(last, groupings[0]), staged, swapped,  # another query about the same list
            another, another.at_stage(last, groupings[0]),  # continues another collection
        ]),
        [Shot(staged.at_stage(last, grouping)) for grouping in groupings[:2]],  # two groupings in one batch
        *one_each([staged.at_stage(last, grouping) for grouping in groupings]),
        *one_each([staged, replace(staged, plan=staged.plan[:1]), replace(staged, plan=staged.plan[1:])]),
    ]  # fmt: skip
    yield rounds
    yield rounds[2:]


def _both_ends(target: Target, asks: int) -> Runs:
    def whole(mechanism: Mechanism) -> Mechanism:
        return mechanism if mechanism.reporting == "both" else replace(mechanism, reporting="both")  # type: ignore[type-var]

    both = q.with_mechanisms(target.query, whole)
    yield one_each([both, target.query, *[both] * max(1, asks - 2)])


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


def _malformed(target: Target, asks: int) -> Runs:
    rng = random.Random(asks)
    before, after = ([[hostile_shot(target.query, rng)] for _ in range(asks)] for _ in range(2))
    yield [*before, *one_each([target.query]), *after]


def _huge_parameters(target: Target, asks: int) -> Runs:
    huge = q.huge(target.query, target.facts)
    yield one_each(huge)
    yield one_each([target.query, huge[0]])


def _hostile_tables(target: Target, asks: int) -> Runs:
    query, facts, questions = target.query, target.facts, []
    adjacency = [ask for ask in query.asks if ask.attribute == "adjacency"]
    if facts.classes > 1 and adjacency:
        epsilon, reporting = min(adjacency[0].loss().vector, _MOST), adjacency[0].mechanisms[0].reporting
        for number in range(asks):
            vote = q.about(number % facts.n, epsilon, facts, reporting=reporting)
            questions.append(Query(f"table-{number}", ((Ask("adjacency", (vote,)),),)))
    yield one_each([*questions, query])


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
    Adversary("ghost-first", "a stranger asks first, at a hundredth of the budget, and takes the only answer",
              _ghost_first),
    Adversary("repeats", "asks the same question T times in one run",
              lambda target, asks: iter([one_each([target.query] * asks)])),
    Adversary("new-runs", "asks the same question once in each of T runs",
              lambda target, asks: iter([one_each([target.query])] * asks)),
    Adversary("one-batch", "sends repeats, other collections and other budgets to a device in one batch of messages",
              _one_batch),
    Adversary("parallel", "asks from several processes at the same moment, each at its own budget",
              lambda target, asks: iter(()), lambda target, runs, asks: from_processes(target, asks)),
    Adversary("growing-budgets", "asks T times, each time at a larger budget", _growing),
    Adversary("shrinking-budgets", "asks T times, each time at a smaller budget", _shrinking),
    Adversary("subsets", "asks every subset of the attributes, in every order of their sizes, in old and new "
              "collections", _subsets),
    Adversary("other-mechanisms",
              "asks an attribute through every other mechanism, in place of the honest one or joined to it",
              _other_mechanisms),
    Adversary("train-and-evaluate",
              "asks reporting devices to train a model and to evaluate crafted ones, before and after the report",
              _train_and_evaluate),
    Adversary("changed-data",
              "asks again, in old and new collections and at other budgets, after everybody's data changed",
              _changed_data),
    Adversary("broken-plans", "skips, repeats and swaps the stages of a question, sends other groupings, changes the "
              "question in between", _broken_plans),
    Adversary("both-ends", "asks devices that report one end of each pair for the whole list, before and after the "
              "honest question", _both_ends),
    Adversary("sybils", "curators with their own ids, budgets, devices and attributes ask in turn and pool the answers",
              _sybils),
    Adversary("two-supernodes", "two SuperNodes on one state folder answer the same devices at the same moment",
              lambda target, asks: iter(()), lambda target, runs, asks: from_supernodes(target)),
    Adversary("malformed",
              "sends unknown or malformed fields, foreign records and unknown message types, before and after",
              _malformed),
    Adversary("huge-parameters", "asks with sizes of up to 2^62, the largest grids, groups and numbers of stages, and "
              "questions of megabytes", _huge_parameters),
    Adversary("hostile-tables",
              "asks votes over T tables, each of which knows one person alone: is that one in your list?",
              _hostile_tables),
)}  # fmt: skip
