"""Judging a repeat: null models, references and devices, with less than the run had, with more, and for themselves.

``chance``, ``graph_alone`` and ``features_alone`` read the curator's knowledge
(:mod:`ldpsim.curator.nulls`). ``shuffled_ATTRIBUTE`` is the run's own work on the private data of other
people: the same question, noise level, split and training seed. Devices that are enrolled for it
live in a folder of their own, which is removed afterwards. Nobody of the run is asked.
Given the reports, all of them can be trained side by side.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from ldpsim.curator.learning.networks import NETWORKS
from ldpsim.curator.learning.training import TrainingSettings, choose_device
from ldpsim.curator.linear.threads import trainings_at_once
from ldpsim.curator.methods import BUILT_IN
from ldpsim.curator.nulls.models import chance, features_alone, graph_alone, graph_learned
from ldpsim.curator.steps import on_progress
from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.data.population import records_of
from ldpsim.devices.friends.told_guesses import scores_with_told
from ldpsim.devices.prediction import DeviceModel
from ldpsim.strategies.engines.pool import available_cores
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.results import evaluation
from ldpsim.strategies.results.evaluation import auc, is_skewed
from ldpsim.strategies.results.lifetime import nothing_known, read_ledgers
from ldpsim.strategies.results.outcome import Outcome, Predict, Predictions, RepeatScores, Score
from ldpsim.strategies.results.verdict import (
    CHANCE,
    FEATURES_ALONE,
    GRAPH_ALONE,
    GRAPH_LEARNED,
    SHUFFLED,
    asks_nobody,
)
from ldpsim.strategies.runs.kind import RunKind
from ldpsim.strategies.runs.not_taken import reasons
from ldpsim.strategies.runs.repeat import Repeat, start_repeat
from ldpsim.strategies.setup.options import NOTHING
from ldpsim.strategies.setup.run_setup import Setup

Start = Callable[[Callable[[], Any]], Callable[[], Any]]  # starts work, and returns what waits for its result
References = tuple[Score | None, Score | None]  # of a training without noise: with the method's settings, with its own


def judge(
    kind: RunKind, repeat: Repeat, outcome: Outcome, start: Start, reference: Callable[[], References] | None,
    on_accuracy: Callable[[float], None] | None = None,
) -> Outcome:  # fmt: skip
    """Return the outcome of a repeat with its scores against the truth, and those of its null models.

    Args:
        kind: The kind of run.
        repeat: The repeat.
        outcome: Outcome of its work; what the null models alone need of it is dropped.
        start: Starts a training (:func:`side_by_side`).
        reference: Waits for the references (:func:`references`); None: they are trained here.
        on_accuracy: Called with the method's test accuracy, before anything else is made.
    """
    setup, state = repeat.setup, repeat.state
    if outcome.predictions is None:
        assert outcome.accuracy is not None
        accuracy, own = outcome.accuracy, Score(outcome.accuracy["test"])
    else:
        accuracy = evaluation.accuracy(outcome.predictions, setup.population, repeat.split, outcome.class_scores)
        own = score(repeat, outcome.predictions)
    if on_accuracy is not None and own.test is not None:
        on_accuracy(own.test)
    making = None if outcome.make_device_models is None else start(outcome.make_device_models)
    lifetime = outcome.lifetime
    if lifetime is None:
        nobody = setup.options.from_reports is None
        lifetime = nothing_known(complete=nobody) if state is None else read_ledgers(state, None)[0]
    if reference is None:
        reference = start(partial(references, kind, repeat))
    started = time.perf_counter()
    nulls = {}
    if setup.options.nulls:
        repeat.tell("nulls", None)
        waiting = {name: start(predict) for name, predict in null_models(kind, repeat, outcome)}
        # The last ones take longest: this thread does those that no other thread has begun.
        made = {name: waiting[name]() for name in reversed(waiting)}
        nulls = {name: score(repeat, classes) for name in waiting if (classes := made[name]) is not None}
    null_seconds = time.perf_counter() - started
    with_method_settings, with_own_settings = reference()
    device_models = None if making is None else making()
    device, alone = devices_scores(repeat, device_models)
    with_friends, alone_with_friends = scores_with_friends(repeat, device_models)
    reported = () if outcome.null_inputs is None else outcome.null_inputs.reported
    shuffled_ones = [name for name in nulls if name.startswith(SHUFFLED)]
    scores = RepeatScores(
        accuracy=accuracy,
        score=own,
        reference=with_method_settings,
        reference_own=None if with_own_settings is None else with_own_settings.test,
        nulls=nulls,
        ask_nobody=tuple(name for name in nulls if asks_nobody(name, reported) or shuffled_ones == [name]),
        device=device,
        alone=alone,
        own_features=own_features_score(repeat, device_models[1]) if device_models else None,
        not_taken=reasons(repeat, outcome.null_inputs, nulls, device_models),
        null_seconds=null_seconds,
        with_friends=with_friends,
        alone_with_friends=alone_with_friends,
    )
    seeded = None if state is None else bool(state.head["simulation_seeded"])
    return replace(outcome, scores=scores, device_models=device_models, lifetime=lifetime, seeded=seeded,
                   class_scores=None, null_inputs=None, reports=None, nulls={}, make_device_models=None)  # fmt: skip


def without_truth(outcome: Outcome) -> Outcome:
    """Return the outcome of a deployment with the one figure that is known there: that of validation labels in public.

    Nobody knows the truth, and no device answers twice: there are no null models, no reference and no ledgers.
    """
    assert outcome.accuracy is not None
    scores = RepeatScores(
        accuracy=outcome.accuracy, score=Score(None), reference=None, reference_own=None, nulls={}, ask_nobody=(),
        device=None, alone=None, own_features=None, not_taken={}, null_seconds=0.0,
    )  # fmt: skip
    device_models = None if outcome.make_device_models is None else outcome.make_device_models()
    return replace(outcome, scores=scores, device_models=device_models, lifetime=nothing_known(complete=False),
                   class_scores=None, null_inputs=None, reports=None, make_device_models=None)  # fmt: skip


def null_models(kind: RunKind, repeat: Repeat, outcome: Outcome) -> Iterator[tuple[str, Predict]]:
    """Yield name and work of each null model, chance first; the work gives None where it does not fit the run.

    Each name comes once. Other people are asked when the next one is drawn; beside volunteers all of them are asked
    before the first, because their answers may stand in place of a model. The calls send no question and do not
    depend on one another.

    Args:
        kind: The kind of run.
        repeat: The repeat, after its work; without devices, those null models that ask nobody else.
        outcome: Outcome of its work.
    """
    null_inputs, seed, device = outcome.null_inputs, repeat.seeds.training, repeat.setup.options.device
    models: dict[str, Predict] = {}
    if null_inputs is not None:
        models = {
            CHANCE: lambda: np.full(len(null_inputs.labels.labels), chance(null_inputs)),
            GRAPH_ALONE: lambda: graph_alone(null_inputs),
            GRAPH_LEARNED: lambda: graph_learned(null_inputs, seed=seed, device=device),
            FEATURES_ALONE: lambda: features_alone(null_inputs, seed=seed, device=device),
            **outcome.nulls,
        }
    others = iter(()) if repeat.state is None else kind.shuffled(repeat, outcome, partial(_others, repeat))
    if repeat.setup.budget.volunteers:
        models |= others
    yield from models.items()
    yield from others


@contextmanager
def side_by_side(workers: int) -> Iterator[Start]:
    """Offer a function that starts a training and returns what waits for its result, or raises its error.

    A training that has not begun when its result is needed runs in the thread that waits: that is one of the workers.
    Trainings that still run at the end of the block are stopped at their next step.

    Args:
        workers: How many run at a time, this thread among them; 1: each one runs when it is started, in this thread.
    """
    stop = threading.Event()

    def check(share: float) -> None:
        if stop.is_set():
            raise CancelledError

    def until_stopped(work: Callable[[], Any]) -> Any:
        with on_progress(check):  # nobody sees steps of several trainings: each only looks whether to go on
            check(0)
            return work()

    def at_once(work: Callable[[], Any]) -> Callable[[], Any]:
        result = work()
        return lambda: result

    if workers == 1:
        yield at_once
        return

    def beside(work: Callable[[], Any]) -> Callable[[], Any]:
        future = pool.submit(until_stopped, work)
        return lambda: work() if future.cancel() else future.result()

    pool = ThreadPoolExecutor(workers - 1, initializer=torch.set_num_threads, initargs=(1,))
    # A thread of NumPy's BLAS that waits for work keeps a core busy, which another training has.
    with threadpool_limits(max(1, available_cores() // workers), user_api="blas"):
        try:
            yield beside
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def score(repeat: Repeat, predictions: Predictions) -> Score:
    """Return the score of predictions on the test people."""
    right = predictions[repeat.split.test] == repeat.setup.population.labels[repeat.split.test]
    return Score(float(np.mean(right)) if len(right) else None, right)


def devices_scores(
    repeat: Repeat, device_models: tuple[DeviceModel, DeviceModel | None] | None
) -> tuple[Score | None, Score | None]:
    """Return the scores of the test people's devices: from the published device model, and without reports."""
    people, test = repeat.setup.population, repeat.split.test
    if device_models is None or not len(test):
        return None, None
    records = records_of(people, test.tolist())
    published, alone = device_models
    return (
        _score_on_devices(repeat, published.scores(records, test)),
        None if alone is None else _score_on_devices(repeat, alone.scores(records, test)),
    )


