"""Other questions than the honest one: another collection, budget, size, mechanism, plan or public table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from inspect import signature
from typing import Any, cast

import numpy as np

from ldpsim.curator.votes.own_model import model_for_accounts
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRRFS,
    AnalyticGaussian,
    ClearAdjacency,
    ClearFeatures,
    ClearLabel,
    Degree,
    GroupDegrees,
    Laplace,
    Mechanism,
    MultiBit,
    NeighbourhoodVote,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    Reporting,
    Window,
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
    make = getattr(type(mechanism), "from_epsilon", None)
    loss = mechanism.loss()
    with suppress(ValueError):  # a budget that it cannot have
        if isinstance(mechanism, NeighbourhoodVote):
            return mechanism.with_epsilon(loss.vector * factor)
    if make is None or not 0 < loss.vector < math.inf:
        return mechanism
    values = {key: getattr(mechanism, key) for key in signature(make).parameters if hasattr(mechanism, key)}
    if "facts" in signature(make).parameters:
        values["facts"] = facts
    if loss.delta:
        values["delta"] = loss.delta
    # Some take the loss of a bit, some that of the vector: use the one that gives this mechanism again.
    for epsilon in (loss.vector, loss.bit):
        with suppress(TypeError, ValueError):  # an installed mechanism with other arguments, a budget it cannot have
            if math.isclose(make(epsilon, **values).loss().vector, loss.vector, rel_tol=1e-3):
                made = make(epsilon * factor, **values)
                return made if isinstance(made, Mechanism) else mechanism
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
    """Yield each built-in mechanism of an attribute, at a small budget and with the right facts.

    Mechanisms about labels of other packages are among them.
    """
    n, d, classes, epsilon = facts.n, facts.d, facts.classes, 0.5
    numbers = {"d": d, "low": facts.feature_low, "high": facts.feature_high}
    makers: dict[str, tuple[Callable[[], Mechanism], ...]] = {
        "adjacency": (
            partial(RandomizedResponse.from_epsilon, epsilon, n=n),
            partial(Degree.from_epsilon, epsilon, n=n),
            partial(GroupDegrees.from_epsilon, epsilon, n=n, groups=2, seed=1),
            partial(NoisyRow.from_epsilon, epsilon, n=n),
            lambda: NeighbourhoodVote.from_probabilities(np.ones((n, classes)), epsilon, homophily=0.8, candidates=2),
            lambda: NeighbourhoodVote.from_probabilities(
                np.ones((n, classes)), epsilon, homophily=0.8, model=model_for_accounts(d, classes)
            ),
            lambda: ClearAdjacency(n),
        ),
        "features": (
            *(partial(cast(Any, kind).from_epsilon, epsilon, **numbers)
              for kind in (OneBit, MultiBit, Window, Laplace)),
            lambda: GRRFS.from_epsilon(epsilon, facts=facts),
            lambda: AnalyticGaussian.from_epsilon(epsilon, delta=1e-6, **numbers),  # type: ignore[arg-type]
            lambda: ClearFeatures(d),
        ),
        # As `run` makes them, so that one of another package is tried too.
        "label": (
            *(partial(cast(Any, kind).from_epsilon, epsilon, categories=classes) for kind in every().values()
              if kind.reads == ("label",) and not kind.in_clear),
            lambda: ClearLabel(classes),
        ),
    }  # fmt: skip
    for make in makers[attribute]:
        with suppress(ValueError):  # a population without labels, or with other features than this one takes
            yield make()


def huge(query: Query, facts: PublicFacts) -> list[Query]:
    """Return questions with parameters that take all memory or time if they are used before the policy is checked."""
    found = [with_sizes(query, n=size, d=size, categories=1 << 16) for size in (1 << 20, 1 << 62)]
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
        found += [alone(query, ask), Query(query.collection, ((ask,),) * 8)]
    plan = query.plan * 2 if len(query.plan) < 5 else query.plan
    return [*found, Query(query.collection, plan, 1, tuple(range(100_000)))]
