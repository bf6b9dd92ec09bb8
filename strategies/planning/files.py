"""Files of a plan: the plan as JSON, and for its choice a configuration of ``flwr run`` and a registry record."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from curator.privacy.levels import LEVELS
from devices.atomic_files import write_atomically
from strategies.flower_app.given import as_config
from strategies.planning.plan import Plan
from strategies.planning.rows import PlanRow, given_settings
from strategies.results import folder as run_folder
from strategies.results.levels import at_the_level
from strategies.setup.fingerprint import ldpsim_version
from strategies.setup.option_spec import declared
from strategies.setup.options import RunOptions
from strategies.setup.read_options import read_alone

PAGE = "plan.html"
_BY_FACTS = ("private_labels", "label_rate")  # the public labels in the facts say so
_CARRIED = {"set", *_BY_FACTS, *(spec.name for spec in declared(RunOptions).values() if spec.flower)}


def write_files(made: Plan, out: Path) -> tuple[Path, ...]:
    """Write the files of a plan into its folder of ``out`` and return their paths, plan.json first.

    The same plan has the same folder; another one does not touch it.
    """
    folder = out / f"plan-{made.facts.n}-{made.wishes.level}-{made.digest}"
    run_folder.prepare(folder)
    texts = {"plan.json": json.dumps(made.to_dict(), indent=1) + "\n"}
    if made.choice is not None:
        if not undeployable(made.choice):
            texts["deployment.toml"] = deployment(made, made.choice)
        texts["registry.yaml"] = "\n".join(_yaml(registry_record(made, made.choice))) + "\n"
    for old in ("deployment.toml", "registry.yaml", PAGE):  # of this plan, made before, perhaps with another choice
        (folder / old).unlink(missing_ok=True)
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return tuple(folder / name for name in texts)


def undeployable(choice: PlanRow) -> str:
    """Return why the Flower app cannot ask the question of a choice, in words; empty if it can."""
    specs, options = declared(RunOptions), choice.options
    lost = [specs[name].said(value) for name, value in given_settings(options).items() if name not in _CARRIED]
    return f"its configuration has no key for {' and '.join(lost)}" if lost else ""


def deployment(made: Plan, choice: PlanRow) -> str:
    """Return the run's configuration for ``flwr run``: public facts, method, budget and settings."""
    import tomli_w

    options = choice.options
    given = given_settings(options)
    names = {"settings" if name == "set" else name: value for name, value in given.items() if name not in _BY_FACTS}
    values: dict[str, Any] = {"method": options.method, "facts": "facts.json", **as_config(options, names)}
    usual = replace(options, epsilon=choice.figures["epsilon"])
    if "epsilon" not in read_alone(usual)[1]:
        values.setdefault("epsilon", usual.epsilon)
    facts = json.dumps({"facts": {"n": made.facts.n, "d": made.facts.features, "classes": made.facts.classes}})
    entry = choice.at_level
    held = "nothing is bounded" if entry["value"] is None else f"{entry['value']:.6g} holds"
    lines = [
        f"# {options.method}, planned for {made.facts.n:,} people: {held} {at_the_level(entry['level'])}.",
        "# flwr run APP SUPERLINK --run-config deployment.toml   (docs/deployment.md has the other steps)",
        f"# facts.json: {facts}, with the public labels{_rate(options)}",
        f"# rehearsal: {rehearsal(made, options)}",
    ]
    if _method(options).trained_by != "curator":
        lines.append("# ldpsim simulates this method; its Flower app deploys methods with one private report.")
    return "\n".join(lines) + "\n" + tomli_w.dumps(values)