def scores_with_friends(
    repeat: Repeat, device_models: tuple[DeviceModel, DeviceModel | None] | None
) -> tuple[Score | None, Score | None]:
    """Return the scores of the test people's devices whose friends tell, with the device model and without reports.

    A share of the people tell (``--friends-share``), but nobody whose label is in clear. With ``--friends-tell label``
    all but the test people know their label; the labels of test people are not read.
    """
    people, split, kind = repeat.setup.population, repeat.split, repeat.setup.options.friends_tell
    if device_models is None or kind == NOTHING or not len(split.test):
        return None, None
    everybody = records_of(people, range(len(people)))
    tells, knowing = _willing(repeat), np.ones(len(people), np.bool_)
    knowing[split.test] = False
    if repeat.setup.budget.volunteers or (repeat.knowledge.labels >= 0).any():
        tells[split.labelled] = False

    def of(model: DeviceModel) -> Score:
        return _score_on_devices(
            repeat, scores_with_told(model, everybody, split.test, tells, kind=kind, knowing=knowing)
        )

    published, alone = device_models
    return of(published), None if alone is None else of(alone)


def _willing(repeat: Repeat) -> BoolArray:
    """Return who tells, bool (n,): the first people of one order, so that a larger share has all of a smaller one."""
    seeds, n = repeat.seeds, len(repeat.setup.population)
    order = np.random.default_rng(_derived("friends who tell", seeds.population, seeds.split)).permutation(n)
    return np.asarray(order < round(repeat.setup.options.friends_share * n))


