"""Run of an owner who holds the whole graph: everybody hands the record over, noisy sums, networks, predictions.

    devices (owner mode) -> lists of the owner -> noisy hops, kept -> networks -> everybody's class

The noise belongs to the run: a killed run that continues has the same stored records and the same noise, so it
publishes what it would have published, and nothing is released twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from torch import nn

from ldpsim.curator.draws import derive
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.linear.processor import threads_for
from ldpsim.curator.methods import Question
from ldpsim.curator.methods.owner.graph_owner import GraphOwner
from ldpsim.curator.nulls.models import chance, known_from_graph
from ldpsim.curator.observer import watched
from ldpsim.curator.owner.aggregation.sums import HandedLists
from ldpsim.curator.owner.aggregation.training import Learners
from ldpsim.curator.owner.privacy.graph_account import GraphRelease
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.policy.policy import Mode
from ldpsim.devices.query import ATTRIBUTES
from ldpsim.devices.raw_record import hand_over
from ldpsim.strategies.people.owner_graphs import handed_lists, own, sparse_features
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.results.verdict import CHANCE, FEATURES_ALONE
from ldpsim.strategies.rounds.batches import read_records
from ldpsim.strategies.runs.run import Others, Predict, RepeatContext, Run, ask_devices
from ldpsim.strategies.setup.options import RunOptions, Seeds
from ldpsim.strategies.setup.run_setup import Setup
from ldpsim.strategies.setup.settings import check_graph_owner_run


class GraphOwnerRun(Run):
    """Everybody hands the record over once; the owner publishes networks and predictions under noise."""

    mode: Mode = "owner"

    def check(self, setup: Setup) -> None:
        """Check options, method and people against one another."""
        check_graph_owner_run(setup.options, setup.settings)
        self.released_before(setup, setup.plans[0].split)

    def divide(self, options: RunOptions, population: Population, seeds: Seeds) -> Split:
        """Return the training, validation and test people; nobody volunteers, as everybody hands the record over."""
        return make_split(options.split, population, seeds.split, options.label_rate)

    def questions(self, setup: Setup, split: Split, collection: str) -> tuple[Question, ...]:
        """Return the request for the raw record, to everybody."""
        return (Question(hand_over(collection)),)

    def released_before(self, setup: Setup, split: Split) -> GraphRelease:
        """Return the description of what will be published."""
        return _released(_method(setup), setup, split)

    def guarantee_of(self, setup: Setup, released: Sequence[GraphRelease]) -> Guarantee:
        """Return the guarantee of so many releases about the same people, each with fresh noise."""
        worst = min(released, key=lambda each: each.deviation)
        return replace(worst, releases=len(released)).guarantee(setup.method.spec.trust)

    def verb(self, setup: Setup) -> str:
        """Return ``public``: the owner has everything in clear, and nobody else has anything."""
        return "public"

    def without_graph(self, method: Any) -> str:
        """Return why there is no reconstructed graph."""
        return f"{method.spec.name} reconstructs no graph: its owner has every list in clear"

    def work(self, scene: RepeatContext) -> Outcome:
        """Collect the records, add noisy hops and train."""
        setup = scene.setup
        scene.tell("collect", None)
        _, collected = ask_devices(scene)
        came = read_records(setup.population.facts, collected)
        data = handed_lists(setup.population.facts, came)
        released = self.released_before(setup, scene.split)
        scene.tell("train", None)
        started = time.perf_counter()
        with watched(scene.watch):
            predictions, model = _learn(scene, _method(setup), data, released, setup.settings.training)
        silent = np.setdiff1d(np.arange(len(predictions)), list(came))
        predictions[silent] = -1
        evidence = None
        if setup.options.nulls:  # nothing is public: even labels are of records that were handed over
            evidence = known_from_graph(own(setup.population, scene.split, trust="none"), ("label",))
            evidence = replace(evidence, reported=frozenset(ATTRIBUTES))
        return Outcome(
            guarantee=self.guarantee_of(setup, [released]),
            released=released,
            seconds={"collect": collected.seconds, "reconstruct": 0.0, "train": time.perf_counter() - started},
            predictions=predictions,
            model=model,
            collected=collected,
            evidence=evidence,
            extra={"graph_owner": released.to_dict()},
        )

    def null_models(self, scene: RepeatContext, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
        """Yield chance; the network without a graph, as private as the level asks for; and shuffled data."""
        evidence = outcome.evidence
        if evidence is None:
            return
        yield CHANCE, lambda: np.full(len(evidence.labels.labels), chance(evidence))
        setup, method = scene.setup, _method(scene.setup).without_graph()

        def alone() -> IntArray:
            released = _released(method, setup, scene.split)
            return _learn(scene, method, _raw(setup), released, setup.settings.training, stream="alone")[0]

        yield FEATURES_ALONE, alone
        if scene.state is not None:
            yield from self.shuffled(scene, outcome, others)

    def reference(self, scene: RepeatContext, settings: TrainingSettings) -> IntArray:
        """Return the predictions of the same networks on full batches, without noise and without a cap."""
        setup, method = scene.setup, _method(scene.setup)
        released = self.released_before(setup, scene.split)
        return _learn(scene, method, _raw(setup), released, settings, noise=False)[0]

    def reference_settings(self, setup: Setup) -> tuple[TrainingSettings, TrainingSettings]:
        """Return the settings of full batches twice: few private steps would teach a network without noise little."""
        training = setup.settings.training
        full = replace(training, epochs=max(training.epochs, _method(setup).spec.training_defaults["epochs"]))
        return full, full


def _released(method: GraphOwner, setup: Setup, split: Split) -> GraphRelease:
    return method.release(people=setup.population.facts.n, training=len(split.train),
                          epochs=setup.settings.training.epochs, epsilon=setup.budget.epsilon)  # fmt: skip


def _learn(
    scene: RepeatContext, method: GraphOwner, data: HandedLists, released: GraphRelease, settings: TrainingSettings,
    *, noise: bool = True, stream: str = "",
) -> tuple[IntArray, nn.Module]:  # fmt: skip
    """Return everybody's class and the network; ``stream`` names noise that is not the run's own."""
    split, seeds = scene.split, scene.seeds
    seed = scene.noise_seed
    people = Learners(data.labels, *(part[data.labels[part] >= 0] for part in (split.train, split.val)))
    with threads_for(0):
        return method.learn(
            data, people, released, settings, classes=scene.setup.population.facts.classes, order_seed=seeds.split,
            noise_seed=derive(seed, stream) if stream else seed, seed=seeds.training, noise=noise,
        )  # fmt: skip


def _method(setup: Setup) -> GraphOwner:
    return cast(GraphOwner, setup.method)


def _raw(setup: Setup) -> HandedLists:
    """Return the people's data as they are, for what nobody is asked for."""
    people = setup.population
    senders = np.repeat(np.arange(len(people)), np.diff(people.neighbour_indptr))
    return HandedLists(sparse_features(people), people.labels, senders, people.neighbour_indices.astype(np.int64))
