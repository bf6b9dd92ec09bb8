"""Adversaries that vary the question: budgets, attributes, mechanisms, impossible sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any, cast

import numpy as np

from ldpsim.curator.votes.own_model import model_for_accounts
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRR,
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
    Window,
    every,
)
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries.curator import (
    AdversarialCurator,
    Runs,
    Shot,
    rebudgeted,
    recollected,
    with_mechanisms,
)


class GreedyFirst(AdversarialCurator):
    """Asks for nearly everything in the first question, before any honest one."""

    name = "greedy-first"
    description = "one greedy first question: epsilon 40 (a threshold's limit) and 100 times the budget, wrong facts"

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        greedy = [rebudgeted(query, factor, facts) for factor in (2.0, 100.0)]
        sharpest: list[Ask] = []
        for ask in query.asks:
            if ask.attribute == "adjacency":
                sharpest.append(Ask("adjacency", (RandomizedResponse(1, facts.n),)))
            elif ask.attribute == "features":
                sharpest.append(Ask("features", (OneBit(1, facts.d, facts.feature_low, facts.feature_high),)))
            elif facts.classes > 1:
                sharpest.append(Ask("label", (GRR(1, facts.classes),)))
        if sharpest:  # eps = ln(2**64 - 1) = 44.4, the largest of a 64-bit threshold
            greedy.append(Query(query.collection, (tuple(sharpest),)))
        for wrong in (1, 2 * facts.n, 2 * facts.d, max(2, 2 * facts.classes)):
            greedy.append(_with_sizes(query, n=wrong, d=wrong, categories=max(2, wrong)))
        yield [[Shot(question)] for question in greedy if question != query]
        yield [[Shot(query)]]


class GhostFirst(AdversarialCurator):
    """Spends everybody's only answer before the honest collector asks, on a question that says next to nothing."""

    name = "ghost-first"
    description = "a stranger asks first, at a hundredth of the budget, and takes the only answer"

    def runs(self) -> Runs:
        query = self.target.query
        ghost = recollected(rebudgeted(query, 0.01, self.target.facts), "ghost")
        yield [[Shot(ghost, signed=False)], [Shot(recollected(query, "ghost"), signed=False)]]
        yield [[Shot(query)]]


def _with_sizes(query: Query, **sizes: int) -> Query:
    def changed(mechanism: Mechanism) -> Mechanism:
        names = {entry.name for entry in fields(mechanism)}  # type: ignore[arg-type]
        try:
            return replace(mechanism, **{k: v for k, v in sizes.items() if k in names})  # type: ignore[type-var]
        except ValueError:
            return mechanism

    return with_mechanisms(query, changed)


class GrowingBudgets(AdversarialCurator):
    """Asks each time for more than the time before."""

    name = "growing-budgets"
    description = "asks T times, each time at a larger budget"

    def runs(self) -> Runs:
        yield [[Shot(question)] for question in self.questions()]

    def questions(self) -> list[Query]:
        """Return the questions, the smallest budget first."""
        query, facts, asks = self.target.query, self.target.facts, self.asks
        return [recollected(rebudgeted(query, (n + 1) / asks, facts), f"budget-{n}") for n in range(asks)]


class ShrinkingBudgets(GrowingBudgets):
    """Asks at the largest budget first; each later answer would cost less, but not nothing."""

    name = "shrinking-budgets"
    description = "asks T times, each time at a smaller budget"

    def runs(self) -> Runs:
        yield [[Shot(question)] for question in reversed(self.questions())]


class AttributeByAttribute(AdversarialCurator):
    """Asks one attribute after another, then all together, many times."""

    name = "attribute-by-attribute"
    description = "asks each attribute alone, then all together, at changing budgets"

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        rounds: list[list[Shot]] = []
        for number in range(self.asks):
            question = rebudgeted(query, 1.0 - (number % 4) / 8, facts)
            several = [Query(query.collection, ((ask,),)) for ask in question.asks]
            rounds += [[Shot(recollected(one, f"turn-{number}"))] for one in (*several, question)]
        yield rounds