def _score_on_devices(repeat: Repeat, scores: IntArray) -> Score:
    """Return the score of the test people's classes by these scores, int64 (test people, classes)."""
    truth, test = repeat.setup.population.labels, repeat.split.test
    right = scores.argmax(axis=1) == truth[test]
    return Score(float(right.mean()), right, auc(scores, truth[test]) if is_skewed(truth) else None)


def own_features_score(repeat: Repeat, alone: DeviceModel | None) -> Score | None:
    """Return the score of the test people's devices without their lists, from the device model without reports.

    None where that has no model of features.
    """
    people, test = repeat.setup.population, repeat.split.test
    if alone is None or not alone.columns or not len(test):
        return None
    scores = alone.scores(records_of(people, test.tolist()), test, lists=False)
    right = scores.argmax(axis=1) == people.labels[test]
    return Score(float(right.mean()), right)


def references(kind: RunKind, repeat: Repeat, *, aloud: bool = True) -> References:
    """Train the references of a repeat, and return the scores with the method's settings and with their own.

    None where the run has no reference, or none is asked for. Settings of their own that differ need ``all_nulls``.

    Args:
        kind: The kind of run.
        repeat: The repeat.
        aloud: Whether the share that is done is told; not from a thread beside the run's own.
    """
    options = repeat.setup.options
    if not options.reference:
        return None, None
    if aloud:
        repeat.tell("reference", None)
    reference = kind.reference(repeat)
    if reference is None:
        return None, None
    wanted = (reference.settings, reference.own_settings)
    different = list(dict.fromkeys(wanted if options.all_nulls else wanted[:1]))
    scores: dict[TrainingSettings, Score] = {}
    for number, settings in enumerate(different):
        share_of = partial(_tell_share, repeat, number, len(different))
        with on_progress(share_of) if aloud else nullcontext():
            scores[settings] = score(repeat, reference.train(settings))
    return scores[wanted[0]], scores.get(wanted[1])


def _tell_share(repeat: Repeat, done: int, total: int, share: float) -> None:
    repeat.tell("reference", (done + share) / total)


def models_at_once(setup: Setup) -> int:
    """Return how many references and null models of a run train at a time, in threads of this process.

    Each uses one thread and has a random state of its own, so it gives the same bytes as alone. It is one where a
    training uses more threads or a GPU, where torch was limited to one thread, and where the training of another
    package, or a network of a person's own, may draw from torch's global state.
    """
    facts, method = setup.facts, setup.method
    foreign = method.spec.name not in BUILT_IN or setup.settings.training.gnn not in NETWORKS
    alone = method.spec.trained_by != "curator" or foreign
    if alone or choose_device(setup.options.device).type != "cpu":
        return 1
    return trainings_at_once(facts.n * facts.d)


@contextmanager
def _others(
    repeat: Repeat, attributes: Iterable[str], dropouts: frozenset[int], among: IntArray | None = None
) -> Iterator[Repeat]:
    """Enrol people with shuffled data; their devices are removed at the end, so their answers wait for no disk.

    A process that was killed may have left the folder: it is made again.
    """
    setup, seeds, number = repeat.setup, repeat.seeds, repeat.number
    seed = _derived("permutation", seeds.population, seeds.split, seeds.noise or 0, seeds.training)
    noise = None if seeds.noise is None else _derived("noise", seeds.noise)
    options = replace(setup.options, out=None, state=None, save_reports=False, caps={}, nulls=False)
    plan = replace(setup.plans[number], seeds=replace(seeds, noise=noise), dropouts=dropouts)
    altered = replace(
        setup,
        options=options,
        people=shuffled(setup.population, attributes, seed, among=among),
        plans=(*setup.plans[:number], plan, *setup.plans[number + 1 :]),
    )
    folder = repeat.place("nulls")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with closing(start_repeat(altered, number, folder, folder / "state", durable=False)) as other:
            yield other
            other.end_collection()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _derived(name: str, *seeds: int) -> int:
    """Return a seed for the shuffled people; each name has a stream of its own."""
    text = " ".join(map(str, ("ldpsim nulls", name, *seeds)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "little")
