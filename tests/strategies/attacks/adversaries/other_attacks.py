"""Attacks that ``ldpsim stress`` does not have: with processes, malformed messages, or devices of another question.

The models of ``train-and-evaluate`` follow Zhu, Liu and Han 2019, "Deep Leakage from Gradients",
https://arxiv.org/abs/1906.08935: on a device that trains without noise a gradient reveals the data, and an evaluation
the label.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MessageType, RecordDict
from numpy.typing import NDArray

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Degree, GroupDegrees, Mechanism, NeighbourhoodVote, NoisyRow, OneBit, Reporting
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries import questions as q
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Runs, Shot, Target
from ldpsim.strategies.attacks.adversaries.table import ADVERSARIES, Adversary, one_each
from tests.strategies.attacks.adversaries.malformed import hostile_shot
from tests.strategies.attacks.adversaries.processes import from_processes, from_supernodes

Model = tuple[NDArray[np.floating], NDArray[np.floating]]  # weights (classes, d) and bias (classes,)
_MOST = 40.0  # epsilon of a vote, a little below what a threshold can hold


@dataclass(frozen=True)
class ProcessAttack(Adversary):
    """Attack from processes that start together: ``carry_out`` is (target, number of asks) -> result."""

    carry_out: Callable[[Target, int], AttackResult] = field(repr=False, kw_only=True)

    def attack(self, target: Target, *, asks: int = 25) -> AttackResult:
        """Attack the devices, and return what was learned."""
        return self.carry_out(target, asks)


def no_runs(target: Target, asks: int) -> Runs:
    """Return no run: the processes of an attack make their own."""
    return iter(())


def two_stages(query: Query, n: int, *, groups: tuple[int, int] = (2, 3)) -> Query:
    """Return a query of two stages about the neighbour list: the given one if it has two, else LDPGen's.

    LDPGen (Qin et al. 2017, https://doi.org/10.1145/3133956.3134086) asks for counts in a random
    grouping first, then in one that the curator names.
    """
    if len(query.plan) > 1:
        return query.at_stage(0)
    first = GroupDegrees.from_epsilon(0.5, n=n, groups=groups[0], seed=4)
    second = GroupDegrees.from_epsilon(0.5, n=n, groups=groups[1])
    return Query(query.collection, ((Ask("adjacency", (first,)),), (Ask("adjacency", (second,)),)))


def about(person: int, epsilon: float, facts: PublicFacts, *, reporting: Reporting = "both") -> NeighbourhoodVote:
    """Return the vote that asks whether one person is in the list: its table knows that person alone.

    The answer is right with probability e^eps / (1 + e^eps), 98 % at epsilon 4. This is what epsilon means, and no
    table can do better. n such questions would give the whole list, so a device answers one, whatever the table.

    Raises:
        ValueError: for a population with fewer than two classes.
    """
    table = np.zeros((facts.n, facts.classes))
    if facts.classes > 1:
        table[person, 1] = 1.0
    return NeighbourhoodVote.from_probabilities(table, epsilon, homophily=0.9, candidates=2, reporting=reporting)


def huge(query: Query, facts: PublicFacts) -> list[Query]:
    """Return questions with parameters that take all memory or time if they are used before the policy is checked."""
    questions = [q.with_sizes(query, n=size, d=size, categories=1 << 16) for size in (1 << 20, 1 << 62)]
    most = (1 << 32) - 1
    for mechanism in (
        GroupDegrees(most, 1, 1 << 62, 1 << 16, 0),
        GroupDegrees(1, most, facts.n, 1 << 16, 0),
        Degree(most, most - 1, 1 << 62),
        NoisyRow(most, 1, 1 << 62),
        NeighbourhoodVote.from_probabilities(np.ones((1 << 16, 2)), 1e-6, homophily=0.0, candidates=2),
        OneBit(ONE // 2 - 1, 1 << 62, grid=1 << 20),
    ):
        ask = Ask(mechanism.reads[0], (mechanism,) * 4)
        questions += [q.alone(query, ask), Query(query.collection, ((ask,),) * 8)]
    plan = query.plan * 2 if len(query.plan) < 5 else query.plan
    return [*questions, Query(query.collection, plan, 1, tuple(range(100_000)))]


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


def _broken_plans(target: Target, asks: int) -> Runs:
    """Yield the rounds, for devices that are enrolled for the query of two stages; others refuse all of it."""
    n = target.facts.n
    staged = two_stages(target.query, n)
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


def _malformed(target: Target, asks: int) -> Runs:
    rng = random.Random(asks)
    before, after = ([[hostile_shot(target.query, rng)] for _ in range(asks)] for _ in range(2))
    yield [*before, *one_each([target.query]), *after]


def _huge_parameters(target: Target, asks: int) -> Runs:
    questions = huge(target.query, target.facts)
    yield one_each(questions)
    yield one_each([target.query, questions[0]])


def _hostile_tables(target: Target, asks: int) -> Runs:
    query, facts, questions = target.query, target.facts, []
    adjacency = [ask for ask in query.asks if ask.attribute == "adjacency"]
    if facts.classes > 1 and adjacency:
        epsilon, reporting = min(adjacency[0].loss().vector, _MOST), adjacency[0].mechanisms[0].reporting
        for number in range(asks):
            vote = about(number % facts.n, epsilon, facts, reporting=reporting)
            questions.append(Query(f"table-{number}", ((Ask("adjacency", (vote,)),),)))
    yield one_each([*questions, query])


# Of curators who send well-formed messages, and of all others: each must get one release at most.
ATTACKS: Mapping[str, Adversary] = {**ADVERSARIES, **{row.name: row for row in (
    Adversary("repeats", "asks the same question T times in one run",
              lambda target, asks: iter([one_each([target.query] * asks)])),
    Adversary("new-runs", "asks the same question once in each of T runs",
              lambda target, asks: iter([one_each([target.query])] * asks)),
    ProcessAttack("parallel", "asks from several processes at the same moment, each at its own budget",
                  runs=no_runs, carry_out=from_processes),
    Adversary("train-and-evaluate",
              "asks reporting devices to train a model and to evaluate crafted ones, before and after the report",
              _train_and_evaluate),
    Adversary("broken-plans", "skips, repeats and swaps the stages of a question, sends other groupings, changes the "
              "question in between", _broken_plans),
    Adversary("both-ends", "asks devices that report one end of each pair for the whole list, before and after the "
              "honest question", _both_ends),
    ProcessAttack("two-supernodes", "two SuperNodes on one state folder answer the same devices at the same moment",
                  runs=no_runs, carry_out=lambda target, asks: from_supernodes(target)),
    Adversary("malformed",
              "sends unknown or malformed fields, foreign records and unknown message types, before and after",
              _malformed),
    Adversary("huge-parameters", "asks with sizes of up to 2^62, the largest grids, groups and numbers of stages, and "
              "questions of megabytes", _huge_parameters),
    Adversary("hostile-tables",
              "asks votes over T tables, each of which knows one person alone: is that one in your list?",
              _hostile_tables),
)}}  # fmt: skip
