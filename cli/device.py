"""``ldpsim device``: devices of one's own, outside the app that a curator ships."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.help import App, Group
from ldpsim.cli.output import echo
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from ldpsim.devices.data.population import Population
    from ldpsim.devices.facts import PublicFacts
    from ldpsim.devices.policy.policy import OnRequery, Policy


def pinned(policy: Policy, curator_key: Path | None) -> Policy:
    """Return the policy with the public key of a curator, where a file names one.

    Raises:
        ValueError: where the policy pins another one.
    """
    from ldpsim.devices.curator_key import read_public

    if curator_key is None:
        return policy
    public = read_public(curator_key)
    if policy.collector not in (None, public):
        raise ValueError(f"--curator-key {curator_key}: the policy pins another curator ({policy.collector})")
    return replace(policy, collector=public)


def read_data(path: Path) -> tuple[Population, tuple[int, ...] | None]:
    """Return the people of a file, and the numbers of those who live here; None for everybody.

    Raises:
        ValueError: for a file of another kind.
    """
    from ldpsim.devices.datasets.npz_file import read_npz_file
    from ldpsim.devices.enrolment.record_file import read_own_data

    if path.suffix.lower() == ".json":
        return read_own_data(path)
    if path.suffix.lower() == ".npz":
        return read_npz_file(path.stem, path), None
    raise ValueError(f"--data {path}: a .json of records or a .npz of everybody is needed")


def _read_policy(path: Path | None, population: Population) -> Policy:
    import numpy as np

    from ldpsim.devices.policy.policy import read_policy

    if path is None:
        # The usual default: HoGS's question at epsilon 8, with public labels.
        from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy

        return agreed_policy({}, PublicFile(population.facts, np.zeros(population.facts.n, np.int64)))
    policy = read_policy(path)
    if policy.facts != population.facts:
        raise ValueError(f"--policy {path}: its public facts are not those of --data")
    if policy.mode not in ("report", "owner"):
        raise ValueError(f"--policy {path}: a vault serves devices of mode report or owner, not {policy.mode}")
    return policy


device = App(cls=Group, help="Enrol and serve devices in a process of their own (a vault).", no_args_is_help=True)
StateFolder = Annotated[Path, o.plain_option("--state", "Folder of the devices; it must be private", "DIR")]
CuratorFile = Annotated[
    Path | None,
    o.plain_option("--curator-key", "Public key of the one curator to answer", "FILE.pub"),
]
SheetFile = Annotated[
    Path | None,
    o.plain_option("--sheet", "What is asked, in words and odds", "FILE.md|.html", show_default="printed on stderr"),
]
ANYBODY = "any curator can spend the devices' one answer: none is pinned (--curator-key FILE.pub)"


@device.command()
def enrol(
    state: StateFolder,
    data: Annotated[Path, o.plain_option("--data", "The people's data, .json or .npz", "FILE")],
    policy: Annotated[
        Path | None,
        o.plain_option("--policy", "Policy of `ldpsim device policy`", "FILE", show_default="HoGS"),
    ] = None,
    counters: Annotated[
        str | None,
        o.plain_option("--counters", "Counters kept apart: a folder or postgresql://...", "PLACE"),
    ] = None,
    curator_key: CuratorFile = None,
    sheet: SheetFile = None,
    debug: o.Debug = False,
) -> None:
    """Enrol devices in a private folder, once: data, secret, policy, ledger.

    Before that it tells what they will answer, and how well it can be guessed.
    """
    from ldpsim.devices.enrolment.counters import check_place
    from ldpsim.devices.enrolment.state import enrol, is_enrolled
    from ldpsim.devices.vault.folder import harden, served_alone

    harden()
    tell = _teller(sheet)
    if counters is not None:
        check_place(counters, state)
    population, residents = read_data(data)
    agreed = pinned(_read_policy(policy, population), curator_key)
    people = range(len(population)) if residents is None else residents
    for person in sorted((agreed.volunteers or frozenset()).intersection(people)):
        if population.labels[person] < 0:
            raise ValueError(f"--data {data}: person {person} volunteers, and has no label to give")
    if is_enrolled(state):
        raise ValueError(f"--state {state} holds enrolled devices already")
    tell(agreed, people=people)
    with served_alone(state):
        enrol(state, population, agreed, seed=None, residents=residents, counters=counters).close()
    echo(f"enrolled {len(people):,} devices in {state}; {data} is not needed any more", err=True)
    whose = f"the curator {agreed.collector} and nobody else"
    echo(ANYBODY if agreed.collector is None else f"they answer {whose}", err=True)
    if agreed.volunteers is not None:
        giving = len(agreed.volunteers.intersection(people))
        echo(f"volunteers, who give label and features in clear: {giving:,} of {len(people):,}", err=True)


@device.command()
def serve(
    state: StateFolder,
    socket: Annotated[Path, o.plain_option("--socket", "Local socket to answer on", "PATH")],
    group: Annotated[str | None, o.plain_option("--group", "Group that may ask, too", "NAME")] = None,
    connections: Annotated[
        int,
        typer.Option(
            "--connections", min=1, max=4096, metavar="N", help="Connections: half of one user, 16 of one process"
        ),
    ] = 512,
    debug: o.Debug = False,
) -> None:
    """Answer questions over a local socket until SIGTERM."""
    from ldpsim.devices.enrolment.state import State, is_enrolled
    from ldpsim.devices.vault.folder import check_socket_path, harden, listening, served_alone
    from ldpsim.devices.vault.server import Vault

    harden()
    allowed = None if group is None else _group(group)
    check_socket_path(socket)
    if not is_enrolled(state):
        raise ValueError(f"--state {state} holds no enrolled devices: ldpsim device enrol makes them")
    with listening(socket, group=allowed) as listener, served_alone(state), closing(State(state)) as home:
        _run(Vault(home, connections=connections), listener, socket)


def _teller(path: Path | None) -> Callable[..., None]:
    """Check where a consent sheet goes; the function that is returned writes or prints it."""
    from ldpsim.cli.report.documents import write_document
    from ldpsim.cli.sheet import sheet_of

    if path is not None and path.suffix not in (".md", ".html"):
        raise ValueError(f"--sheet {path}: the name of a sheet ends with .md or .html")

    def tell(agreed: Policy, people: Iterable[int] | None = None) -> None:
        made = sheet_of(agreed, people)
        if path is None:
            echo(made, err=True)
            return
        try:
            write_document(path, made)
        except OSError as error:
            raise ValueError(f"--sheet {path}: {error.strerror}") from error

    return tell


def _run(vault: Any, listener: Any, socket: Path) -> None:
    import logging
    import signal

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for name, reason in vault.damaged.items():
        echo(f"warning: {name} {reason}: its devices answer LEDGER_DAMAGED", err=True)
    if vault.state.head["simulation_seeded"]:
        echo("warning: secrets derived from a seed: these reports are not private", err=True)

    def stop(number: int, _: Any) -> None:
        vault.stop()
        signal.signal(number, signal.SIG_DFL)  # a second signal ends it at once; nothing is lost

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        echo(f"serving {len(vault.state.residents):,} devices of {vault.state.folder} on {socket}", err=True)
        vault.serve(listener)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    counts = ", ".join(f"{name} {number:,}" for name, number in sorted(vault.counts.items()))
    echo(f"stopped: {counts or 'no question came'}", err=True)


def _group(name: str) -> int:
    import grp

    try:
        return int(name) if name.isdigit() else grp.getgrnam(name).gr_gid
    except KeyError:
        raise ValueError(f"--group {name}: no such group") from None


_CRAFTED = "somebody may have made it so that a class tells who is in a list"


@device.command()
def predict(
    state: StateFolder,
    device_model: Annotated[Path, o.plain_option("--device-model", "What the curator signed and published", "FILE")],
    debug: o.Debug = False,
) -> None:
    """Print the class of each person here; nothing leaves the device.

    A line has the person's number and the number of the class. It is as private as the person's list. Devices that pin
    a curator's key take what it signed alone (ldpsim curator sign-model).
    """
    from ldpsim.devices.data.population import records_of
    from ldpsim.devices.enrolment.state import State
    from ldpsim.devices.prediction import DeviceModel
    from ldpsim.devices.vault.folder import harden

    harden()
    home = State(state)
    facts, people = home.population.facts, list(home.residents)
    text = _signed_model(device_model, facts, home.policy.collector)
    try:
        published = DeviceModel.read(text)
    except ValueError as error:
        raise ValueError(f"--device-model {device_model}: {error}") from None
    if not published.is_about(facts):
        raise ValueError(f"--device-model {device_model}: it is about other people than those in {state}")
    classes = published.classes_of(records_of(home.population, people), people)
    for person, label in zip(people, classes.tolist(), strict=True):
        echo(f"{person} {label}")
    if home.policy.collector is None:
        echo(f"warning: {device_model} was taken unsigned, as no curator's key is pinned here: {_CRAFTED}", err=True)
    echo("a class is as private as the list behind it: do not send it, nor act on it where others see that", err=True)


def _signed_model(path: Path, facts: PublicFacts, curator: str | None) -> bytes:
    """Return the bytes of a device model that the pinned curator signed; without a pin nobody's signature counts.

    Raises:
        ValueError: one line, where it cannot be read, is too long for these people, or is not signed.
    """
    from ldpsim.devices.atomic_files import read_file
    from ldpsim.devices.curator_key import SIGNED_MODEL_BYTES, SignedModel
    from ldpsim.devices.prediction import largest_device_model

    try:
        model = SignedModel.split(read_file(path, SIGNED_MODEL_BYTES + largest_device_model(facts)))
    except OSError as error:
        raise ValueError(f"--device-model {path}: {error.strerror}") from None
    if curator is not None and not model.is_signed_by(curator):
        raise ValueError(f"--device-model {path}: not signed by the curator {curator}, who is pinned here: {_CRAFTED}")
    return model.model


@device.command()
def policy(
    facts: Annotated[Path, o.plain_option("--facts", "Public facts", "FILE")],
    method: Annotated[
        str, o.plain_option("--method", "Method of the question", "NAME", autocompletion=completion.methods)
    ] = "hogs",
    epsilon: Annotated[float | None, o.plain_option("--epsilon", "Total budget", "X")] = None,
    eps_labels: Annotated[
        float | None, o.plain_option("--eps-labels", "Part of epsilon for the label, if none is public", "X")
    ] = None,
    on_requery: Annotated[
        str, o.plain_option("--on-requery", "If another collection asks", "refuse|replay")
    ] = "refuse",
    cap: Annotated[
        list[str] | None, o.plain_option("--cap", "Largest epsilon of a level, as person=4", "LEVEL=X")
    ] = None,
    curator_key: CuratorFile = None,
    only_this: Annotated[bool, typer.Option("--only-this", help="Accept no other question inside the caps")] = False,
    sheet: SheetFile = None,
    debug: o.Debug = False,
) -> None:
    """Print the policy of a device that answers one question once.

    It also tells what the devices are asked, what is in clear, and how well the answers can be guessed.
    """
    from ldpsim.devices.policy.policy import write_policy
    from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy

    tell = _teller(sheet)
    if eps_labels == float("inf"):
        raise ValueError("--eps-labels inf: a policy needs a finite number above 0")
    caps = o.read_table(declared(RunOptions)["caps"], cap)
    options = RunOptions(epsilon=epsilon, eps_labels=eps_labels, on_requery=on_requery, caps=caps)
    config = {"method": method, "epsilon": epsilon, "eps-labels": eps_labels}
    again: OnRequery = "replay" if options.on_requery == "replay" else "refuse"
    public = PublicFile.load(facts)
    agreed = agreed_policy(config, public, on_requery=again, caps=options.caps, only_this=only_this)
    agreed = pinned(agreed, curator_key)
    tell(agreed)
    echo(write_policy(agreed), nl=False)
