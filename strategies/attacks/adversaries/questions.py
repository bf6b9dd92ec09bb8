"""Other questions than the honest one: another collection, budget, size or mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace

import numpy as np

from ldpsim.curator.attacks.examples import make
from ldpsim.curator.features.linear_feature_model import model_for_accounts
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    Mechanism,
    NeighbourhoodVote,
    every,
)
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
