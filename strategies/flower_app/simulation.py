"""Whole run inside Flower: ``flwr run .``.

On the simulation runtime every SuperNode gets a device that is enrolled here. If the nodes have
devices of their own, nobody is enrolled. Then ``facts`` has the public facts (a deployment), or
``LDPSIM_STATE`` names their folder (a rehearsal on one machine).

Whoever reaches the SuperLink writes the configuration, so no key of it names a file: text travels in it, and the
places are those of the process's environment (``LDPSIM_HOME``, ``LDPSIM_STATE``, ``LDPSIM_DATA``, and
``LDPSIM_CURATOR_KEY``, the file of the public key by which the server takes signed terms). The keys, empty or 0 if not
given, are the options of a run that are declared for Flower (:mod:`ldpsim.strategies.setup.options`), and these:

    facts          text of what is public (:mod:`ldpsim.strategies.flower_app.deployed`)
    terms          text of the terms that the devices' curator signed (``ldpsim curator sign``)
    eps-labels     if given, labels are private and asked for
    settings       parameters of the method and the training, KEY=VALUE with commas between them
    collection     id of an interrupted collection of a deployment, to continue it; default: that of the terms
    minimum-nodes  number of nodes to wait for (default: one a device)
    timeout        seconds after which a device that has not answered counts as silent
"""

from __future__ import annotations

import os
import secrets
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flwr.app import Context, Message, RecordDict
from flwr.serverapp import Grid

from ldpsim.curator.methods import find
from ldpsim.devices.atomic_files import read_file
from ldpsim.devices.client_app import STATE, default_state_folder
from ldpsim.devices.curator_key import SignedTerms
from ldpsim.devices.datasets import GENERATED, SMALLEST_GENERATED, TABLE, names
from ldpsim.devices.enrolment.state import State, is_enrolled
from ldpsim.devices.wire import WHOAMI_TYPE, read_introduction
from ldpsim.strategies.engines.collect import Connect, Connection
from ldpsim.strategies.engines.flower_private import errors_in_one_line
from ldpsim.strategies.flower_app.deployed import PublicFile, check_terms, options_given, run_deployed
from ldpsim.strategies.runs.errors import Refused, RunFailed
from ldpsim.strategies.setup.option_spec import OptionSpec, declared
from ldpsim.strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from ldpsim.strategies.outputs.run_result import RunResult

NODES_SECONDS = 60.0
_POLL_SECONDS = 0.2
_NOWHERE = -1
_PEOPLE = 300  # of a generated graph, if nobody says how many; minutes on a laptop


@dataclass(frozen=True)
class Roster:
    """The nodes that speak for people.

    Args:
        node_of: The node that counts, by public number.
        refused: Nodes that claim a number and do not count for it, by number.
    """

    node_of: Mapping[int, int]
    refused: Mapping[int, Sequence[int]]

    def lines(self) -> Iterator[str]:
        """Yield a line for each number with a claim that does not count."""
        for device, nodes in self.refused.items():
            yield f"number {device} is claimed by {', '.join(f'node {node}' for node in nodes)}: no such claim counts"


def roster_of(introductions: Mapping[int, tuple[int, bool]], bound: Mapping[int, int] | None = None) -> Roster:
    """Return who speaks for whom.

    Args:
        introductions: What the nodes say (:func:`introduce`).
        bound: The node of each person, where it is known; nobody speaks for the others. None: it is not known.
    """
    claims: dict[int, list[int]] = {}
    for node, (device, _) in sorted(introductions.items()):
        claims.setdefault(device, []).append(node)
    if bound is None:
        bound = {device: nodes[0] for device, nodes in claims.items() if len(nodes) == 1}
    node_of = {device: bound[device] for device, nodes in sorted(claims.items()) if bound.get(device) in nodes}
    others = {device: [node for node in nodes if node != node_of.get(device)] for device, nodes in claims.items()}
    return Roster(node_of, {device: others[device] for device in sorted(others) if others[device]})


def connection_of(
    grid: Grid, devices: int, roster: Roster, *, timeout: float = 3600.0, terms: SignedTerms | None = None
) -> Connection:
    """Return the connection to the nodes that count; the others of so many devices are silent."""
    absent = frozenset(range(devices)) - set(roster.node_of)
    nodes = [roster.node_of.get(device, _NOWHERE) for device in range(devices)]
    return Connection(grid, nodes, "flower", absent, timeout, terms)


def wait_for_nodes(grid: Grid, minimum: int, *, seconds: float = NODES_SECONDS) -> list[int]:
    """Return the ids of the connected nodes once there are at least ``minimum``.

    ``Strategy.start`` on a Grid without nodes asks nobody and reports no error.

    Raises:
        TimeoutError: if there are fewer after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while True:
        nodes = sorted(grid.get_node_ids())
        if len(nodes) >= max(1, minimum):
            return nodes
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{len(nodes)} of {minimum} nodes are connected after {seconds:.0f} seconds")
        time.sleep(_POLL_SECONDS)


def introduce(grid: Grid, nodes: Sequence[int], *, timeout: float) -> dict[int, tuple[int, bool]]:
    """Return (device, whether its state is its own) by node id; nodes without an answer are left out."""
    # A reply names the message by a hash of it. Without a secret in it, one node could answer for another.
    messages = [Message(RecordDict(), node, WHOAMI_TYPE, group_id=secrets.token_hex(16)) for node in nodes]
    replies = grid.send_and_receive(messages, timeout=timeout)
    answers = {reply.metadata.src_node_id: read_introduction(reply) for reply in replies}
    return {node: answer for node, answer in answers.items() if answer is not None}


# Keys that are no options of a run, each with its value that means "not given".
OWN_KEYS: dict[str, str | int | float] = {
    "facts": "", "terms": "", "collection": "", "minimum-nodes": 0, "timeout": 0.0,
}  # fmt: skip


def own_values(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of :data:`OWN_KEYS` in a configuration; ValueError, one line, for a value of another type."""
    specs = [OptionSpec(help="", panel="", name=key, flag=key, kind=type(default), default=default)
             for key, default in OWN_KEYS.items()]  # fmt: skip
    return {spec.name: spec.value(config.get(spec.name, spec.default)) for spec in specs}


