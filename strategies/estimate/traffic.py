"""Expected bytes of a collection, a device and in all, before anybody is asked.

The size of a row of randomised response follows from the distribution of its ones
(:mod:`ldpsim.strategies.estimate.row_sizes`). Other reports are encoded for a few made-up people and averaged. What
Flower's records add is computed by the code that sends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ldpsim.curator.methods.federated.federated import Federated
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import generated
from ldpsim.devices.mechanisms import GroupDegrees, Mechanism
from ldpsim.devices.network import Shape
from ldpsim.devices.noise import Noise
from ldpsim.devices.report import Report, pack_parts, pack_report
from ldpsim.devices.wire import payload_bytes, query_content, report_content
from ldpsim.strategies.estimate.asked import PaperQuestion, grouping_bytes, with_people
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.row_sizes import expected_bytes

_SAMPLED = 48  # people whose reports are encoded
_LEAST = 60  # people of the made-up graph, where there are as many


@dataclass(frozen=True)
class Traffic:
    """Payload bytes, as ``communication`` of a result counts them.

    Args:
        down, up: A device, on average.
        rounds: Number of rounds.
        share: Share of the people who are asked.
    """

    down: float
    up: float
    rounds: int
    share: float

    @property
    def each(self) -> float:
        """Bytes a device that is asked, both ways."""
        return self.down + self.up


def expected_traffic(questions: Sequence[PaperQuestion], facts: GraphFacts) -> Traffic:
    """Return the expected traffic of one collection of reports."""
    if not questions:
        return Traffic(0.0, 0.0, 0, 0.0)
    people = _people(facts)
    down = up = 0.0
    for question in questions:
        stages = range(len(question.query.plan))
        down += question.share * sum(_query_bytes(question, stage, facts.n) for stage in stages)
        up += question.share * sum(_report_bytes(question, stage, people, facts) for stage in stages)
    asked_of = min(1.0, sum(question.share for question in questions))  # batches have people of their own
    return Traffic(down / asked_of, up / asked_of, max(len(question.query.plan) for question in questions), asked_of)


def training_traffic(method: Federated, facts: GraphFacts, hidden: int) -> Traffic:
    """Return the traffic of a training in rounds whose devices get the weights and send an update of their size."""
    size = 4.0 * Shape(facts.features, hidden, facts.classes).size
    answers = method.answers if method.takes_turns else method.rounds * method.fraction
    return Traffic(method.vectors_down * answers * size, answers * size, method.rounds, 0.5)


def _query_bytes(question: PaperQuestion, stage: int, n: int) -> float:
    query = question.query.at_stage(stage)
    return payload_bytes(query_content(query)) + question.rows * (n - question.few) + grouping_bytes(query, n)


def _report_bytes(question: PaperQuestion, stage: int, people: Population, facts: GraphFacts) -> float:
    empty = payload_bytes(report_content(Report(b"0", replayed=False), device=0)) - 1
    asks = question.query.plan[stage]
    frame = len(pack_report(tuple(pack_parts(b"" for _ in ask.mechanisms) for ask in asks)))
    sizes = (_size(mechanism, people, facts) for ask in asks for mechanism in ask.mechanisms)
    return empty + frame + sum(sizes)


def _size(mechanism: Mechanism, people: Population, facts: GraphFacts) -> float:
    size = expected_bytes(mechanism, facts.mean_degree)
    if size is not None:
        return size
    few = len(people)
    groups = mechanism.groups if isinstance(mechanism, GroupDegrees) else 1
    small = with_people(mechanism, few)
    noise, grouping = Noise([bytes(32)]), tuple((np.arange(few) % groups).tolist())
    sampled = range(max(0, few - _SAMPLED), few)
    reports = (small.respond([people.record(one)], noise, devices=[one], grouping=grouping)[0] for one in sampled)
    return sum(map(len, reports)) / len(sampled)


@lru_cache(maxsize=4)
def _people(facts: GraphFacts) -> Population:
    """Return a small made-up graph of these facts: its records are as long as theirs."""
    return miniature(facts, min(facts.n, max(_LEAST, 2 * facts.classes)), seed=0)


def miniature(facts: GraphFacts, n: int, *, seed: int) -> Population:
    """Make a generated graph of ``n`` people with the degree, homophily, classes and feature rate of the facts."""
    return generated.with_facts(n, facts.features, facts.classes, facts.mean_degree, facts.homophily, facts.words,
                                seed=seed)  # fmt: skip
