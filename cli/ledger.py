"""``ldpsim ledger show DIR...``: releases of devices, with their time, loss and policy."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.help import App, Group
from ldpsim.cli.output import console, print_json, text_table
from ldpsim.cli.words import count, epsilon, loss_at_delta

if TYPE_CHECKING:
    from ldpsim.devices.enrolment.state import State
    from ldpsim.devices.ledger.rows import Answer, Part

Parts = Sequence[tuple["Answer", "Part"]]  # each attribute of each answer, and each answer of a training
Lifetime = dict[str, dict[str, float | None]]  # level -> largest and mean loss; None means unprotected
ledger = App(cls=Group, help="Show what devices released, and what they lost.", no_args_is_help=True)


def states_in(folder: Path) -> list[State]:
    """Return the enrolled state folders of a path: itself, or those in a run's folder.

    Raises:
        ValueError: if there are none.
    """
    from ldpsim.devices.enrolment.state import State, is_enrolled

    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder")
    paths = [folder] if is_enrolled(folder) else sorted(p.parent for p in folder.glob("*/enrolment.json"))
    if not paths:
        raise ValueError(
            f"{folder} holds no enrolled devices: give the folder of a run that asked devices of its own, "
            "or a state folder"
        )
    return [State(path) for path in paths]


def read_account(state: State, device: int | None = None) -> tuple[Parts, Lifetime]:
    """Return what one device released and lost, or all of them; every row's seal is checked, and nothing is changed.

    Raises:
        ValueError: for a ledger that is missing, damaged, or holds a row that its device
            did not write; for a device that does not live in the folder.
    """
    from ldpsim.strategies.results.lifetime import extremes, read_ledgers

    here = state.residents
    if device is not None and device not in here:
        numbers = f"{here[0]} to {here[-1]}" if len(here) > 1 else f"{here[0]}"
        raise ValueError(f"--device {device}: not in {state.folder}, which has {count(len(here), 'device')}: {numbers}")
    try:
        state.policy  # noqa: B018 - read here to report a damaged enrolment
        parts = [part for shard in state.shards for part in _parts_of(state, shard)]
        losses = read_ledgers(state, None)[0]
    except (OSError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{state.folder}: the enrolment is damaged ({type(error).__name__})") from error
    finally:
        state.close()
    people = list(here) if device is None else [device]
    lifetime = {name: extremes(losses.levels[name][people], losses.deltas[name][people]) for name in losses.levels}
    return [part for part in parts if device is None or part[0].device == device], lifetime


def _parts_of(state: State, shard: int) -> list[tuple[Answer, Part]]:
    from ldpsim.devices.enrolment.state import ledger_name
    from ldpsim.devices.ledger.chain import verify_seals
    from ldpsim.devices.ledger.ledger import LedgerDamaged

    path = state.folder / ledger_name(shard)
    if not path.is_file():  # opening would create an empty ledger, as if nobody had answered
        raise ValueError(f"{path} is missing: the releases of these devices are not known")
    parts = []
    try:
        answers = state.ledger(shard * state.shard).answers()
        devices = sorted({answer.device for answer in answers})
        here = state.lives_here
        if not all(device in here for device in devices):
            raise LedgerDamaged("a report is of a device that is not enrolled here")
        for answer, is_sound in zip(answers, verify_seals(answers, state.seal_keys(devices)), strict=True):
            if not is_sound:
                raise LedgerDamaged(f"answer {answer.number} of device {answer.device} is missing, or not its own")
            parts += [(answer, part) for part in answer.parts]
    except LedgerDamaged as error:
        raise ValueError(f"{path} is damaged ({error}): its devices answer LEDGER_DAMAGED") from error
    return sorted(parts, key=lambda row: (row[0].device, row[1].attribute, row[0].number))


@ledger.command()
def show(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of runs or of devices")],
    device: Annotated[int | None, o.plain_option("--device", "One device, release by release", "I")] = None,
    as_json: o.AsJson = False,
    debug: o.Debug = False,
) -> None:
    """Show the releases of devices: time, attribute, loss by level, caps."""
    accounts = [
        (state, *read_account(state, device)) for folder in dict.fromkeys(folders) for state in states_in(folder)
    ]
    if as_json:
        print_json({"states": [to_json(*account, device) for account in accounts]})
        return

    from rich.text import Text

    screen = console()
    for number, (state, parts, lifetime) in enumerate(accounts):
        if number:
            screen.print()
        screen.print(Text(str(state.folder), style="bold"), soft_wrap=True)  # whole, to be copied
        screen.print(view(state, parts, lifetime, device))


def to_json(state: State, parts: Parts, lifetime: Lifetime, device: int | None) -> dict[str, Any]:
    """Return an account as JSON values; an unbounded loss is null."""
    document: dict[str, Any] = {
        "folder": str(state.folder),
        "devices": len(state.residents),
        "simulation_seeded": state.head["simulation_seeded"],
        "policy": state.policy.to_dict(),
        "releases": [
            {
                "attribute": name, "collection": collection, "devices": len({answer.device for answer, _ in rows}),
                "first": when(min(answer.time for answer, _ in rows)),
                "last": when(max(answer.time for answer, _ in rows)), "bytes": sum(size_of(*row) for row in rows),
            }
            for (name, collection), rows in releases(parts).items()
        ],
        "lifetime_per_device": lifetime,
    }  # fmt: skip
    if device is not None:
        document |= {"device": device, "entries": [
            {
                "attribute": part.attribute, "stage": answer.number if answer.is_training else answer.stage,
                "when": when(answer.time), "collection": answer.collection, "fingerprint": part.fingerprint.hex(),
                "loss_bit": part.loss.bit, "loss_vector": part.loss.vector, "delta": part.loss.delta,
                "bytes": size_of(answer, part),
            }
            for answer, part in parts
        ]}  # fmt: skip
    return dict(json.loads(json.dumps(document), parse_constant=lambda _: None))


def releases(parts: Parts) -> dict[tuple[str, str], list[tuple[Answer, Part]]]:
    """Return the parts by attribute and collection."""
    rows: dict[tuple[str, str], list[tuple[Answer, Part]]] = {}
    for answer, part in parts:
        rows.setdefault((part.attribute, answer.collection), []).append((answer, part))
    return dict(sorted(rows.items()))


def size_of(answer: Answer, part: Part) -> int:
    """Return the bytes that left: of the attribute's report, or of the whole answer of a training."""
    return answer.size if answer.is_training else len(part.report)


