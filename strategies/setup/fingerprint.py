"""Fingerprint of a run: every parameter that can change its result, and the hash over them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from curator.methods.base import Budget
from devices.data.population import Population
from devices.noise import SAMPLER_VERSION
from strategies.setup.options import RunOptions
from strategies.setup.settings import Settings

SCHEMA = 1  # of result.json

# What changes where a run happens or what is kept of it, and what is hashed in the form that is in force.
_NOT_HASHED = {"data_dir", "seed", "seeds", "engine", "workers", "ray_address", "state", "out", "save_reports",
               "from_reports", "reference", "settings", "tuned", "clients", "epsilon", "eps_adjacency", "eps_features",
               "eps_labels", "feature_share", "public_features", "private_labels", "reporting", "gnn"}  # fmt: skip


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
    """Return the options as plain values, those left out included."""
    return {f.name: getattr(options, f.name) for f in fields(options)}


def hashed_parameters(
    options: RunOptions, population: Population, settings: Settings, budget: Budget
) -> dict[str, Any]:
    """Return every parameter that can change the result (``config_hash`` is over this)."""
    chosen = {name: value for name, value in configuration(options).items() if name not in _NOT_HASHED}
    chosen["dataset"] = population.digest
    if options.split == "file" and population.own_split is not None:
        parts = population.own_split
        chosen["own_split"] = [hashlib.sha256(nodes.tobytes()).hexdigest() for nodes in (parts.train, parts.val)]
    return {
        **chosen,
        "budget": asdict(budget),
        "parameters": settings.parameters(),
        "seeds": options.seeds_of(0).to_dict(),
        "sampler": SAMPLER_VERSION,
        "ldpsim": ldpsim_version(),
        "schema": SCHEMA,
    }
