"""Whole run inside Flower: ``flwr run .``.

On the simulation runtime every SuperNode gets a device that is enrolled here. If the nodes have
devices of their own, nobody is enrolled. Then ``facts`` has the public facts (a deployment), or
``LDPSIM_STATE`` names their folder (a rehearsal on one machine).

Whoever reaches the SuperLink writes the configuration, so no key of it names a file: text travels in it, and
folders are those of the process's environment (``LDPSIM_HOME``, ``LDPSIM_STATE``, ``LDPSIM_DATA``). The keys,
empty or 0 if not given, are the options of a run that are declared for Flower (:mod:`ldpsim.strategies.setup.options`),
and these:

    facts          text of what is public (:mod:`ldpsim.strategies.flower_app.deployed`)
    terms          text of the terms that the devices' collector signed (``ldpsim collector sign``)
    eps-labels     if given, labels are private and asked for
    settings       parameters of the method and the training, KEY=VALUE with commas between them
    collection     id of an interrupted collection of a deployment, to continue it; default: that of the terms
    minimum-nodes  number of nodes to wait for (default: one a device)
    timeout        seconds after which a device that has not answered counts as silent
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Question
from ldpsim.devices.atomic_files import read_file
from ldpsim.devices.client_app import STATE, default_state_folder
from ldpsim.devices.collector import SignedTerms
from ldpsim.devices.datasets import GENERATED, SMALLEST_GENERATED, names
from ldpsim.devices.enrolment.state import State, is_enrolled
from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies.flower_app.deployed import PublicFile, run_deployed
from ldpsim.strategies.flower_app.given import options_given
from ldpsim.strategies.flower_app.roster import introduce, roster_of, strategy_of_nodes, wait_for_nodes
from ldpsim.strategies.rounds.collect_once import Collected, run_collection
from ldpsim.strategies.rounds.stages import Stages
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions

# Keys that are no options of a run, each with its value that means "not given".
OWN_KEYS: dict[str, str | int | float] = {
    "facts": "", "terms": "", "collection": "", "minimum-nodes": 0, "timeout": 0.0,
}  # fmt: skip


def run_alone(grid: Grid, context: Context) -> None:
    """Run everything on the nodes of a Grid and print the result.

    Raises:
        ValueError: for a mistake of the user, in one line.
        TimeoutError: if too few nodes connect.
        Refused: if every device refused.
    """
    config = context.run_config
    timeout = float(config.get("timeout") or 3600.0)
    state = Path(os.environ[STATE]) if os.environ.get(STATE) else None
    terms = SignedTerms.from_text(str(config["terms"])) if config.get("terms") else None
    public = PublicFile.read(str(config["facts"])) if config.get("facts") else None
    if terms is not None and public is None:
        raise ValueError("terms are those of a deployment: the facts are missing")
    enrolled = len(State(state)) if state is not None and is_enrolled(state) else 0
    expected = int(config.get("minimum-nodes") or 0) or (public.facts.n if public is not None else enrolled)
    nodes = wait_for_nodes(grid, expected)
    known = introduce(grid, nodes, timeout=timeout)
    if not known:
        raise ValueError(f"none of {len(nodes)} nodes says which device it is: --node-config needs partition-id")
    roster = roster_of(known, None if public is None else public.nodes)
    for line in roster.told():
        print(line, flush=True)

    def collect(
        folder: Path, questions: Sequence[Question], *, devices: int, silent: frozenset[int],
        stages: Stages | None = None, facts: PublicFacts | None = None,
    ) -> Collected:  # fmt: skip
        strategy = strategy_of_nodes(questions, devices, roster, silent=silent, stages=stages, terms=terms)
        return run_collection(strategy, grid, timeout=timeout)

    if public is not None:
        run_deployed(config, public, terms, collect, roster.refused)
        return
    if any(own for _, own in known.values()) and not enrolled:
        raise ValueError(
            "the nodes have devices of their own, which a curator does not enrol: the configuration needs the text of "
            f"the public facts (facts), or in a rehearsal the SuperLink's environment their folder ({STATE})"
        )
    _simulate(config, state or default_state_folder(context.run_id), enrolled or len(nodes), collect)


def default_config() -> dict[str, str | int | float]:
    """Return every key of the run's configuration with its default; empty text and 0 mean not given."""
    defaults: dict[str, str | int | float] = dict(OWN_KEYS)
    for spec in declared(RunOptions).values():
        if spec.flower:
            empty = "" if str in spec.types or Path in spec.types else spec.types[0]()
            defaults[spec.key] = spec.default if isinstance(spec.default, str) else empty
    return defaults


def read_config(path: Path) -> dict[str, str | int | float]:
    """Read a file of a run's configuration, as ``flwr run --run-config`` does.

    Raises:
        ValueError: one line, where it is missing or no TOML, or has a key that is not read.
    """
    try:
        given: dict[str, str | int | float] = tomllib.loads(read_file(path).decode())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no configuration of a run ({error})"
        raise ValueError(f"{path}: {reason}") from None
    for key, value in given.items():
        if key not in default_config() or not isinstance(value, str | int | float):
            raise ValueError(f"{path}: the Flower app has no key {key} of this kind")
    return given


def _simulate(config: Any, state: Path, people: int, collect: Any) -> None:
    from ldpsim.strategies.runs.simulate import simulate

    dataset = str(config.get("dataset") or next(iter(GENERATED)))
    if dataset not in names():
        raise ValueError(f"dataset {dataset}: no data set of this name, and the Flower app reads no other file")
    if dataset in GENERATED and people < SMALLEST_GENERATED:
        print(
            f"{people} SuperNodes stand for {people} of {SMALLEST_GENERATED} people, the others are silent: "
            'for more, --federation-config "num-supernodes=200 client-resources-num-cpus=1"'
        )
        people = SMALLEST_GENERATED
    given = options_given(config)
    asks = find(str(given.get("method") or RunOptions.method)).spec.asks_labels  # by itself
    private = given.get("eps_labels") is not None and not asks
    options = RunOptions(**{"out": state.parent, **given, "dataset": dataset, "clients": people, "engine": "flower",
                            "private_labels": private, "state": state})  # fmt: skip
    result = simulate(options, progress=lambda phase, share: print(f"{phase} ...", flush=True), collect=collect)
    record = result.record
    counts = ", ".join(f"{name} {record['devices'][name]}" for name in ("asked", "reported", "replayed", "silent"))
    print(f"devices: {counts}; reports {record['devices']['reports_sha256']}")
    print(f"test accuracy {record['accuracy']['test']}, without noise {record['reference']['nonprivate_test']}")
    print(f"result: {result.folder}/result.json", flush=True)
