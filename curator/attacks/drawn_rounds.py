"""Questions of a method of several rounds, as they follow from the reports that a few people's devices draw.

The loss of later questions must be within the claim whatever the earlier reports are, so an audit looks at those that
are really asked, and not at the questions for accounting alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from ldpsim.curator.attacks.examples import Example, Person, person_with, with_attribute
from ldpsim.curator.attacks.mechanism_audit import Stream
from ldpsim.curator.methods.base import Budget, LocalMethod, Question
from ldpsim.curator.reports.decoding import AnswersByDevice
from ldpsim.curator.reports.question import at_stage, stages_of
from ldpsim.curator.reports.rounds import CollectionRounds, following
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split


def every_stage(questions: Sequence[Question]) -> list[Question]:
    """Return the questions at each of their stages, without groups."""
    return [each for question in questions for stage in range(stages_of([question]))
            for each in at_stage([question], stage)]  # fmt: skip


def drawn_rounds(
    method: LocalMethod, facts: PublicFacts, split: Split, budget: Budget, planned: Sequence[Question], *,
    stream: Stream,
) -> list[Question]:  # fmt: skip
    """Return the questions of all rounds, each at the stage at which it is asked, to people whose data are drawn.

    Args:
        method: The method.
        facts: Sizes, ranges and domains.
        split: Division of the people.
        budget: The budget.
        planned: The method's ``questions``.
        stream: Makes the noise of a report from a key of 32 bytes.
    """
    rng = np.random.Generator(np.random.PCG64(0))
    labels = rng.integers(facts.classes, size=facts.n)
    features = np.where(rng.random((facts.n, facts.d)) < 0.5, facts.feature_high, facts.feature_low).astype(np.float32)
    edges = np.stack(np.triu_indices(facts.n, 1))[:, rng.random(facts.n * (facts.n - 1) // 2) < 0.5]
    people = [_person(node, labels, features, edges) for node in range(facts.n)]
    spec = method.effective_spec()
    known = np.where(np.isin(np.arange(facts.n), [] if budget.private_labels else split.labelled), labels, -1)
    public = PublicKnowledge(facts, split, known, features if budget.public_features or spec.public_features else None,
                             edges if spec.public_graph else None)  # fmt: skip
    rounds, asked = CollectionRounds(facts, in_batches=method.spec.in_batches), list[Question]()
    steps = method.rounds(public, budget, planned)
    questions = next(steps, ())
    while questions:
        sent = rounds.add(questions)
        asked += sent
        rounds.take(sent, _answers(sent, people, facts, stream))
        questions = following(steps, rounds.reports)
    return asked


def _person(node: int, labels: np.ndarray, features: np.ndarray, edges: np.ndarray) -> Person:
    neighbours = np.sort(np.concatenate([edges[1, edges[0] == node], edges[0, edges[1] == node]]))
    person = with_attribute(
        person_with("label", int(labels[node])), person_with("features", features[node]), "features"
    )
    return with_attribute(person, person_with("adjacency", neighbours), "adjacency")


def _answers(
    questions: Sequence[Question], people: Sequence[Person], facts: PublicFacts, stream: Stream
) -> AnswersByDevice:
    """Return the report parts that devices draw, by device and attribute."""
    answers: AnswersByDevice = {}
    for question in questions:
        for device in question.people(facts.n).tolist():
            for ask in question.query.asks:
                examples = [Example(each, facts, device, question.query.grouping) for each in ask.mechanisms]
                keys = (f"{question.query.stage} {device} {ask.attribute} {place}".encode()
                        for place in range(len(examples)))  # fmt: skip
                noise = [stream([hashlib.sha256(key).digest()]) for key in keys]
                parts = tuple(
                    example.respond(people[device], own)[0] for example, own in zip(examples, noise, strict=True)
                )
                answers.setdefault(device, {})[ask.attribute] = parts
    return answers
