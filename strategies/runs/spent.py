"""Spent losses of the people of a run: the guarantee over its repeats, and the sums in their ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, cast

import numpy as np

from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.reports.question import keys_of, stages_of
from ldpsim.devices.facts import IntArray, Split
from ldpsim.strategies.people.division import Division
from ldpsim.strategies.results.lifetime import Losses
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.runs.kind import RunKind, kind_of
from ldpsim.strategies.setup.run_setup import Setup


def guarantee_before(setup: Setup) -> Guarantee:
    """Return what one collection will guarantee, before anybody is asked; ValueError for parameters that do not fit.

    The plan is made again: a set-up may have been changed since, as a search for a budget changes it.
    """
    kind = kind_of(setup.method)
    return kind.guarantee(setup, [kind.plan(setup, setup.plans[0]).released])


def spent(kind: RunKind, setup: Setup, outcomes: Sequence[Outcome]) -> tuple[Guarantee, Losses]:
    """Return the guarantee over all collections of the people of a run, and their losses by the ledgers."""
    fresh = fresh_releases(setup, [outcome.released for outcome in outcomes])
    guarantee = kind.guarantee(setup, [outcomes[number].released for number in fresh])
    if not is_attained(setup, fresh):
        guarantee = guarantee.as_bound()
    if len(fresh) > 1:
        guarantee = guarantee.beside(kind.guarantee(setup, [outcomes[fresh[0]].released]))
    return guarantee, reduce(add, [cast(Losses, outcomes[number].lifetime) for number in fresh])


def fresh_releases(setup: Setup, released: Sequence[Any]) -> list[int]:
    """Return the repeats that released something of their own, in rising order.

    An owner and a server release something in each. The same question about the same lists under the same noise seed
    gives the same reports; kept reports are those of one collection. A later stage may ask differently, so a question
    of several stages counts every time.
    """
    if setup.method.spec.trained_by != "curator":
        return list(range(len(released)))
    first: dict[Any, int] = {}
    for number, questions in enumerate(released):
        seed, from_folder = setup.plans[number].seeds.noise, setup.options.from_reports is not None
        own = seed is None or (len(questions) > 0 and stages_of(questions) > 1)
        noise = "kept" if from_folder else ("own", number) if own else seed
        first.setdefault((noise, keys_of(questions)), number)
    return list(first.values())


def is_attained(setup: Setup, fresh: Sequence[int]) -> bool:
    """Return whether the sum of the losses of these repeats can be attained.

    Reports are counted person by person, so each repeat must have noise of its own. An owner or a server reads the
    records of some people: then some person must be in all of these repeats.
    """
    plans = [setup.plans[number] for number in fresh]
    if setup.method.spec.trained_by == "curator":
        seeds = [plan.seeds.noise for plan in plans]
        return None in seeds or len(set(seeds)) == len(seeds)
    return all(np.array_equal(_read(plan.split), _read(plans[0].split)) for plan in plans)


def _read(split: Split) -> IntArray:
    """Return the people whose records a training or an owner reads, sorted."""
    return np.sort(split.private if isinstance(split, Division) else split.train)
