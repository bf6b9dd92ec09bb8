"""Publication of a run: everybody's probabilities, and answers to questions about changed features.

A network of a local method says probabilities on the curator's graph, and can be asked again with one person's
features left out. A federated one is applied to people as they are. The student of an owner's method never meets a
private person's edge: it is applied to private people's own features. A method without a network publishes classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import torch
from scipy.sparse import diags_array, issparse
from scipy.special import log_softmax

from curator.graph import Graph
from curator.learning.networks import Network
from curator.methods.federated.fedavg import Federated
from curator.owner.teachers.answering import ask_all
from curator.owner.teachers.graph import PlainGraph
from curator.owner.teachers.student import Sage
from devices.array_types import DoubleArray, IntArray
from devices.data.population import Population
from devices.facts import Split
from strategies.people.owned_graph import sparse_features
from strategies.results.outcome import Outcome
from strategies.runs.asking import public_knowledge
from strategies.runs.federated_network import TwoLayers, log_probabilities
from strategies.runs.one_report import OneReportRun
from strategies.runs.set_up import run_of, temporary_scene
from strategies.setup.run_setup import RunSetup

SURE = 0.9  # probability of a predicted class, of a model that says no probabilities
_ROUNDING = 1e-4  # of log-probabilities of float32 networks: a smaller change is none


@dataclass(frozen=True, eq=False)
class Publication:
    """Publication of one run.

    Args:
        outcome: Outcome of the run.
        setup: The run, on the people that it saw.
        graph: The curator's graph with the features that the network is applied to; None where there is none.
        labels: int64 (n,), the labels that were public before, -1 where a label was not.
        features: CSR (n, d) where features were public before, else None.
    """

    outcome: Outcome
    setup: RunSetup
    graph: Graph | None = field(repr=False)
    labels: IntArray = field(repr=False)
    features: Any = field(repr=False)


def run_once(setup: RunSetup, split: Split) -> Publication:
    """Run on freshly enrolled devices, with the split of the people as they are."""
    repeat = replace(setup.repeats[0], split=split)
    run, method, people = run_of(setup.method), setup.method, setup.population
    with temporary_scene(replace(setup, repeats=(repeat,)), 0) as scene:
        outcome = run.work(scene)
        graph = outcome.graph
        if graph is None and method.reads:  # of a reference, which reads the true records
            graph = cast(OneReportRun, run).graph(scene, None)
    if method.trained_by != "curator":  # the others' people give nothing to the public
        return Publication(outcome, setup, graph, np.full(len(people), -1, np.int64), None)
    known = public_knowledge(people, split, setup.options, method)
    return Publication(outcome, setup, graph, known.labels, known.features)


def published_probabilities(outcome: Outcome, setup: RunSetup, people: Population) -> DoubleArray:
    """float64 (n, classes): logarithms of everybody's probabilities.

    A network of a local method says them on the curator's graph. A federated one is applied to people as they are: the
    attacker knows what a target's value would be.

    Raises:
        ValueError: for a run without a single model.
    """
    model, classes = outcome.model, people.facts.classes
    if isinstance(model, Network):
        return _scored(model)
    if isinstance(model, TwoLayers):
        return log_probabilities(model, cast(Federated, setup.method), people)
    predictions = outcome.predictions
    if predictions is None:
        raise ValueError(f"{setup.method.name} publishes no single model")
    found = np.full((len(people), classes), np.log((1 - SURE) / max(1, classes - 1)))
    known = np.flatnonzero(predictions >= 0)
    found[known, predictions[known]] = np.log(SURE)
    if isinstance(model, Sage) and len(known) < len(people):
        others = np.flatnonzero(predictions < 0)
        alone = PlainGraph.build(sparse_features(people)[others], np.zeros((2, 0), np.int64),
                                 np.full(len(others), -1, np.int64))  # fmt: skip
        found[others] = log_softmax(ask_all(model.trained, alone), axis=1)
    return found


def influences(release: Publication, people: Population, pairs: IntArray, before: DoubleArray) -> DoubleArray | None:
    """float64 (m, 1): change of the answer about the right end when the left end's features are left out.

    This is LinkTeller's question (Wu et al. 2022, https://arxiv.org/abs/2108.06504) with the largest change in place of
    a small one, so that float32 shows it. It takes one answer for each left end. None for a model that cannot be asked,
    or that looks at nobody's neighbours.

    Args:
        release: The publication.
        people: The people that the run saw.
        pairs: int64 (m, 2).
        before: float64 (n, classes), :func:`published_probabilities`.
    """
    ask = _asked_again(release, people)
    if ask is None:
        return None
    found = np.zeros((len(pairs), 1))
    for person in np.unique(pairs[:, 0]).tolist():
        mine = np.flatnonzero(pairs[:, 0] == person)
        ends = pairs[mine, 1]
        found[mine, 0] = np.linalg.norm(ask(person)[ends] - before[ends], axis=1)
    return np.where(found > _ROUNDING, found, 0.0)


def _asked_again(release: Publication, people: Population) -> Callable[[int], DoubleArray] | None:
    """Return person -> everybody's log-probabilities without that person's features."""
    model, graph = release.outcome.model, release.graph
    if isinstance(model, Network) and graph is not None:
        network, given = model, graph

        def on_graph(person: int) -> DoubleArray:
            network.rebind(replace(given, features=_without(given.features, person)))
            return _scored(network)

        return on_graph
    if isinstance(model, TwoLayers) and cast(Federated, release.setup.method).sees != "own":

        def on_people(person: int) -> DoubleArray:
            values = people.feature_values.copy()
            values[people.feature_indptr[person] : people.feature_indptr[person + 1]] = 0
            return published_probabilities(release.outcome, release.setup, replace(people, feature_values=values))

        return on_people
    return None


def _without(features: Any, person: int) -> Any:
    """Return features, of the same kind, in which a person's row is 0."""
    if isinstance(features, np.ndarray):
        return np.where((np.arange(len(features)) == person)[:, None], np.float32(0), features)
    kept = np.ones(features.shape[0], np.float32)
    kept[person] = 0
    matrix = diags_array(kept).tocsr().astype(np.float32)
    return (matrix @ features).tocsr() if issparse(features) else features.propagated(matrix)


def _scored(model: Network) -> DoubleArray:
    with torch.no_grad():
        scores = model.output(model.activate(model.pre_activation(), training=False))
        return np.asarray(torch.log_softmax(scores.double(), dim=1).numpy())
