"""``ldpsim ledger show DIR...``: releases of devices, with their time, loss and policy."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ldpsim.cli import options as o
from ldpsim.cli.output import console, print_json, text_table
from ldpsim.cli.words import epsilon

if TYPE_CHECKING:
    from ldpsim.devices.enrolment.state import State
    from ldpsim.devices.ledger.rows import Answer, Part

Lifetime = dict[str, dict[str, float | None]]
ledger = typer.Typer(help="Show what devices have released, and what they have lost.", no_args_is_help=True)


@dataclass(frozen=True)
class LedgerContent:
    """Content of the ledgers of a state folder, each device's chain of answers checked.

    Args:
        state: The folder.
        device: The chosen device, None for all.
        parts: Each attribute of each of their answers, and each answer of a training.
        lifetime: Level -> ``{max, mean}`` over those devices; None means unprotected.
    """

    state: State
    device: int | None
    parts: tuple[tuple[Answer, Part], ...]
    lifetime: Lifetime


def states_in(folder: Path) -> list[State]:
    """Return the enrolled state folders of a path: itself, or those in a run's folder.

    Raises:
        ValueError: if there are none.
    """
    from ldpsim.devices.enrolment.state import State, is_enrolled

    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder")
    found = [folder] if is_enrolled(folder) else sorted(p.parent for p in folder.glob("*/enrolment.json"))
    if not found:
        raise ValueError(
            f"{folder} holds no enrolled devices: give the folder of a run that asked devices of its own, "
            "or a state folder"
        )
    return [State(path) for path in found]


def newest_run(out: Path) -> Path:
    """Return the newest folder of a run below ``out``, that of a sweep's or a comparison's cell included.

    A run whose devices live elsewhere (``--state``) stands for their folder.

    Raises:
        ValueError: if there is none, or if its folder was copied: the copy may lack answers.
    """
    import tomllib

    from ldpsim.strategies.results.folder import origin_of

    # Each start of a run writes config.toml.
    found = [path for pattern in ("*/config.toml", "*/*/config.toml") for path in out.glob(pattern)]
    if not found:
        raise ValueError(f"--last: {out} holds no run (--out names another folder)")
    newest = max(found, key=lambda path: (path.stat().st_mtime_ns, path))
    origin = origin_of(newest.parent)
    copies = sorted(str(path.parent) for path in found if origin is not None and origin_of(path.parent) == origin)
    if len(copies) > 1:
        raise ValueError(f"--last: {' and '.join(copies)} are copies of one run: give the folder of one of them")
    state = tomllib.loads(newest.read_text()).get("state")
    return newest.parent if state is None else Path(state)


def read_account(state: State, device: int | None = None) -> LedgerContent:
    """Read the ledgers and check every row's seal; nothing is changed.

    Raises:
        ValueError: for a ledger that is missing, damaged, or holds a row that its device
            did not write; for a device that is not enrolled.
    """
    n = len(state)
    if device is not None and not 0 <= device < n:
        raise ValueError(f"--device {device}: {state.folder} has devices 0 to {n - 1}")
    try:
        state.policy  # noqa: B018 - read here to report a damaged enrolment
        parts = [part for shard in state.shards for part in _parts_of(state, shard)]
        lifetime = _lifetime_of(state, device, parts)
    except (OSError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{state.folder}: the enrolment is damaged ({type(error).__name__})") from error
    finally:
        state.close()
    return LedgerContent(state, device, tuple(p for p in parts if device is None or p[0].device == device), lifetime)


def _parts_of(state: State, shard: int) -> list[tuple[Answer, Part]]:
    from ldpsim.devices.enrolment.state import ledger_name
    from ldpsim.devices.ledger.chain import sound
    from ldpsim.devices.ledger.ledger import LedgerDamaged

    path = state.folder / ledger_name(shard)
    if not path.is_file():  # opening would create an empty ledger, as if nobody had answered
        raise ValueError(f"{path} is missing: the releases of these devices are not known")
    parts = []
    try:
        answers = state.ledger(shard * state.shard).answers()
        devices = sorted({answer.device for answer in answers})
        if devices and not 0 <= devices[0] <= devices[-1] < len(state):
            raise LedgerDamaged("an answer is of nobody who is enrolled here")
        for answer, is_sound in zip(answers, sound(answers, state.seal_keys(devices)), strict=True):
            if not is_sound:
                raise LedgerDamaged(f"answer {answer.number} of device {answer.device} is missing, or not its own")
            parts += [(answer, part) for part in answer.parts]
    except LedgerDamaged as error:
        raise ValueError(f"{path} is damaged ({error}): its devices answer LEDGER_DAMAGED") from error
    return sorted(parts, key=lambda found: (found[0].device, found[1].attribute, found[0].number))


def _lifetime_of(state: State, device: int | None, parts: Sequence[tuple[Answer, Part]]) -> Lifetime:
    """Return the lifetime loss of one device, or of all."""
    import numpy as np

    from ldpsim.strategies.results.lifetime import extremes, ledger_levels, lifetime, losses_of

    if device is None:
        return {level: values for level, values in lifetime(state).items() if level != "complete"}
    levels = ledger_levels()
    answers = {answer.number: answer for answer, _ in parts if answer.device == device}
    losses = [entry for answer in answers.values() for entry in losses_of(answer, levels)]
    found: Lifetime = {}
    for level in levels:
        own = np.array([(loss, delta) for name, loss, delta in losses if name == level]).reshape(-1, 2)
        found[level] = extremes(*own.sum(0, keepdims=True).T)
    return found


@ledger.command()
def show(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR...", help="Runs' folders, or state folders.")
    ] = None,
    last: Annotated[bool, o.plain_option("--last", "The newest run below --out.")] = False,
    out: Annotated[Path, o.plain_option("--out", "Parent of the runs' folders, for --last.", "DIR")] = Path("runs"),
    device: Annotated[int | None, o.plain_option("--device", "One device, release by release.", "I")] = None,
    as_json: o.PlainJson = False,
    debug: o.PlainDebug = False,
) -> None:
    """Show the releases of devices: time, attribute, loss by level, and the policy with its caps."""
    if bool(folders) == last:
        raise click.UsageError("Give DIRs or --last (and not both)", click.get_current_context())
    shown = [newest_run(out)] if last else list(dict.fromkeys(folders or ()))
    accounts = [read_account(state, device) for folder in shown for state in states_in(folder)]
    if as_json:
        print_json({"states": [to_json(account) for account in accounts]})
        return

    from rich.text import Text

    screen = console()
    for number, account in enumerate(accounts):
        if number:
            screen.print()
        screen.print(Text(str(account.state.folder), style="bold"), soft_wrap=True)  # whole, to be copied
        screen.print(view(account))


def to_json(account: LedgerContent) -> dict[str, Any]:
    """Return an account as JSON values; an unbounded loss is null."""
    document = {
        "folder": str(account.state.folder),
        "devices": len(account.state),
        "simulation_seeded": account.state.head["simulation_seeded"],
        "policy": account.state.policy.to_dict(),
        "releases": [
            {
                "attribute": name,
                "collection": collection,
                "devices": len({answer.device for answer, _ in rows}),
                "first": when(min(answer.time for answer, _ in rows)),
                "last": when(max(answer.time for answer, _ in rows)),
                "bytes": sum(size_of(*row) for row in rows),
            }
            for (name, collection), rows in releases(account.parts).items()
        ],
        "lifetime_per_device": account.lifetime,
    }
    if account.device is not None:
        document["device"] = account.device
        document["entries"] = [
            {
                "attribute": part.attribute, "stage": stage_of(answer), "when": when(answer.time),
                "collection": answer.collection, "fingerprint": part.fingerprint.hex(), "loss_bit": part.loss.bit,
                "loss_vector": part.loss.vector, "delta": part.loss.delta, "bytes": size_of(answer, part),
            }
            for answer, part in account.parts
        ]  # fmt: skip
    return dict(json.loads(json.dumps(document), parse_constant=lambda _: None))


def releases(parts: Sequence[tuple[Answer, Part]]) -> dict[tuple[str, str], list[tuple[Answer, Part]]]:
    """Return the parts by attribute and collection."""
    found: dict[tuple[str, str], list[tuple[Answer, Part]]] = {}
    for answer, part in parts:
        found.setdefault((part.attribute, answer.collection), []).append((answer, part))
    return dict(sorted(found.items()))


def size_of(answer: Answer, part: Part) -> int:
    """Return the bytes that left: of the attribute's report, or of the whole answer of a training."""
    return answer.size if answer.is_training else len(part.report)