class Subsets(AdversarialCurator):
    """Asks every subset of the attributes, which joins released ones with others."""

    name = "subsets"
    description = "asks every subset of the attributes, in every order of their sizes, in old and new collections"

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        rounds: list[list[Shot]] = []
        for number in range(max(1, self.asks // 8)):
            asks = rebudgeted(query, 1.0 - (number % 4) / 8, facts).asks
            chosen = [part for size in range(1, len(asks) + 1) for part in itertools.combinations(asks, size)]
            ids = (query.collection, f"subset-{number}")
            rounds += [[Shot(Query(collection, (part,)))] for part in chosen for collection in ids]
        yield rounds


class OtherMechanisms(AdversarialCurator):
    """Asks an attribute through every other mechanism that applies to it, also degree and clear text."""

    name = "other-mechanisms"
    description = "asks an attribute through every other mechanism, in place of the honest one or joined to it"

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        rounds = [[Shot(query)]]
        for ask in query.asks:
            for mechanism in every_mechanism(ask.attribute, facts):
                if mechanism in ask.mechanisms:
                    continue
                alone = (
                    len(ask.attributes) > 1 or len(mechanism.reads) > 1
                )  # such an answer cannot be joined to another
                for joined in ((mechanism,),) if alone else ((mechanism,), (*ask.mechanisms[:3], mechanism)):
                    question = Query(query.collection, ((Ask(ask.attribute, joined),),))
                    rounds.append([Shot(question), Shot(recollected(question, mechanism.name))])
        yield rounds


def every_mechanism(attribute: str, facts: PublicFacts) -> Iterator[Mechanism]:
    """Yield each built-in mechanism of an attribute, at a small budget and with the right facts.

    Mechanisms about labels of other packages are among them.
    """
    n, d, classes, low, high = facts.n, facts.d, facts.classes, facts.feature_low, facts.feature_high
    makers: dict[str, tuple[Callable[[], Mechanism], ...]] = {
        "adjacency": (
            lambda: RandomizedResponse.from_epsilon(0.5, n=n),
            lambda: Degree.from_epsilon(0.5, n=n),
            lambda: GroupDegrees.from_epsilon(0.5, n=n, groups=2, seed=1),
            lambda: NoisyRow.from_epsilon(0.5, n=n),
            lambda: NeighbourhoodVote.from_probabilities(np.ones((n, classes)), 0.5, homophily=0.8, candidates=2),
            lambda: NeighbourhoodVote.from_probabilities(
                np.ones((n, classes)), 0.5, homophily=0.8, model=model_for_accounts(d, classes)
            ),
            lambda: ClearAdjacency(n),
        ),
        "features": (
            lambda: OneBit.from_epsilon(0.5, d=d, low=low, high=high),
            lambda: MultiBit.from_epsilon(0.5, d=d, low=low, high=high),
            lambda: Window.from_epsilon(0.5, d=d, low=low, high=high),
            lambda: GRRFS.from_epsilon(0.5, facts=facts),
            lambda: Laplace.from_epsilon(0.5, d=d, low=low, high=high),
            lambda: AnalyticGaussian.from_epsilon(0.5, delta=1e-6, d=d, low=low, high=high),
            lambda: ClearFeatures(d),
        ),
        # As `run` makes them, so that one of another package is tried too.
        "label": (
            *(partial(cast(Any, kind).from_epsilon, 0.5, categories=classes) for kind in every().values()
              if kind.reads == ("label",) and not kind.in_clear),
            lambda: ClearLabel(classes),
        ),
    }  # fmt: skip
    for make in makers[attribute]:
        with suppress(ValueError):  # a population without labels, or with other features than this one takes
            yield make()


class BothEnds(AdversarialCurator):
    """Asks devices that report one end of a pair only for both ends."""

    name = "both-ends"
    description = "asks devices that report one end of each pair for the whole list, before and after the honest ask"

    def runs(self) -> Runs:
        def changed(mechanism: Mechanism) -> Mechanism:
            return mechanism if mechanism.reporting == "both" else replace(mechanism, reporting="both")  # type: ignore[type-var]

        both = with_mechanisms(self.target.query, changed)
        yield [[Shot(both)], [Shot(self.target.query)]] + [[Shot(both)]] * max(1, self.asks - 2)


class HugeParameters(AdversarialCurator):
    """Sends parameters that take all memory or time if they are used before the policy is checked."""

    name = "huge-parameters"
    description = (
        "asks with sizes of up to 2^62, the largest grids, groups and numbers of stages, and queries of megabytes"
    )

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        huge: list[Query] = [_with_sizes(query, n=size, d=size, categories=1 << 16) for size in (1 << 20, 1 << 62)]
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
            huge += [Query(query.collection, ((ask,),)), Query(query.collection, ((ask,),) * 8)]
        grouping = tuple(range(100_000))
        huge.append(Query(query.collection, query.plan * 2 if len(query.plan) < 5 else query.plan, 1, grouping))
        yield [[Shot(question)] for question in huge]
        yield [[Shot(query)], [Shot(huge[0])]]
