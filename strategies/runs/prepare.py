"""Set-up of a run, and of each repeat: checks first, then devices and their collection."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from ldpsim.curator.learning.training import choose_device
from ldpsim.curator.methods import Method
from ldpsim.devices.curator_key import CuratorKey
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol, is_enrolled
from ldpsim.devices.facts import Split
from ldpsim.devices.policy.policy import Policy
from ldpsim.strategies.engines.collect import collect as collect_on_engine
from ldpsim.strategies.estimate.fits import check_fits
from ldpsim.strategies.estimate.graph_facts import known_before, measured
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.runs.run import RepeatContext, Run
from ldpsim.strategies.setup.fingerprint import config_hash, hashed_parameters
from ldpsim.strategies.setup.options import RunOptions, Seeds
from ldpsim.strategies.setup.read_options import check_read
from ldpsim.strategies.setup.run_setup import (
    Collect,
    Plan,
    Setup,
    check_folders,
    check_people,
    load_population,
    parameters_of,
    silent_devices,
)
from ldpsim.strategies.setup.settings import check_gnn, divided

_ANY = "any"  # stands for a collection's id
# Module and class of each kind of run, by the method's ``trained_by``; only the kind that a run needs is imported.
_KINDS = {
    "owner": ("owner", "OwnerRun"), "graph owner": ("graph_owner", "GraphOwnerRun"), "silos": ("in_rounds", "SiloRun"),
    "alone": ("in_rounds", "IsolatedRun"), "devices": ("in_rounds", "FederatedRun"),
    "curator": ("one_report", "OneReportRun"),
}  # fmt: skip


def run_of(method: Method) -> Run:
    """Return the kind of run that a method needs; ValueError for a method that names another trainer."""
    kind = method.spec.trained_by
    if kind not in _KINDS:
        raise ValueError(f"{method.spec.name}: trained_by={kind!r} is none of {', '.join(_KINDS)}")
    module, name = _KINDS[kind]
    run: Run = getattr(import_module(f"ldpsim.strategies.runs.{module}"), name)()
    return run


def prepare(
    options: RunOptions, collect: Collect | None = None, *, population: Population | None = None,
    divide: Callable[[Run, Seeds], Split] | None = None,
) -> Setup:  # fmt: skip
    """Check a run, load its population unless it is given, and make its set-up; nothing is written.

    Args:
        options: The run.
        collect: Sends the questions to the devices; None for the engine of the options.
        population: Its people, if they are loaded already.
        divide: Divides them in a repeat; None for the division of the options.

    Raises:
        ValueError: one line, for options that do not fit, or folders and data that cannot be used.
    """
    settings, budget = parameters_of(options)
    check_read(options, settings.method)
    curator_key = None if options.collector_key is None else CuratorKey.load(options.collector_key)
    if population is None:
        check_fits(options, parameters=(settings, budget))
        population = load_population(options)
        if known_before(options) is None:
            check_fits(options, measured(population), (settings, budget))
    choose_device(options.device)
    check_gnn(settings, population.facts)
    run = run_of(settings.method)
    plans = tuple(
        Plan(
            seeds, divide(run, seeds) if divide else run.divide(options, population, seeds),
            silent_devices(options, seeds, len(population)),
        )
        for seeds in (options.seeds_of(number) for number in range(options.repeats))
    )  # fmt: skip
    settings, budget = divided(options, settings, budget, population.facts, len(plans[0].split.train))
    setup = Setup(
        options,
        population,
        budget,
        settings,
        digest=config_hash(hashed_parameters(options, population, settings, budget)),
        collect=collect
        or partial(collect_on_engine, engine=options.engine, workers=options.workers, ray_address=options.ray_address),
        plans=plans,
        curator_key=curator_key,
    )
    run.check(setup)
    plans = tuple(replace(plan, questions=run.questions(setup, plan.split, _ANY)) for plan in plans)
    check_folders(options, population)
    return replace(setup, plans=plans)


def set_scene(setup: Setup, number: int, folder: Path, home: Path, tell: Progress) -> RepeatContext:
    """Enrol the devices of a repeat, unless they are enrolled, and open their collection.

    An interrupted collection is opened again: devices that answered repeat the stored bytes, or
    continue in rounds.

    Args:
        setup: The run.
        number: The repeat, from 0.
        folder: The run's folder.
        home: Folder of the devices; created if it is missing.
        tell: Called with a phase and the share of it that is done.

    Raises:
        ValueError: for devices with the data of another population, or a folder that cannot be written.
    """
    collection = fresh = uuid.uuid4().hex
    plan = setup.plans[number]
    policy = run_of(setup.method).policy(setup, plan.questions)
    state = None
    if policy is not None:
        state = _devices(setup, number, home, policy)
        collection = state.open_collection(setup.digest, fresh)
    questions = tuple(question.in_collection(collection) for question in plan.questions)
    return RepeatContext(setup, number, folder, home, state, collection, collection != fresh, questions, tell)


@contextmanager
def temporary_scene(setup: Setup, number: int) -> Iterator[RepeatContext]:
    """Offer a repeat on devices that are enrolled for it in a temporary folder, which is removed at the end."""
    with (
        tempfile.TemporaryDirectory(prefix="ldpsim-") as folder,
        closing(set_scene(setup, number, Path(folder), Path(folder) / "state", quiet)) as scene,
    ):
        yield scene
        scene.end_collection()


def _devices(setup: Setup, number: int, home: Path, policy: Policy) -> State:
    if is_enrolled(home):
        state = State(home)
        check_people(state, setup.population, str(home))
        return state
    try:
        if policy.mode == "owner":
            # The folder will hold raw records: only its owner may read it.
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
        seed = setup.plans[number].seeds.noise
        return enrol(home, setup.population, policy, seed=seed)
    except OSError as error:
        raise ValueError(f"{home} cannot be written: {error.strerror}") from None
