"""Null models of a repeat: predictions with less than the run had.

``chance``, ``graph_alone`` and ``features_alone`` read the curator's knowledge
(:mod:`curator.nulls`). ``shuffled_ATTRIBUTE`` is the run's own work on the private data of other
people: the same question, noise level, split and training seed. Devices that are enrolled for it
live in a folder of their own, which is removed afterwards. Nobody of the run is asked.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from devices.enrolment.placement import PlacedState
from devices.facts import IntArray
from strategies.engines.collect import collect
from strategies.people.shuffled import shuffled
from strategies.progress import quiet
from strategies.results.outcome import Outcome, Predictions
from strategies.results.shown_nulls import CHANCE, SHUFFLED
from strategies.runs.kept_nulls import kept_predictions
from strategies.runs.run import RepeatContext
from strategies.runs.set_up import run_of, set_scene


def null_models(scene: RepeatContext, outcome: Outcome, shared: Path | None) -> Iterator[tuple[str, Predictions]]:
    """Yield name and predictions of each null model that fits the run.

    Args:
        scene: The repeat, after its work.
        outcome: Outcome of its work.
        shared: Folder in which several runs share predictions; None for a single run.
    """
    run, known, links = run_of(scene.setup.method, scene.setup.options.task), outcome.known, scene.links
    if known is not None:
        settings: tuple[Any, ...] = (scene.seeds.training, scene.setup.options.device)
        if links is not None:
            settings = (*settings, links.digest)
        for name, predict in run.null_models(scene, known):
            found = predict() if name == CHANCE else kept_predictions(shared, known, (name, *settings), predict)
            if found is not None:
                yield name, found
    if scene.state is not None:
        others = partial(_others, scene, run.people_to_shuffle(scene))
        yield from run.halves(scene, others)
        for attribute, found in run.shuffled(scene, outcome, others):
            yield SHUFFLED + attribute, found


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
    options = replace(setup.options, out=None, state=None, save_reports=False, caps={}, nulls=False,
                      engine="auto" if setup.options.engine == "flower" else setup.options.engine)  # fmt: skip
    if isinstance(scene.state, PlacedState):  # these people live for a moment: no other machine keeps them
        options = replace(options, engine="local", ray_address=None)
    repeat = replace(setup.repeats[scene.number], seeds=replace(seeds, noise=noise), silent=silent)
    altered = replace(
        setup,
        options=options,
        population=shuffled(setup.population, attributes, seed, among=among),
        repeats=(*setup.repeats[: scene.number], repeat, *setup.repeats[scene.number + 1 :]),
        collect=partial(collect, engine=options.engine, workers=options.workers, ray_address=options.ray_address),
    )
    folder = scene.place("nulls")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        other = set_scene(altered, scene.number, folder, folder / "state", quiet)
        yield other
        other.end_collection()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _derived(name: str, *seeds: int) -> int:
    """Return a seed for the shuffled people; each name has a stream of its own."""
    text = " ".join(map(str, ("ldpsim nulls", name, *seeds)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "little")