def stage_of(answer: Answer) -> int:
    """Return the stage of a query's answer, or the number of a training's."""
    return answer.number if answer.is_training else answer.stage


def when(seconds: float) -> str:
    """Return a time in the local time zone."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds")


def view(account: LedgerContent) -> Any:
    """Return the text to print: the policy with its caps, the releases, and the lifetime loss."""
    from rich.console import Group
    from rich.markup import escape

    from ldpsim.curator.privacy.levels import level_spec

    state, policy = account.state, account.state.policy
    parts: list[Any] = [
        f"{len(state):,} devices, mode {policy.mode}, reporting {policy.reporting}; "
        f"a question asked again: {policy.on_requery}",
        f"accepted mechanisms: {escape(', '.join(sorted(policy.mechanisms))) or 'none'}",
    ]
    if state.head["simulation_seeded"]:
        parts.append("[yellow]secrets derived from a seed: these reports are not private[/yellow]")
    caps = text_table("cap on the lifetime loss of", ">one entry", ">the whole", ">as a user's")
    for name, cap in sorted(policy.caps.items()):
        caps.add_row(escape(name), *(epsilon(value) for value in (cap.bit, cap.vector, cap.user)))
    if math.isfinite(policy.user_cap):
        caps.add_row("all releases together", "", "", epsilon(policy.user_cap))
    parts += ["", caps, ""]
    if not account.parts:
        return Group(*parts, "nothing was released" if account.device is None else f"device {account.device}: nothing")

    one = account.device is not None
    figures = (">one entry", ">the whole") if one else (">devices",)
    shown = text_table(
        f"device {account.device} released" if one else "released", "when", *figures, ">bytes", "!collection"
    )
    for (name, collection), rows in releases(account.parts).items():
        losses = [math.fsum(part.loss.bit for _, part in rows), math.fsum(part.loss.vector for _, part in rows)]
        counts = [epsilon(loss) for loss in losses] if one else [f"{len({answer.device for answer, _ in rows}):,}"]
        size = f"{sum(size_of(*row) for row in rows):,}"
        shown.add_row(
            escape(name), when(min(answer.time for answer, _ in rows))[:19], *counts, size, escape(collection)
        )
    life = text_table("lifetime loss when this changes", *((">epsilon",) if one else (">largest", ">mean")))
    for level, values in account.lifetime.items():
        if values["max"] != 0:
            bounds = [values["max"]] if one else [values["max"], values["mean"]]
            life.add_row(
                level_spec(level).words, *("unprotected" if value is None else epsilon(value) for value in bounds)
            )
    return Group(*parts, shown, "", life)
