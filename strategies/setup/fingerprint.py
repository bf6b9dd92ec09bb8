"""Fingerprint of a run: every parameter that can change its result, and the hash over them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ldpsim.curator.learning.networks import NETWORKS
from ldpsim.curator.learning.own_network import source_of
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.data.population import Population
from ldpsim.strategies.setup.option_spec import OptionSpec, declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.settings import Settings

SCHEMA = 2  # of result.json
# Of the hash: raised where equal options mean another run. The program's version has no part in it, so an upgrade finds
# the results of before.
FORMAT = 2


def config_hash(parameters: Mapping[str, Any]) -> str:
    """First 12 hex digits of the SHA-256 of every parameter that can change the result."""
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def ldpsim_version() -> str:
    """Return the installed version, ``0+checkout`` where it is not installed."""
    try:
        return version("ldpsim")
    except PackageNotFoundError:
        return "0+checkout"


def configuration(options: RunOptions) -> dict[str, Any]:
    """Return all options by name, those with their default included."""
    return {name: getattr(options, name) for name in declared(type(options))}


def hashed_options(options: RunOptions, wanted: Callable[[OptionSpec], bool]) -> dict[str, Any]:
    """Return the wanted options, in the form that goes into a hash.

    An option that came after :data:`FORMAT` is left out at its default: older hashes stay valid.
    """
    return {
        name: getattr(options, name)
        for name, spec in declared(type(options)).items()
        if wanted(spec) and not (spec.hashed == "unless default" and getattr(options, name) == spec.default)
    }


def added_at_default(values: Any) -> set[str]:
    """Return the fields of a dataclass that came after :data:`FORMAT`, by their mark, and have their default.

    A hash leaves them out: it stays that of the program before them.
    """
    added = (entry for entry in fields(values) if entry.metadata.get("hashed") == "unless default")
    return {entry.name for entry in added if getattr(values, entry.name) == entry.default}


def hashed_parameters(
    options: RunOptions, population: Population, settings: Settings, budget: Budget
) -> dict[str, Any]:
    """Return every parameter that can change the result (``config_hash`` is over this)."""
    chosen = hashed_options(options, lambda spec: spec.hashed in ("always", "unless default"))
    chosen["dataset"] = population.digest
    if options.split == "file" and population.own_split is not None:
        parts = population.own_split
        chosen["own_split"] = [hashlib.sha256(nodes.tobytes()).hexdigest() for nodes in (parts.train, parts.val)]
    if settings.training.gnn not in NETWORKS:
        chosen["network"] = source_of(settings.training.gnn)  # another class of this name is another run
    added = added_at_default(settings.method) | added_at_default(settings.training)
    return {
        **chosen,
        "budget": {name: value for name, value in vars(budget).items() if name not in added_at_default(budget)},
        "parameters": {name: value for name, value in settings.parameters().items() if name not in added},
        "seeds": options.seeds_of(0).to_dict(),
        "format": FORMAT,
    }