def run_on_grid(grid: Grid, context: Context) -> RunResult:
    """Run everything on the nodes of a Grid, print one line with the result, and return it with its graph.

    Flower's log has an error of this function in one line, without a traceback.

    Args:
        grid: The Grid that Flower gives a ServerApp. Its nodes run the ClientApp ``ldpsim.devices.client_app.app``.
        context: The ServerApp's context; ``run_config`` has the keys of this module.

    Returns:
        The result. ``folder`` is below ``LDPSIM_HOME`` (``~/.ldpsim`` without it), on the machine of the ServerApp.

    Raises:
        ValueError: for a mistake of the user, in one line.
        TimeoutError: if too few nodes connect.
        Refused: if every device refused.
    """
    errors_in_one_line(ValueError, TimeoutError, Refused, RunFailed)
    config = context.run_config
    own = own_values(config)
    timeout = own["timeout"] or 3600.0
    state = Path(os.environ[STATE]) if os.environ.get(STATE) else None
    terms = SignedTerms.from_text(own["terms"]) if own["terms"] else None
    public = PublicFile.read(own["facts"]) if own["facts"] else None
    if terms is not None and public is None:
        raise ValueError("terms are those of a deployment: the facts are missing")
    if terms is not None and public is not None:
        check_terms(terms, public)
    enrolled = len(State(state)) if state is not None and is_enrolled(state) else 0
    expected = own["minimum-nodes"] or (public.facts.n if public is not None else enrolled)
    nodes = wait_for_nodes(grid, expected)
    introductions = introduce(grid, nodes, timeout=timeout)
    if not introductions:
        raise ValueError(f"none of {len(nodes)} nodes says which device it is: --node-config needs partition-id")
    roster = roster_of(introductions, None if public is None else public.nodes)
    for line in roster.lines():
        print(line, flush=True)

    def connect(_: Path, devices: int, __: int) -> AbstractContextManager[Connection]:
        return nullcontext(connection_of(grid, devices, roster, timeout=timeout, terms=terms))

    if public is not None:
        return run_deployed(config, public, terms, connect, roster.refused)
    if any(has_own_state for _, has_own_state in introductions.values()) and not enrolled:
        raise ValueError(
            "the nodes have devices of their own, which a curator does not enrol: the configuration needs the text of "
            f"the public facts (facts), or in a rehearsal the SuperLink's environment their folder ({STATE})"
        )
    return _simulate(config, state or default_state_folder(context.run_id), enrolled, len(nodes), connect)


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
        ValueError: one line, where it is missing or no TOML, has a key that is not read, or one of :data:`OWN_KEYS`
            with a value of another type.
    """
    try:
        config: dict[str, str | int | float] = tomllib.loads(read_file(path).decode())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no configuration of a run ({error})"
        raise ValueError(f"{path}: {reason}") from None
    for key, value in config.items():
        if key not in default_config() or not isinstance(value, str | int | float):
            raise ValueError(f"{path}: the Flower app has no key {key} of this kind")
    try:
        own_values(config)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return config


def _simulate(config: Any, state: Path, enrolled: int, nodes: int, connect: Connect) -> RunResult:
    from ldpsim.strategies.results.numbers import share
    from ldpsim.strategies.runs.simulate import simulate

    people = enrolled or nodes
    dataset = str(config.get("dataset") or next(iter(GENERATED)))
    if dataset not in names():
        raise ValueError(f"dataset {dataset}: no data set of this name, and the Flower app reads no other file")
    if not enrolled and people < SMALLEST_GENERATED:
        everybody = _PEOPLE if dataset in GENERATED else TABLE[dataset].nodes
        raise ValueError(
            f"{people} SuperNodes are {people} people, too few for a result ({SMALLEST_GENERATED} at least): "
            f'flwr run . --stream --federation-config "num-supernodes={everybody} client-resources-num-cpus=1"'
        )
    values = options_given(config)
    spec = find(str(values.get("method") or RunOptions.method)).spec
    if spec.in_rounds:
        raise ValueError(f"{spec.name} trains in one process, on no nodes: ldpsim run --method {spec.name}")
    private = values.get("eps_labels") is not None and not spec.asks_labels
    options = RunOptions(**{"out": state.parent, **values, "dataset": dataset, "clients": people,
                            "private_labels": private, "state": state})  # fmt: skip
    phases: list[str] = []

    def tell(phase: str, share: float | None) -> None:
        if phase not in phases:
            phases.append(phase)
            print(f"{phase} ...", flush=True)

    result = simulate(options, progress=tell, connect=connect)
    devices = result.record["devices"]
    print(
        f"result: accuracy {share(result.record['accuracy'])}; "
        f"{devices['reported'] + devices['replayed']:,} of {devices['asked']:,} "
        f"people reported; {result.folder}/result.json",
        flush=True,
    )
    return result
