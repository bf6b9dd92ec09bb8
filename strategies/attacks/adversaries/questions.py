"""Other questions than the honest one: another collection, budget, size, mechanism, plan or public table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace

import numpy as np

from ldpsim.curator.attacks.examples import make
from ldpsim.curator.votes.own_model import model_for_accounts
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    Degree,
    GroupDegrees,
    Mechanism,
    NeighbourhoodVote,
    NoisyRow,
    OneBit,
    Reporting,
    every,
)
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.query import Ask, Query


def recollected(query: Query, collection: str) -> Query:
    """Return the same question under another collection id."""
    return replace(query, collection=collection)


def alone(query: Query, ask: Ask) -> Query:
    """Return a question about one attribute, in the same collection."""
    return Query(query.collection, ((ask,),))


def with_mechanisms(query: Query, change: Callable[[Mechanism], Mechanism]) -> Query:
    """Return the same question with every mechanism changed."""
    stages = (tuple(Ask(ask.attribute, tuple(map(change, ask.mechanisms))) for ask in stage) for stage in query.plan)
    return replace(query, plan=tuple(stages))


def with_sizes(query: Query, **sizes: int) -> Query:
    """Return the same question for another number of people, features or categories, where a mechanism can be so."""

    def resized(mechanism: Mechanism) -> Mechanism:
        names = {entry.name for entry in fields(mechanism)}  # type: ignore[arg-type]
        with suppress(ValueError):
            return replace(mechanism, **{k: v for k, v in sizes.items() if k in names})  # type: ignore[type-var]
        return mechanism

    return with_mechanisms(query, resized)


def rebudgeted(query: Query, factor: float, facts: PublicFacts) -> Query:
    """Return the same question at about ``factor`` times its budget; mechanisms without a budget do not change."""
    return query if factor == 1 else with_mechanisms(query, lambda mechanism: _rebudgeted(mechanism, factor, facts))


def _rebudgeted(mechanism: Mechanism, factor: float, facts: PublicFacts) -> Mechanism:
    loss = mechanism.loss()
    if isinstance(mechanism, NeighbourhoodVote):
        with suppress(ValueError):  # a budget that it cannot have
            return mechanism.with_epsilon(loss.vector * factor)
    if mechanism.in_clear or not 0 < loss.vector < math.inf:
        return mechanism
    own = {entry.name: getattr(mechanism, entry.name) for entry in fields(mechanism)}  # type: ignore[arg-type]
    if loss.delta:
        own["delta"] = loss.delta
    # Some take the loss of a bit, some that of a sampled entry or the vector: use the one that gives this mechanism.
    for epsilon in (loss.vector, loss.bit, loss.vector / own.get("m", 1)):
        same = make(type(mechanism), epsilon, facts, **own)
        if same is not None and math.isclose(same.loss().vector, loss.vector, rel_tol=1e-3):
            return make(type(mechanism), epsilon * factor, facts, **own) or mechanism
    return mechanism


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


def every_mechanism(attribute: str, facts: PublicFacts) -> Iterator[Mechanism]:
    """Yield each mechanism of an attribute, those of other packages too, at a small budget and with the right facts."""
    for kind in every().values():
        if kind.reads[0] == attribute:
            mechanism = make(kind, 0.5, facts, groups=2, seed=1, delta=1e-6)
            if mechanism is not None:
                yield mechanism
    if attribute == "adjacency":
        for model in (None, model_for_accounts(facts.d, facts.classes)):
            with suppress(ValueError):  # a population without labels
                yield NeighbourhoodVote.from_probabilities(
                    np.ones((facts.n, facts.classes)), 0.5, homophily=0.8, candidates=2, model=model
                )


def huge(query: Query, facts: PublicFacts) -> list[Query]:
    """Return questions with parameters that take all memory or time if they are used before the policy is checked."""
    questions = [with_sizes(query, n=size, d=size, categories=1 << 16) for size in (1 << 20, 1 << 62)]
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
        questions += [alone(query, ask), Query(query.collection, ((ask,),) * 8)]
    plan = query.plan * 2 if len(query.plan) < 5 else query.plan
    return [*questions, Query(query.collection, plan, 1, tuple(range(100_000)))]
