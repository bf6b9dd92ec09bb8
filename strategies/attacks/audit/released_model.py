"""Attack on the model that a run publishes, with shadow runs (``ldpsim audit METHOD --released-model``).

Published are the weights and everybody's predicted probabilities. Every shadow run on the generated people has devices
of its own, fresh noise and a fresh training. A coin decides for each target, and each level has targets of its own:

=================  ==========================================  ==============================================
level              in / out                                    signal, from the published probabilities p
=================  ==========================================  ==============================================
``label``          own class / another one                     ln p(own class) - ln p(other), of the person
``vector``         own features / those of a stranger          the same, the other class is the stranger's
``relationship``   an edge / none                              sum over the classes of p of both ends
=================  ==========================================  ==============================================

A network that parties trained over edges is applied twice: to the true graph, and to the same people without edges,
where a person's signal is of the own features alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
import torch

from ldpsim.curator.attacks.mechanism_audit import CONFIDENCE, Effort
from ldpsim.curator.attacks.released_model import InferenceRow, inference_row
from ldpsim.curator.learning.networks import Network
from ldpsim.curator.methods.federated.federated import Federated
from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.facts import Split
from ldpsim.strategies.experiments.compare import cells_of
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.kinds.network import TwoLayers, log_probabilities
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import temporary_repeat
from ldpsim.strategies.setup.options import SEED_BOUND, RunOptions
from ldpsim.strategies.setup.run_setup import Setup, load_population

SHADOWS = 32
LEVELS = ("label", "vector", "relationship")
_MOST_SHADOWS = 10_000
_MOST_TARGETS = 24  # of one level
_SURE = 0.9  # probability of a predicted class, of a model that says no probabilities


class Targets(NamedTuple):
    """Targets of the levels, no person in two of them.

    Args:
        label, vector: int64 (k,), people.
        relationship: int64 (k, 2), the ends of edges, the smaller one first.
        strangers: int64 (n,), somebody of another class, for each person.
    """

    label: IntArray
    vector: IntArray
    relationship: IntArray
    strangers: IntArray


def audit_released(
    method: str, *, shadows: int = SHADOWS, clients: int = 120, epsilon: float | None = None,
    settings: Mapping[str, str] | None = None, confidence: float = CONFIDENCE, seed: int = 0,
    progress: Progress = quiet,
) -> Iterator[InferenceRow]:  # fmt: skip
    """Yield a row for each level.

    Args:
        method: The name of a method.
        shadows: Number of runs; half of them are attacked.
        clients, epsilon, settings: As of a run.
        confidence: Confidence of all bounds together.
        seed: Seed of people, coins, noise and trainings.
        progress: Function that is told the share that is done.

    Raises:
        ValueError: for numbers outside their range, and for options that a run refuses.
    """
    if not 8 <= shadows <= _MOST_SHADOWS or shadows % 2:
        raise ValueError(f"--shadows {shadows}: must be an even number of 8 to {_MOST_SHADOWS:,}")
    effort = Effort(confidence=confidence, rows=len(LEVELS), seed=seed)
    base = RunOptions(dataset="generated", clients=clients, epsilon=epsilon, seed=seed, settings=settings or {},
                      reference=False, nulls=False, device="cpu", engine="local", out=None)  # fmt: skip
    options = cells_of((method,), base)[0].options
    people = load_population(options)
    split = prepare(options, population=people).plans[0].split
    targets, rng = draw_targets(people, split, seed), np.random.default_rng([seed, *b"coins"])
    coins: list[dict[str, BoolArray]] = []
    signals: list[dict[str, DoubleArray]] = []
    for number in range(shadows):
        own = (seed * 1_000_003 + number) % SEED_BOUND
        progress("shadow runs", number / shadows)
        coins.append({level: rng.random(len(getattr(targets, level))) < 0.5 for level in LEVELS})
        seeds = {**options.seeds, **dict.fromkeys(("noise", "training"), own)}
        others = altered(people, targets, coins[-1])
        setup = prepare(replace(options, seeds=seeds), population=others, divide=lambda *_: split)  # as people are
        outcome = run_once(setup)
        signals.append(signals_of(people, targets, published_probabilities(outcome, setup, people)))
    holds = kind_of(setup.method).guarantee(setup, [outcome.released]).holds
    for level in LEVELS:
        held, size = holds[level], len(coins[0][level])
        if held.status == "not asked" or not size:
            continue
        words = f"{shadows} shadow runs, {size} targets"
        if held.status == "unprotected":
            words += "; in clear: nothing bounds the attack"
        elif held.delta:
            words += f"; delta {held.delta:g}: the lower bound is not compared"
        yield inference_row(
            method, level, list(np.stack([each[level] for each in signals], axis=1)),
            np.array([each[level] for each in coins]), effort,
            claimed=held.value if held.status == "bounded" else None, delta=held.delta, detail=words,
        )  # fmt: skip


def draw_targets(people: Population, split: Split, seed: int) -> Targets:
    """Choose training people, as many for each level, and edges between other people."""
    rng = np.random.default_rng([seed, *b"targets"])
    each = min(_MOST_TARGETS, len(split.train) // 4)
    label, vector, _ = np.split(rng.permutation(split.train), [each, 2 * each])
    free = ~np.isin(np.arange(len(people)), [label, vector])
    ends: list[list[int]] = []
    for edge in rng.permutation(people.edges.T).tolist():
        if len(ends) < each and free[edge].all():
            free[edge] = False
            ends.append(edge)
    strangers = [rng.choice(np.flatnonzero(people.labels != own)) for own in people.labels]
    return Targets(label, vector, np.array(ends, np.int64).reshape(-1, 2), np.array(strangers, np.int64))


def altered(people: Population, targets: Targets, coins: Mapping[str, BoolArray]) -> Population:
    """Return the people in whose data the targets with coin False have the other value.

    Args:
        people: The people as they are.
        targets: The targets.
        coins: Level -> bool (k,): whether a target has its own value.
    """
    label, vector, gone = (getattr(targets, level)[~coins[level]] for level in LEVELS)
    labels, source, n = people.labels.copy(), np.arange(len(people)), len(people)
    labels[label], source[vector] = labels[targets.strangers[label]], targets.strangers[vector]
    rows, edges = sparse_features(people)[source], people.edges
    left = ~np.isin(edges[0] * n + edges[1], gone[:, 0] * n + gone[:, 1])
    return build_population(
        people.name, n=n, d=people.facts.d, edges=edges[:, left], feature_indptr=rows.indptr,
        feature_indices=rows.indices, feature_values=rows.data, labels=labels, classes=people.facts.classes,
    )  # fmt: skip


def signals_of(people: Population, targets: Targets, published: DoubleArray) -> dict[str, DoubleArray]:
    """Return the signal of each target, float64 (ways, k), by level.

    Args:
        people: The people as they are.
        targets: The targets.
        published: float64 (ways, n, classes), logarithms of everybody's probabilities.
    """
    everybody = np.arange(len(people))
    odds = published[:, everybody, people.labels] - published[:, everybody, people.labels[targets.strangers]]
    both = np.exp(published[:, targets.relationship].sum(axis=2)).sum(axis=2)
    return {"label": odds[:, targets.label], "vector": odds[:, targets.vector], "relationship": both}


def run_once(setup: Setup) -> Outcome:
    """Run on freshly enrolled devices."""
    with temporary_repeat(setup, 0) as repeat:
        return kind_of(setup.method).work(repeat, ask(repeat))


def published_probabilities(outcome: Outcome, setup: Setup, people: Population) -> DoubleArray:
    """float64 (ways, n, classes): logarithms of everybody's probabilities, by each way to apply what is published.

    A network of a local method says them on the curator's graph. A federated one is applied to people as they are: the
    attacker knows what a target's value would be.

    Raises:
        ValueError: for a run that publishes nothing about everybody.
    """
    if isinstance(outcome.model, Network):
        with torch.no_grad():
            return np.asarray(torch.log_softmax(outcome.model().double(), dim=1).numpy())[None]
    if isinstance(outcome.model, TwoLayers):
        method = cast(Federated, setup.method)
        applied_to = [people] if "adjacency" in method.spec.uses else []
        return np.stack([log_probabilities(outcome.model, method.scaling, each)
                         for each in (*applied_to, _without_edges(people))])  # fmt: skip
    if outcome.predictions is None or (outcome.predictions < 0).any():
        raise ValueError(
            f"{setup.method.spec.name} publishes no class or probabilities for everybody: nothing to attack"
        )
    own = np.eye(people.facts.classes, dtype=bool)[outcome.predictions]
    return np.log(np.where(own, _SURE, (1 - _SURE) / max(1, people.facts.classes - 1)))[None]


def _without_edges(people: Population) -> Population:
    return replace(people, neighbour_indptr=np.zeros_like(people.neighbour_indptr),
                   neighbour_indices=people.neighbour_indices[:0])  # fmt: skip