def when(seconds: float) -> str:
    """Return a time in the local time zone."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds")


def view(state: State, parts: Parts, lifetime: Lifetime, device: int | None) -> Any:
    """Return the text to print: the policy with its caps, the releases, and the lifetime loss."""
    from rich.console import Group
    from rich.markup import escape

    from ldpsim.curator.privacy.levels import level_spec

    policy, one = state.policy, device is not None
    lines: list[Any] = [
        f"{count(len(state.residents), 'device')}, mode {policy.mode}, reporting {policy.reporting}; "
        f"a question asked again: {policy.on_requery}",
        f"accepted mechanisms: {escape(', '.join(sorted(policy.mechanisms))) or 'none'}",
    ]
    if state.head["simulation_seeded"]:
        lines.append("[yellow]secrets derived from a seed: these reports are not private[/yellow]")
    caps = text_table("cap on the lifetime loss of", ">one entry", ">the whole", ">as a user's")
    for name, cap in sorted(policy.caps.items()):
        caps.add_row(escape(name), *(loss_at_delta(value, cap.delta) for value in (cap.bit, cap.vector, cap.user)))
    if math.isfinite(policy.user_cap):
        caps.add_row("all releases together", "", "", epsilon(policy.user_cap))
    lines += ["", caps, ""]
    if not parts:
        return Group(*lines, f"device {device}: nothing" if one else "nothing was released")

    figures = (">one entry", ">the whole") if one else (">devices",)
    shown = text_table(f"device {device} released" if one else "released", "when", *figures, ">bytes", "!collection")
    for (name, collection), rows in releases(parts).items():
        losses = [math.fsum(part.loss.bit for _, part in rows), math.fsum(part.loss.vector for _, part in rows)]
        delta, asked = math.fsum(part.loss.delta for _, part in rows), len({answer.device for answer, _ in rows})
        counts = [loss_at_delta(loss, delta) for loss in losses] if one else [f"{asked:,}"]
        size = f"{sum(size_of(*row) for row in rows):,}"
        began = when(min(answer.time for answer, _ in rows))[:19]
        shown.add_row(escape(name), began, *counts, size, escape(collection))
    life = text_table("lifetime loss when this changes", *((">epsilon",) if one else (">largest", ">mean")))
    for level, values in lifetime.items():
        at, bounds = values.get("delta"), [values["max"]] if one else [values["max"], values["mean"]]
        if values["max"] != 0 or at:
            life.add_row(level_spec(level).words, *(loss_at_delta(value, at) for value in bounds))
    return Group(*lines, shown, "", life)
