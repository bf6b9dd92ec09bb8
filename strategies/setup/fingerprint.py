"""Fingerprint of a run: every parameter that can change its result, and the hash over them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
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
_HASHED_FORM = 1  # of the hashed parameters; another number would give every run another hash
# Parameters that have left; the hashes of stored results stay.
_LEFT = {
    "ldpgcn": {"pairs": "mean"}, "privgnn": {"basis": "given"}, "sbp": {"sources": "train", "answer": "pool"},
}  # fmt: skip


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

    An option that a later version brought is left out at its default: older hashes stay valid.
    """
    return {
        name: getattr(options, name)
        for name, spec in declared(type(options)).items()
        if wanted(spec) and not (spec.hashed == "unless default" and getattr(options, name) == spec.default)
    }


def hashed_budget(budget: Budget) -> dict[str, Any]:
    """Return the budget in the form that goes into a hash: as stored hashes have it, and new fields that differ."""
    values = asdict(budget)
    late = (entry for entry in fields(budget) if entry.metadata.get("hashed") != "always")
    for entry in late:
        if values[entry.name] == entry.default:
            del values[entry.name]
    return values


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
    return {
        **chosen,
        "budget": hashed_budget(budget),
        "parameters": settings.parameters() | _LEFT.get(options.method, {}),
        "seeds": options.seeds_of(0).to_dict(),
        "sampler": 1,  # an option that has left; the hashes of stored results stay
        "ldpsim": ldpsim_version(),
        "schema": _HASHED_FORM,
    }
