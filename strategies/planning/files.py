"""Files of a plan: the plan as JSON, and for its choice a configuration of ``flwr run``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ldpsim.curator.methods import find
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.flower_app.deployed import as_config
from ldpsim.strategies.planning.plan import Plan, PlanRow, given_settings
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.results.in_words import at_the_level
from ldpsim.strategies.results.numbers import epsilon
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone

PAGE = "plan.html"
_BY_FACTS = ("private_labels", "label_rate", "volunteers")  # the public labels or volunteers in the facts say so
_CARRIED = {"set", *_BY_FACTS, *(spec.name for spec in declared(RunOptions).values() if spec.flower)}


def write_files(made: Plan, out: Path) -> tuple[Path, ...]:
    """Write the files of a plan into its folder of ``out`` and return their paths, plan.json first.

    The same plan has the same folder; another one does not touch it.
    """
    folder = out / f"plan-{made.facts.n}-{made.wishes.level}-{made.digest}"
    run_folder.prepare(folder)
    texts = {"plan.json": json.dumps(made.to_dict(), indent=1) + "\n"}
    if made.choice is not None and not undeployable(made.choice):
        texts["deployment.toml"] = deployment(made, made.choice)
    for old in ("deployment.toml", PAGE):  # of this plan, made before, perhaps with another choice
        (folder / old).unlink(missing_ok=True)
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return tuple(folder / name for name in texts)


def undeployable(choice: PlanRow) -> str:
    """Return why the Flower app cannot ask the question of a choice, in words; empty if it can."""
    specs, options = declared(RunOptions), choice.options
    lost = [specs[name].words(value) for name, value in given_settings(options).items() if name not in _CARRIED]
    return f"its configuration has no key for {' and '.join(lost)}" if lost else ""


def deployment(made: Plan, choice: PlanRow) -> str:
    """Return the run's configuration for ``flwr run``: public facts, method, budget and settings."""
    import tomli_w

    options, entry = choice.options, choice.at_level
    names = {"settings" if name == "set" else name: value for name, value in given_settings(options).items()
             if name not in _BY_FACTS}  # fmt: skip
    values: dict[str, Any] = {"method": options.method, "facts": "facts.json", **as_config(options, names)}
    usual = replace(options, epsilon=choice.figures["epsilon"])
    if "epsilon" not in read_alone(usual)[1]:
        values.setdefault("epsilon", usual.epsilon)
    facts = json.dumps({"facts": {"n": made.facts.n, "d": made.facts.features, "classes": made.facts.classes}})
    held = "nothing is bounded" if entry["value"] is None else f"{epsilon(entry['value'])} holds"
    lines = [
        f"# {options.method}, planned for {made.facts.n:,} people: {held} {at_the_level(entry['level'])}.",
        "# ldpsim curator sign deployment.toml --curator-key KEY > run.toml   (docs/deployment.md has all steps)",
        "# flwr run APP SUPERLINK --run-config run.toml",
        f"# facts.json: {facts}, with {_labels(options)}",
        f"# rehearsal: {choice.command}",
    ]
    if find(options.method).spec.trained_by != "curator":
        lines.append("# ldpsim simulates this method; its Flower app deploys methods with one private report.")
    return "\n".join(lines) + "\n" + tomli_w.dumps(values)


def _labels(options: RunOptions) -> str:
    """Return what stands beside the facts."""
    if options.volunteers is not None and find(options.method).spec.asks_volunteers:
        others = ', and of the "labelled", who are other people that know their label' if options.private_labels else ""
        return f'the numbers of the "volunteers", {options.volunteers:g} of the people{others}'
    share = options.label_rate if options.volunteers is None else options.volunteers
    return "the public labels" + ("" if share is None else f" of {share:g} of the people")
