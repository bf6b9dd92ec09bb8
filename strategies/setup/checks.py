"""Checks of federated runs and of an owner's runs, made before anything is written."""

from __future__ import annotations

from typing import cast

from ldpsim.curator.learning.training import choose_device
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.curator.methods.owner.owner import OwnerMethod, sage_settings
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import Split
from ldpsim.strategies.engines.collect import choose
from ldpsim.strategies.people.private_and_public import Division
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.settings import Settings


def check_federated_run(options: RunOptions, settings: Settings, population: Population, split: Split) -> None:
    """Check that options fit the method and the population (ValueError)."""
    if (engine := choose(options.engine, options.ray_address)) != "local":
        raise ValueError(f"--engine {engine}: {options.method} trains in this process (--engine local)")
    if not len(split.train):
        raise ValueError(f"{population.name}: nobody is left to train")
    cast(Federated, settings.method).check_people(len(population))


def check_owner_run(settings: Settings, population: Population, division: Division) -> None:
    """Check that the options of an owner's run fit the method and the population (ValueError)."""
    sage_settings(settings.training)
    method = cast(OwnerMethod, settings.method)
    method.check(people=len(division.private), asked=len(division.asked), classes=population.facts.classes)


def check_graph_owner_run(options: RunOptions, settings: Settings) -> None:
    """Check that the options of a run of an owner with the whole graph fit the method (ValueError)."""
    if settings.training.gnn_dropout:
        raise SettingError(f"gnn_dropout={settings.training.gnn_dropout:g}", f"{options.method} has no dropout")
    if choose_device(options.device).type == "cuda" and options.device == "cuda":
        raise ValueError(f"--device cuda: {options.method} trains on a CPU only")