def rehearsal(made: Plan, options: RunOptions, people: int = 3000) -> str:
    """Return the command that simulates a row: on the data of the plan, or on made-up people, few if not all were."""
    specs, usual, like = declared(RunOptions), RunOptions(), made.like
    n = made.facts.n
    words = ["ldpsim run", f"--method {options.method}"]
    if like.name is None:
        all_were = made.rehearsal is not None and not made.rehearsal.miniature
        words.append(f"--clients {n if all_were else min(people, n)}")
    elif like.size is None or n < like.size:
        words.append(f"--clients {n}")
    if not like.by_facts:
        words += [f"{specs[name].option} {shlex.quote(str(getattr(like.options, name)))}"
                  for name in ("dataset", "split", "seed")
                  if getattr(like.options, name) != getattr(usual, name)]  # fmt: skip
    for name, value in given_settings(options).items():
        if name == "set":
            words += [f"--set {key}={entry}" for key, entry in value.items()]
        else:
            words.append(specs[name].said(value))
    return " ".join(words)


def _rate(options: RunOptions) -> str:
    return "" if options.label_rate is None else f" of {options.label_rate:g} of the people"


def _method(options: RunOptions) -> Any:
    from curator.methods import find

    return find(options.method).from_settings({})


def registry_record(made: Plan, choice: PlanRow) -> dict[str, Any]:
    """Return a record with the field names of the DP Deployments Registry (OpenDP, NIST).

    Field names: https://github.com/opendp/deployments-registry-data, ``deployments/*.yaml``. Texts that only the
    people who deploy can write are empty.
    """
    entry, kind = choice.at_level, type(_method(choice.options))
    spec = LEVELS.get(entry["level"])
    parameters = {} if entry["value"] is None else {"epsilon": entry["value"]}
    parameters |= {"delta": entry["delta"]} if entry["delta"] else {}
    central = choice.figures["trust"] == "trusted curator"
    clear = [name for name, level in choice.figures["holds"].items() if level["status"] == "unprotected"]
    return {
        "status": "Draft",
        "registry_authors": [],
        "tier": 3,
        "deployment": {
            "name": "",
            "data_curator": "",
            "description": f"{choice.method} on {made.facts.n:,} people: {choice.listed.asks}.",
            "intended_use": "",
            "data_product_type": "Machine learning model",
            "data_product_region": "",
            "data_product_sector": "",
            "publication_date": "",
            "additional_information": f"Planned with ldpsim {ldpsim_version()}; nobody was asked. {kind.paper}.",
            "dp_flavor": {
                "name": "Approximate DP" if entry["delta"] else "Pure DP",
                "data_domain": f"A graph of {made.facts.n:,} people; each has a neighbour list, {made.facts.features} "
                               f"features and one of {made.facts.classes} classes.",
                "unprotected_quantities": ", ".join(clear) or "none of the levels that ldpsim accounts for",
            },
            "privacy_loss": {
                "privacy_unit": _UNITS.get(entry["level"], spec.term if spec else entry["level"]),
                "privacy_unit_description": f"The guarantee is about this change: {spec.changes}." if spec else
                                            "One entry of a person's record changes.",
                "privacy_parameters": parameters,
                "privacy_parameters_description": entry["detail"] or "",
            },
            "model": {
                "model_name": "Central" if central else "Local",
                "model_name_description": f"Trust: {choice.figures['trust']}.",
                "actors": "Devices answer for one person each; the curator collects reports and trains a network.",
                "is_many_release": False,
                "is_many_release_description": "Each device answers once; a ledger on the device enforces it.",
                "is_interactive": False,
                "is_dynamic": False,
            },
            "accounting": {
                "post_processing": "Reconstruction, training and prediction use the reports and public facts alone.",
                "composition": "Losses of all that one device reports add up, exactly.",
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": "Defaults of ldpsim; no collection chose them.",
                "mechanisms": ", ".join(kind.mechanisms) or "none",
                "justification": made.why,
            },
        },
    }  # fmt: skip


_UNITS = {"user": "User-level", "node": "User-level", "central_node": "User-level", "relationship": "Edge-level"}


def _yaml(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield lines of YAML for nested mappings of JSON values: every scalar as JSON, which YAML reads too."""
    assert isinstance(value, Mapping)
    for name, entry in value.items():
        if isinstance(entry, Mapping) and entry:
            yield f"{'  ' * depth}{name}:"
            yield from _yaml(entry, depth + 1)
        else:
            yield f"{'  ' * depth}{name}: {json.dumps(entry)}"
