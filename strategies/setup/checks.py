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
    """Check that options fit the method and the population.

    Raises:
        ValueError: one line, if they do not fit.
    """
    method = settings.method
    if options.from_reports is not None or options.save_reports:
        raise ValueError(f"--save-reports and --from-reports: {method.spec.name} is trained in rounds, not on reports")
    if options.collector_key is not None:
        raise ValueError(f"--collector-key {options.collector_key}: the messages of {method.spec.name} are not signed")
    if (engine := choose(options.engine, options.ray_address)) != "local":
        raise ValueError(f"--engine {engine}: {method.spec.name} trains in this process (--engine local)")
    network = "mlp" if method.spec.default_gnn == "mlp" else "gcn"
    if options.gnn is not None and settings.training.gnn != network:
        raise ValueError(f"--gnn {options.gnn}: {method.spec.name} trains a {network}")
    if options.public_features or options.private_labels:
        raise ValueError(
            f"--public-features and --private-labels: the features and labels of {method.spec.name} stay on the device"
        )
    if not len(split.train):
        raise ValueError(f"{population.name}: nobody is left to train")
    cast(Federated, method).check_people(len(population))


def check_owner_run(options: RunOptions, settings: Settings, population: Population, division: Division) -> None:
    """Check that the options of an owner's run fit, before anything is written.

    Raises:
        ValueError: for options that do not fit the method or the population.
    """
    method = cast(OwnerMethod, settings.method)
    if options.from_reports is not None or options.save_reports:
        raise ValueError(f"--save-reports and --from-reports: {options.method} has raw records, not reports")
    if options.split != "random" or options.label_rate is not None:
        raise ValueError(f"--split and --label-rate: {options.method} divides people by its own rule")
    sage_settings(settings.training)
    method.check(people=len(division.private), asked=len(division.asked), classes=population.facts.classes)


def check_graph_owner_run(options: RunOptions, settings: Settings) -> None:
    """Check that the options of a run of an owner with the whole graph fit, before anything is written.

    Raises:
        ValueError: for options that do not fit the method.
    """
    if settings.training.gnn_dropout:
        raise SettingError(f"gnn_dropout={settings.training.gnn_dropout:g}", f"{options.method} has no dropout")
    if choose_device(options.device).type == "cuda" and options.device == "cuda":
        raise ValueError(f"--device cuda: {options.method} trains on a CPU only")
