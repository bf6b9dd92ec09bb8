"""Name, parameters and tags of a run for the trackers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ldpsim.strategies.results.folder import name_of, name_of_data
from ldpsim.strategies.results.verdict import shown_verdict
from ldpsim.strategies.setup.fingerprint import ldpsim_version
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import Setup
from ldpsim.strategies.tracking.clients import Texts


def texts_of(setup: Setup) -> tuple[str, Texts, Texts]:
    """Return name, options and tags of a run, before anybody is asked.

    Personal options (folders, files, addresses, engine) are left out. A data set is named, without its path.
    """
    options, people = setup.options, setup.population
    data = name_of_data(people.name)
    values = {name: getattr(options, name) for name, spec in declared(RunOptions).items() if not spec.local}
    values |= {"dataset": data, "nodes": len(people), "parameters": setup.settings.parameters(),
               "budget": asdict(setup.budget)}  # fmt: skip
    tags = {"ldpsim_version": ldpsim_version(), "method": options.method, "dataset": data,
            "trust": setup.method.spec.trust, "config_hash": setup.digest}  # fmt: skip
    name = name_of(method=options.method, dataset=people.name, digest=setup.digest, seed=options.seed)
    return name, dotted(values), tags


def tags_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the verdict's text, the status of each level of privacy, and the digest of the reports."""
    verdict = shown_verdict(record)
    return {
        **({} if verdict is None else {"verdict": verdict["text"], "standing": verdict["standing"]}),
        **{f"holds.{level}": entry["status"] for level, entry in record["privacy"]["holds"].items()},
        "reports_sha256": record["devices"]["reports_sha256"],
    }


def without_places(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return result.json's content without the folders, files and addresses of the person who ran it."""
    config = {**record["config"], "dataset": name_of_data(record["config"]["dataset"])}
    config |= {name: None for name, spec in declared(RunOptions).items() if spec.is_path and name in config}
    return {**record, "config": config, "dataset": {**record["dataset"], "name": config["dataset"]}}


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the entries of nested mappings as text, by dotted name.

    >>> dotted({"seed": 0, "settings": {"lr": 0.1}})
    {'seed': '0', 'settings.lr': '0.1'}
    """
    flat: dict[str, str] = {}
    for name, value in values.items():
        flat |= dotted(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": str(value)}
    return flat
