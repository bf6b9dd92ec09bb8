"""Null models and references of a repeat: predictions with less than the run had, and with more.

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
from ldpsim.curator.linear.processor import trainings_at_once
from ldpsim.curator.methods import BUILT_IN
from ldpsim.curator.steps import on_progress
from ldpsim.devices.data.population import records_of
from ldpsim.devices.facts import IntArray
from ldpsim.devices.prediction import Bundle
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.pool import available_cores
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.progress import quiet
from ldpsim.strategies.results.evaluation import auc, is_skewed
from ldpsim.strategies.results.outcome import Outcome, Predictions, Score
from ldpsim.strategies.runs.prepare import run_of, set_scene
from ldpsim.strategies.runs.run import Predict, RepeatContext, Run
from ldpsim.strategies.setup.run_setup import Setup

Start = Callable[[Callable[[], Any]], Callable[[], Any]]  # starts work, and returns what waits for its result


def null_models(scene: RepeatContext, outcome: Outcome) -> Iterator[tuple[str, Predict]]:
    """Yield the name of each null model that fits the run, and what returns its predictions (None: it does not fit).

    Args:
        scene: The repeat, after its work; without devices, those that ask nobody else.
        outcome: Outcome of its work.
    """
    run = run_of(scene.setup.method)
    yield from run.null_models(scene, outcome, partial(_others, scene, run.people_to_shuffle(scene)))


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


def score(scene: RepeatContext, predictions: Predictions) -> Score:
    """Return the score of predictions on the test people."""
    right = predictions[scene.split.test] == scene.setup.population.labels[scene.split.test]
    return Score(float(np.mean(right)) if len(right) else None, right)


def devices_scores(
    scene: RepeatContext, bundles: tuple[Bundle, Bundle | None] | None
) -> tuple[Score | None, Score | None]:
    """Return the scores of the test people's devices: from the published bundle, and from one that needs no report."""
    people, test = scene.setup.population, scene.split.test
    if bundles is None or not len(test):
        return None, None
    records = records_of(people, test.tolist())

    def of(bundle: Bundle | None) -> Score | None:
        if bundle is None:
            return None
        scores = bundle.scores(records, test)
        right, truth = scores.argmax(axis=1) == people.labels[test], people.labels
        return Score(float(right.mean()), right, auc(scores, truth[test]) if is_skewed(truth) else None)

    return of(bundles[0]), of(bundles[1])


def own_features_score(scene: RepeatContext, alone: Bundle | None) -> Score | None:
    """Return the score of the test people's devices without their lists, from the bundle that needs no report.

    None where that has no model of features.
    """
    people, test = scene.setup.population, scene.split.test
    if alone is None or not alone.columns or not len(test):
        return None
    scores = alone.scores(records_of(people, test.tolist()), test, lists=False)
    right = scores.argmax(axis=1) == people.labels[test]
    return Score(float(right.mean()), right)


def references(run: Run, scene: RepeatContext, *, aloud: bool = True) -> tuple[Score | None, Score | None]:
    """Train the references of a repeat, and return the scores with the method's settings and with their own.

    None where the run has no reference, or none is asked for. Settings of their own that differ need ``all_nulls``.

    Args:
        run: The kind of run.
        scene: The repeat.
        aloud: Whether the share that is done is told; not from a thread beside the run's own.
    """
    options = scene.setup.options
    if not options.reference:
        return None, None
    if aloud:
        scene.tell("reference", None)
    wanted = run.reference_settings(scene.setup)
    different = list(dict.fromkeys(wanted if options.all_nulls else wanted[:1]))
    scores: dict[TrainingSettings, Score | None] = {}
    for number, settings in enumerate(different):
        share_of = partial(_tell_share, scene, number, len(different))
        with on_progress(share_of) if aloud else nullcontext():
            made = run.reference(scene, settings)
        scores[settings] = None if made is None else score(scene, made)
    return scores[wanted[0]], scores.get(wanted[1])


def _tell_share(scene: RepeatContext, done: int, total: int, share: float) -> None:
    scene.tell("reference", (done + share) / total)


def models_at_once(setup: Setup) -> int:
    """Return how many references and null models of a run train at a time, in threads of this process.

    Each uses one thread and has a random state of its own, so it gives the same bytes as alone. It is one where a
    training uses more threads or a GPU, where torch was limited to one thread, and where the training of another
    package, or a network of a person's own, may draw from torch's global state.
    """
    facts, method = setup.population.facts, setup.method
    foreign = method.spec.name not in BUILT_IN or setup.settings.training.gnn not in NETWORKS
    alone = method.spec.trained_by != "curator" or foreign
    if alone or choose_device(setup.options.device).type != "cpu":
        return 1
    return trainings_at_once(facts.n * facts.d)


@contextmanager
def _others(
    scene: RepeatContext, among: IntArray | None, attributes: Iterable[str], silent: frozenset[int]
) -> Iterator[RepeatContext]:
    """Enrol people with shuffled data; their devices are removed at the end.

    A process that was killed may have left the folder: it is made again.
    """
    setup, seeds = scene.setup, scene.seeds
    seed = _derived("permutation", seeds.population, seeds.split, seeds.noise or 0, seeds.training)
    noise = None if seeds.noise is None else _derived("noise", seeds.noise)
    options = replace(setup.options, out=None, state=None, save_reports=False, caps={}, nulls=False)
    repeat = replace(setup.plans[scene.number], seeds=replace(seeds, noise=noise), silent=silent)
    altered = replace(
        setup,
        options=options,
        population=shuffled(setup.population, attributes, seed, among=among),
        plans=(*setup.plans[: scene.number], repeat, *setup.plans[scene.number + 1 :]),
        collect=partial(collect, engine=options.engine, workers=options.workers, ray_address=options.ray_address),
    )
    folder = scene.place("nulls")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with closing(set_scene(altered, scene.number, folder, folder / "state", quiet)) as other:
            yield other
            other.end_collection()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _derived(name: str, *seeds: int) -> int:
    """Return a seed for the shuffled people; each name has a stream of its own."""
    text = " ".join(map(str, ("ldpsim nulls", name, *seeds)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "little")
