"""Preparation of a run, once: what is checked and made before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ldpsim.curator.learning.training import choose_device
from ldpsim.curator.methods import Method
from ldpsim.devices.curator_key import CuratorKey
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.facts import Split
from ldpsim.strategies.estimate.fits import check_fits
from ldpsim.strategies.estimate.graph_facts import facts_of_people, facts_without_people
from ldpsim.strategies.people.division import divide as divide_for_owner
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.setup.feature_share import divided
from ldpsim.strategies.setup.fingerprint import config_hash, hashed_parameters
from ldpsim.strategies.setup.options import RunOptions, Seeds
from ldpsim.strategies.setup.read_options import check_read
from ldpsim.strategies.setup.run_setup import (
    RepeatPlan,
    Setup,
    check_folders,
    drawn_dropouts,
    load_population,
    parameters_of,
)
from ldpsim.strategies.setup.training_checks import check_gnn, check_trainer


def prepare(
    options: RunOptions, *, population: Population | None = None, divide: Callable[[Seeds], Split] | None = None
) -> Setup:
    """Check a run, load its population unless it is given, and make its set-up; nothing is written.

    Args:
        options: The run.
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
        if facts_without_people(options) is None:
            check_fits(options, facts_of_people(population), (settings, budget))
    choose_device(options.device)
    check_gnn(settings, population.facts)
    kind = kind_of(settings.method)
    plans = []
    for seeds in map(options.seeds_of, range(options.repeats)):
        split = divide(seeds) if divide else divide_people(settings.method, options, population, seeds)
        plans.append(RepeatPlan(seeds, split, drawn_dropouts(options, seeds, len(population))))
    settings, budget = divided(options, settings, budget, population.facts, len(plans[0].split.train))
    check_trainer(options, settings, population, plans[0].split)
    digest = config_hash(hashed_parameters(options, population, settings, budget))
    setup = Setup(options, population, budget, settings, digest, tuple(plans), curator_key)
    setup = replace(setup, plans=tuple(kind.plan(setup, plan) for plan in plans))
    check_folders(options, population)
    return setup


def divide_people(method: Method, options: RunOptions, population: Population, seeds: Seeds) -> Split:
    """Return the training, validation and test people of a repeat; an owner's private and public ones."""
    if method.spec.trained_by == "owner":
        return divide_for_owner(population, seeds.split)
    volunteers = None if method.spec.trained_by == "graph owner" else options.volunteers
    return make_split(options.split, population, seeds.split, options.label_rate, volunteers)
