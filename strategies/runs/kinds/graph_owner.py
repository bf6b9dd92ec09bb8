"""Run of an owner who holds the whole graph: everybody hands the record over, noisy sums, networks, predictions.

    devices (owner mode) -> lists of the owner -> noisy hops, kept -> networks -> everybody's class

The noise belongs to the run: a killed run that continues has the same stored records and the same noise, so it
publishes what it would have published, and nothing is released twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from torch import nn

from ldpsim.curator.draws import derive
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.linear.threads import threads_for
from ldpsim.curator.methods import Question
from ldpsim.curator.methods.owner.graph_owner import GraphOwner
from ldpsim.curator.nulls.inputs import known_from_graph
from ldpsim.curator.observer import watched
from ldpsim.curator.owner.aggregation.sums import HandedLists
from ldpsim.curator.owner.aggregation.training import Learners
from ldpsim.curator.owner.privacy.graph_account import GraphRelease
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.query import ATTRIBUTES
from ldpsim.devices.raw_record import hand_over
from ldpsim.strategies.people.owner_graphs import handed_lists, owned_graph, sparse_features
from ldpsim.strategies.results.outcome import Outcome, Predict
from ldpsim.strategies.results.verdict import FEATURES_ALONE
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.records import read_records
from ldpsim.strategies.runs.kind import ANY, Others, ReferenceTraining, RunKind, policy_of, work_of_others
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.setup.run_setup import RepeatPlan, Setup


def plan(setup: Setup, draft: RepeatPlan) -> RepeatPlan:
    """Return the plan: everybody is asked for the raw record, for a release that is described before."""
    questions = (Question(hand_over(ANY)),)
    return replace(draft, questions=questions, policy=policy_of(setup, questions, "owner"),
                   released=_released(_method(setup), setup, draft.split))  # fmt: skip


def guarantee(setup: Setup, released: Sequence[GraphRelease]) -> Guarantee:
    """Return the guarantee of so many releases about the same people, each with fresh noise."""
    worst = min(released, key=lambda each: each.deviation)
    return replace(worst, releases=len(released)).guarantee(setup.method.spec.trust)


def work(repeat: Repeat, collected: Collected) -> Outcome:
    """Add noisy hops to the records and train."""
    setup = repeat.setup
    records = read_records(setup.facts, collected)
    data = handed_lists(setup.facts, records)
    released = _released(_method(setup), setup, repeat.split)
    repeat.tell("train", None)
    started = time.perf_counter()
    with watched(repeat.watch):
        predictions, model = _learn(repeat, _method(setup), data, released, setup.settings.training)
    predictions[np.setdiff1d(np.arange(len(predictions)), list(records))] = -1  # they handed nothing over
    null_inputs = None
    if setup.options.nulls:  # nothing is public: even labels are of records that were handed over
        null_inputs = known_from_graph(owned_graph(setup.population, repeat.split, trust="none"), ("label",))
        null_inputs = replace(null_inputs, reported=frozenset(ATTRIBUTES))
    return Outcome(
        released=released,
        seconds={"collect": collected.seconds, "reconstruct": 0.0, "train": time.perf_counter() - started},
        predictions=predictions,
        model=model,
        collected=collected,
        null_inputs=null_inputs,
        nulls={FEATURES_ALONE: partial(_features_alone, repeat)},
        extra={"graph_owner": released.to_dict()},
    )


def reference(repeat: Repeat) -> ReferenceTraining:
    """Return the training of the same networks on full batches, without noise and without a cap.

    Its settings are those of full batches twice: few private steps would teach a network without noise little.
    """
    setup = repeat.setup
    method, training = _method(setup), setup.settings.training
    full = replace(training, epochs=max(training.epochs, method.spec.training_defaults["epochs"]))
    released = _released(method, setup, repeat.split)

    def train(settings: TrainingSettings) -> IntArray:
        return _learn(repeat, method, _raw(setup), released, settings, noise=False)[0]

    return ReferenceTraining(full, full, train)


def shuffled(repeat: Repeat, outcome: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
    """Yield the same work on the data of other people."""
    return work_of_others(work, repeat, others)


GRAPH_OWNER = RunKind(plan, work, guarantee, reference, shuffled)


def _features_alone(repeat: Repeat) -> IntArray:
    """Return everybody's class by the network without a graph, as private as the level asks for."""
    setup, method = repeat.setup, _method(repeat.setup).without_graph()
    released = _released(method, setup, repeat.split)
    return _learn(repeat, method, _raw(setup), released, setup.settings.training, stream="alone")[0]


def _released(method: GraphOwner, setup: Setup, split: Split) -> GraphRelease:
    return method.release(people=setup.facts.n, training=len(split.train),
                          epochs=setup.settings.training.epochs, epsilon=setup.budget.epsilon)  # fmt: skip


def _learn(
    repeat: Repeat, method: GraphOwner, data: HandedLists, released: GraphRelease, settings: TrainingSettings,
    *, noise: bool = True, stream: str = "",
) -> tuple[IntArray, nn.Module]:  # fmt: skip
    """Return everybody's class and the network; ``stream`` names noise that is not the run's own."""
    split, seeds = repeat.split, repeat.seeds
    seed = repeat.noise_seed
    people = Learners(data.labels, *(part[data.labels[part] >= 0] for part in (split.train, split.val)))
    with threads_for(0):
        return method.learn(
            data, people, released, settings, classes=repeat.setup.facts.classes, order_seed=seeds.split,
            noise_seed=derive(seed, stream) if stream else seed, seed=seeds.training, noise=noise,
        )  # fmt: skip


def _method(setup: Setup) -> GraphOwner:
    return cast(GraphOwner, setup.method)


def _raw(setup: Setup) -> HandedLists:
    """Return the people's data as they are, for what nobody is asked for."""
    people = setup.population
    senders = np.repeat(np.arange(len(people)), np.diff(people.neighbour_indptr))
    return HandedLists(sparse_features(people), people.labels, senders, people.neighbour_indices.astype(np.int64))
