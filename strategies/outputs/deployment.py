"""``deployment.toml`` of a result: a configuration for ``flwr run``, so that a deployment asks what was measured.

It is written where the Flower app can ask the same question: one private report a device, and no public features or
edges, which the file of public facts does not hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from ldpsim.curator.methods.spec import SIMULATED_ONLY
from ldpsim.curator.privacy.levels import level_term
from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies.results.levels_of_results import held, loss_in_column
from ldpsim.strategies.results.numbers import percent
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import SETTING, RunOptions
from ldpsim.strategies.setup.read_options import read_alone
from ldpsim.strategies.setup.run_setup import Setup

DEPLOYMENT = "deployment.toml"
_BY_FACTS = ("private_labels", "label_rate", "volunteers")  # the public labels or volunteers in the facts say so
_CARRIED = {"settings", *_BY_FACTS, *(spec.name for spec in declared(RunOptions).values() if spec.flower)}
_LEVELS = ("relationship", "user")
_UNSTATED = {entry.name: entry.default for entry in fields(PublicFacts)}  # what a file of public facts may leave out


def given_settings(options: RunOptions) -> dict[str, Any]:
    """Return the options that make the setting, without those at their default."""
    specs = declared(RunOptions)
    return {name: value for name in specs if name in SETTING | {"settings"}
            and (value := getattr(options, name)) != specs[name].default}  # fmt: skip


def as_config(options: RunOptions, names: Iterable[str]) -> dict[str, Any]:
    """Return these options of a run in the form of a configuration.

    >>> as_config(RunOptions(epsilon=4.0, settings={"tau": "0.7", "l": "1"}), ("epsilon", "settings"))
    {'epsilon': 4.0, 'settings': 'tau=0.7,l=1'}
    """
    config = {}
    for name in names:
        spec, value = declared(RunOptions)[name], getattr(options, name)
        if spec.is_table:
            value = ",".join(f"{key}={entry}" for key, entry in value.items())
        config[spec.key] = str(value) if len(spec.types) > 1 else value
    return config


def undeployable(setup: Setup) -> str:
    """Return why the Flower app cannot ask the question of a run, in words; empty if it can."""
    spec, specs = setup.method.effective_spec(), declared(RunOptions)
    if spec.trained_by != "curator" or spec.reads:
        return f"{spec.name} does not ask devices for one private report"
    if spec.trusted in SIMULATED_ONLY:
        return f"{spec.name} trusts a {spec.trusted}, which is simulated only"
    if spec.public_graph or spec.public_features:
        return f"the {'edges' if spec.public_graph else 'features'} of {spec.name} are public"
    if setup.options.volunteers is not None and not spec.asks_volunteers:
        return f"{spec.name} does not ask volunteers"
    given = given_settings(setup.options)
    lost = [specs[name].words(value) for name, value in given.items() if name not in _CARRIED]
    return f"a configuration has no key for {' and '.join(lost)}" if lost else ""


def deployment(setup: Setup, record: Mapping[str, Any]) -> str | None:
    """Return the text of ``deployment.toml``: public facts, method, budget and settings of a finished run.

    Args:
        setup: The run.
        record: Its result.

    Returns:
        None for a run that :func:`undeployable` names a reason for.
    """
    import tomli_w

    if undeployable(setup):
        return None
    options, facts = _in_force(setup), setup.population.facts
    names = [name for name in given_settings(options) if name not in _BY_FACTS]
    values: dict[str, Any] = {"method": options.method, "facts": "facts.json", **as_config(options, names)}
    named = {entry.name: getattr(facts, entry.name) for entry in fields(facts)}
    public = json.dumps({"facts": {name: named[name] for name in named if named[name] != _UNSTATED.get(name)}})
    losses = ((level_term(level), held(record["privacy"]["holds"], level)) for level in _LEVELS)
    holds = ", ".join(f"{term} {loss_in_column(entry)}" for term, entry in losses)
    lines = [
        f"# {options.method}, measured on {facts.n:,} people of {setup.population.name}: "
        f"{percent(record['accuracy']['test'])} accurate; the epsilon that holds: {holds}.",
        "# ldpsim curator sign deployment.toml --curator-key KEY > run.toml   (docs/deployment.md has all steps)",
        "# flwr run APP SUPERLINK --run-config run.toml",
        f"# facts.json: {public}, with {_labels(options)}",
    ]
    return "\n".join(lines) + "\n" + tomli_w.dumps(values)


def _in_force(setup: Setup) -> RunOptions:
    """Return the options with the budget, the share and the stored settings that the run used."""
    options, provenance = setup.options, setup.settings.provenance
    stored = {name: str(setup.settings.all_parameters()[name]) for name in provenance if name != "feature_share"}
    options = replace(options, settings={**stored, **options.settings})
    if "feature_share" in provenance:
        options = replace(options, feature_share=setup.budget.feature_share)
    whole = replace(options, epsilon=setup.budget.epsilon)
    return options if "epsilon" in read_alone(whole)[1] else whole


def _labels(options: RunOptions) -> str:
    """Return what stands beside the facts."""
    if options.volunteers is not None:
        others = ', and of the "labelled", who are other people that know their label' if options.private_labels else ""
        return f'the numbers of the "volunteers", {options.volunteers:g} of the people{others}'
    share = options.label_rate
    return "the public labels" + ("" if share is None else f" of {share:g} of the people")
