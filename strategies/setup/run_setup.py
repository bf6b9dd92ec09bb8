"""Options that were all found to make sense, before anything is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from curator.learning.training import choose_device
from curator.methods import Reference, find
from curator.methods.base import Budget
from curator.methods.federated.fedavg import Federated
from curator.methods.owner.owner import OwnerMethod
from curator.reports.reports import Reports
from devices import datasets
from devices.data.population import Population
from devices.data.splits import make_split
from devices.enrolment.state import State, foreign_file, is_enrolled
from strategies.engines import collect as engines
from strategies.rounds.collect_once import Collected
from strategies.setup.checks import check_federated_run, check_owner_run
from strategies.setup.fingerprint import config_hash, hashed_parameters
from strategies.setup.options import RunOptions
from strategies.setup.settings import Settings, resolve

Collect = Callable[..., Collected]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a run will do.

    Args:
        options: As given.
        population: Whose data they are.
        budget: What may be spent.
        settings: The method and how its network is trained.
        digest: ``config_hash`` of all that can change the result.
        collect: Takes the questions to the devices.
    """

    options: RunOptions
    population: Population
    budget: Budget
    settings: Settings
    digest: str
    collect: Collect


def plan_run(options: RunOptions, collect: Collect | None = None, *, population: Population | None = None) -> Plan:
    """Check a run and load its population, where it is not given; nothing is written.

    Raises:
        ValueError: one line, for whatever does not fit or cannot be used.
    """
    method = find(options.method)
    population = population or load_population(options)
    budget = _budget(options, public_features=options.public_features or method.public_features)
    choose_device(options.device)
    settings = resolve(options, method, budget)
    if settings.feature_share is not None:
        budget = replace(budget, feature_share=settings.feature_share)
    split = make_split(options.split, population, options.seeds_of(0).split, options.label_rate)
    digest = config_hash(hashed_parameters(options, population, settings, budget))
    if isinstance(settings.method, OwnerMethod):
        check_owner_run(options, settings, population)
    elif isinstance(settings.method, Federated):
        check_federated_run(options, settings, population, split)
    elif options.from_reports is not None:
        reports = Reports.load(options.from_reports)
        if reports.facts != population.facts:
            raise ValueError(f"--from-reports {options.from_reports}: these reports are of another population")
    elif not isinstance(settings.method, Reference):
        settings.method.questions(population.facts, split, budget, "check")
    for option, folder in (("--out", options.out), ("--state", options.state)):
        if folder is not None:
            _check_writable(option, folder)
    if options.state is not None and is_enrolled(options.state):
        enrolled = State(options.state).head["population_digest"]
        if enrolled != population.digest:
            raise ValueError(f"--state {options.state}: the devices there hold the data of another population")
    elif options.state is not None and options.state.is_dir() and any(options.state.iterdir()):
        _check_enrollable(options.state)
    collect = collect or partial(
        engines.collect, engine=options.engine, workers=options.workers, ray_address=options.ray_address
    )
    return Plan(options, population, budget, settings, digest, collect)


def load_population(options: RunOptions) -> Population:
    """Return the people of a run.

    Raises:
        ValueError: one line, for data that are unknown, missing or damaged.
    """
    return datasets.load(
        options.dataset, data_dir=options.data_dir, clients=options.clients, seed=options.seeds_of(0).population
    )


def _budget(options: RunOptions, *, public_features: bool) -> Budget:
    given = {
        "epsilon": options.epsilon,
        "feature_share": options.feature_share,
    }
    return Budget(
        **{name: value for name, value in given.items() if value is not None},
        eps_adjacency=options.eps_adjacency,
        eps_features=options.eps_features,
        eps_labels=options.eps_labels,
        public_features=public_features,
        private_labels=options.private_labels,
        reporting="one-end" if options.reporting == "one-end" else "both",
    )


def _check_writable(option: str, folder: Path) -> None:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(f"{option} {folder}: cannot be written ({existing} is no writable folder)")


def _check_enrollable(folder: Path) -> None:
    found = foreign_file(folder)
    if found is not None:
        raise ValueError(f"--state {folder}: not empty and holds no enrolled devices (found {found})")
