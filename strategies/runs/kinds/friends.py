"""Run of devices that tell their friends what they compute, without a curator who asks.

    public labels and features -> a published predictor -> every device -> exchanges among friends

A simulation computes what devices would tell. It enrols none, and enters nothing in a ledger.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy.special import softmax

from ldpsim.curator.learning.training import train
from ldpsim.curator.methods.friends.p2pgnn import P2PGNN, PATIENCE
from ldpsim.curator.methods.references.references import MLP
from ldpsim.curator.nulls.inputs import known_from_graph
from ldpsim.curator.observer import watched
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.devices.data.population import records_of
from ldpsim.devices.friends.diffusion import VALUES, diffuse, friend_pairs
from ldpsim.strategies.people.owner_graphs import owned_graph
from ldpsim.strategies.results.outcome import Outcome, Predict
from ldpsim.strategies.results.verdict import FEATURES_ALONE
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.kind import Others, RunKind
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.setup.run_setup import RepeatPlan, Setup

_NUMBER_BYTES = 4  # of a value in a message


def plan(setup: Setup, draft: RepeatPlan) -> RepeatPlan:
    """Return the plan: nobody is asked."""
    return draft


def guarantee(setup: Setup, released: Sequence[Any]) -> Guarantee:
    """Return that nothing reaches the curator."""
    return setup.method.guarantee(setup.facts, (), setup.budget).over(len(released))


def work(repeat: Repeat, collected: Collected) -> Outcome:
    """Train the predictor on public people, and let devices exchange its predictions by their own features."""
    setup, split, population = repeat.setup, repeat.split, repeat.setup.population
    method, training, started = cast(P2PGNN, setup.method), setup.settings.training, time.perf_counter()
    owned = owned_graph(population, split, trust="none")
    graph = MLP().from_owned(owned)
    repeat.tell("train", None)
    with watched(repeat.watch):
        trained = train(graph, settings=training, classes=setup.facts.classes, seed=repeat.seeds.training,
                        device=setup.options.device, patience=PATIENCE)  # fmt: skip
    predictions = softmax(np.asarray(trained.log_probability, np.float64), axis=1)
    public_labels = np.full(len(population), -1)
    public_labels[split.labelled] = population.labels[split.labelled]
    pairs = friend_pairs(records_of(population, range(len(population))))
    diffusion = diffuse(predictions, public_labels, pairs, rounds=method.rounds, most_rate=method.most_rate,
                        restart=method.restart, seed=repeat.seeds.training)  # fmt: skip
    messages = 2 * diffusion.exchanges
    size = messages * VALUES * setup.facts.classes * _NUMBER_BYTES
    cost = {"rounds": method.rounds, "messages": messages, "downlink_bytes": size, "uplink_bytes": size}
    null_inputs = None
    if setup.options.nulls:
        null_inputs = replace(known_from_graph(owned, ("features", "label")), uses_validation_labels=True)
    return Outcome(
        seconds={"collect": 0.0, "reconstruct": 0.0, "train": time.perf_counter() - started},
        predictions=diffusion.values.argmax(axis=1),
        class_scores=diffusion.values,
        model=trained.model,
        null_inputs=null_inputs,
        nulls={FEATURES_ALONE: lambda: trained.predictions},
        phases={"friends": cost},
        extra={"friends": {"pairs": pairs.shape[1], "exchanges": diffusion.exchanges}},
    )


def reference(repeat: Repeat) -> None:
    """Return no training: there is no noise to leave out."""


def shuffled(repeat: Repeat, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
    """Yield nothing: no device is enrolled, so nobody else can be asked."""
    yield from ()


FRIENDS = RunKind(plan, work, guarantee, reference, shuffled)
