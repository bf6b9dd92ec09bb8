"""Files of a plan: the plan as JSON, and for its choice a configuration of ``flwr run`` and a registry record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from curator.methods.federated.fedavg import Federated
from curator.methods.owner.owner import OwnerMethod
from curator.privacy.levels import LEVELS
from devices.atomic_files import write_atomically
from strategies.planning.plan import Plan
from strategies.planning.rows import PlanRow, settings_of
from strategies.results import folder as run_folder
from strategies.setup.fingerprint import ldpsim_version
from strategies.setup.option_spec import declared
from strategies.setup.options import RunOptions

PAGE = "plan.html"


def write_files(made: Plan, out: Path) -> tuple[Path, ...]:
    """Write the files of a plan into a folder of ``out`` and return their paths, plan.json first."""
    folder = out / f"plan-{made.facts.n}-{made.wishes.level}"
    run_folder.prepare(folder)
    texts = {"plan.json": json.dumps(made.to_dict(), indent=1) + "\n"}
    if made.choice is not None:
        texts["deployment.toml"] = deployment(made, made.choice)
        texts["registry.yaml"] = "\n".join(_yaml(registry_record(made, made.choice))) + "\n"
    for old in ("deployment.toml", "registry.yaml", PAGE):  # of an earlier plan in this folder
        (folder / old).unlink(missing_ok=True)
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return tuple(folder / name for name in texts)


def deployment(made: Plan, choice: PlanRow) -> str:
    """Return the run's configuration for ``flwr run``: public facts, method and budget.

    Settings that Flower's configuration has no key for stand in a comment, with the command that rehearses them.
    """
    import tomli_w

    options = choice.options
    keys = {spec.name: spec.key for spec in declared(RunOptions).values() if spec.flower}
    values: dict[str, Any] = {"method": options.method, "facts": "facts.json"}
    given = {name: value for name, value in settings_of(options).items() if name != "set"}
    values |= {keys[name]: value for name, value in given.items() if name in keys}
    lost = {name: value for name, value in given.items() if name not in keys} | dict(options.settings)
    if "epsilon" not in keys:
        lost = {name: value for name, value in lost.items() if name != "epsilon"}
        values["epsilon"] = options.epsilon if options.epsilon is not None else choice.figures["epsilon"]
    values.setdefault("epsilon", choice.figures["epsilon"])
    facts = json.dumps({"facts": {"n": made.facts.n, "d": made.facts.features, "classes": made.facts.classes}})
    entry = choice.at_level
    held = "nothing is bounded" if entry["value"] is None else f"{entry['value']:.6g} holds"
    lines = [
        f"# {options.method}, planned for {made.facts.n:,} people: {held} at the level {entry['level']}.",
        "# flwr run APP SUPERLINK --run-config deployment.toml   (docs/deployment.md has the other steps)",
        f"# facts.json: {facts}, with the public labels",
        f"# rehearsal: {rehearsal(made, options)}",
    ]
    if isinstance(_method(options), (OwnerMethod, Federated)):
        lines.append("# ldpsim simulates this method; its Flower app deploys methods with one private report.")
    if lost:
        lines.append("# not in a deployment's configuration, so at the defaults there: "
                     + ", ".join(f"{name} = {value}" for name, value in lost.items()))  # fmt: skip
    return "\n".join(lines) + "\n" + tomli_w.dumps(values)


def rehearsal(made: Plan, options: RunOptions, people: int = 3000) -> str:
    """Return the command that simulates the choice on a small generated graph."""
    words = ["ldpsim run", f"--method {options.method}", f"--clients {min(people, made.facts.n)}"]
    for name, value in settings_of(options).items():
        if name == "set":
            words += [f"--set {key}={entry}" for key, entry in value.items()]
        else:
            spec = declared(RunOptions)[name]
            words.append(spec.option if value is True else f"{spec.option} {value:.10g}"
                         if isinstance(value, float) else f"{spec.option} {value}")  # fmt: skip
    return " ".join(words)


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
                "privacy_unit": _UNITS.get(entry["level"], spec.heading if spec else entry["level"]),
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
