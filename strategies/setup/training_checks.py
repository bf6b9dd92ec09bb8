"""Checks that people, network and options fit whoever trains, before anything is written."""

from __future__ import annotations

from typing import cast

from ldpsim.curator.learning.networks import NETWORKS
from ldpsim.curator.learning.own_network import check_network
from ldpsim.curator.learning.training import choose_device
from ldpsim.curator.methods.owner.owner import OwnerMethod, sage_settings
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.strategies.engines.collect import choose
from ldpsim.strategies.people.division import Division
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.settings import Settings


def check_gnn(settings: Settings, facts: PublicFacts) -> None:
    """Check that the method and its network fit the people (ValueError)."""
    training, spec = settings.training, settings.method.effective_spec()
    settings.method.check_people(facts)
    if spec.networks and training.gnn not in spec.networks:
        raise ValueError(f"--gnn {training.gnn}: {spec.name} trains {', '.join(spec.networks)} alone, as it is set")
    if training.gnn not in NETWORKS:
        check_network(training.gnn, people=facts.n, features=facts.d, hidden=training.hidden, classes=facts.classes)


def check_trainer(options: RunOptions, settings: Settings, population: Population, split: Split) -> None:
    """Check that options and people fit whoever trains; ValueError of one line.

    Args:
        options: The run.
        settings: Its method and training.
        population: Its people.
        split: Their division in the first repeat.
    """
    spec = settings.method.spec
    if spec.in_rounds:
        _check_rounds(options, population, split)
    elif isinstance(split, Division):
        _check_owner(settings, population, split)
    elif spec.trained_by == "graph owner":
        _check_graph_owner(options, settings)


def _check_rounds(options: RunOptions, population: Population, split: Split) -> None:
    if (engine := choose(options.engine, options.ray_address)) != "local":
        raise ValueError(f"--engine {engine}: {options.method} trains in this process (--engine local)")
    if not len(split.train):
        raise ValueError(f"{population.name}: nobody is left to train")


def _check_owner(settings: Settings, population: Population, division: Division) -> None:
    sage_settings(settings.training)
    method = cast(OwnerMethod, settings.method)
    method.check(people=len(division.private), candidates=len(division.candidates), classes=population.facts.classes)


def _check_graph_owner(options: RunOptions, settings: Settings) -> None:
    if settings.training.gnn_dropout:
        raise SettingError(f"gnn_dropout={settings.training.gnn_dropout:g}", f"{options.method} has no dropout")
    if choose_device(options.device).type == "cuda" and options.device == "cuda":
        raise ValueError(f"--device cuda: {options.method} trains on a CPU only")
