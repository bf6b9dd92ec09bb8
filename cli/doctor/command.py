"""``ldpsim doctor``: the state of this installation, one line a check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ldpsim.cli import options as o
from ldpsim.cli.doctor.finding import Finding, checked, worst
from ldpsim.cli.errors import FAILED
from ldpsim.cli.output import console, print_json, stdout_to_stderr

_LOOKED_FOR = ("flwr", "numpy", "ray", "torch", "torch-geometric")
_NARROW = 60  # columns: below, the name and the text share a line
_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


def doctor(
    out: Annotated[Path, o.plain_option("--out", "Folder of results.", "DIR")] = Path("runs"),
    state: Annotated[
        Path | None, o.plain_option("--state", "Folder of enrolled devices; default: that of --out.", "DIR")
    ] = None,
    data_dir: Annotated[
        Path | None, o.plain_option("--data-dir", "Data sets; default: LDPSIM_DATA, else the cache.", "DIR")
    ] = None,
    start: Annotated[bool, typer.Option("--start", help="Also start torch, Ray and Flower, and stop them.")] = False,
    as_json: o.PlainJson = False,
    debug: o.PlainDebug = False,
) -> None:
    """Check this installation and this machine; exit 1 if there is a problem."""
    findings = list(_findings(out, out if state is None else state, data_dir))
    if start:
        with stdout_to_stderr():
            findings += list(_started())
    if as_json:
        print_json({"status": worst(findings), "checks": [asdict(finding) for finding in findings]})
    else:
        show(findings)
    if worst(findings) == "problem":
        raise typer.Exit(FAILED)


def _findings(out: Path, state: Path, data_dir: Path | None) -> Iterator[Finding]:
    from ldpsim.cli.doctor import machine, software  # psutil and packaging: no other command needs to wait for them

    yield checked("ldpsim", software.ldpsim_itself)
    yield checked("python", software.python)
    yield from software.required_packages()
    yield checked("others", software.other_packages)
    yield checked("flower runtime", software.flower_commands)
    yield checked("telemetry", software.telemetry)
    yield checked("data", lambda: machine.data_sets(data_dir))
    yield checked("gpu", machine.graphics_card)
    yield checked("results", lambda: machine.room("results", out))
    if state != out:
        yield checked("devices", lambda: machine.room("devices", state))
    yield checked("ledger", lambda: machine.locks(state))
    yield checked("open files", machine.open_files)
    yield checked("locale", machine.encoding)
    yield checked("terminal", machine.terminal)


def _started() -> Iterator[Finding]:
    from ldpsim.cli.doctor import starting

    yield checked("torch device", starting.torch_device)
    yield checked("ray started", starting.ray)
    yield checked("flower started", starting.flower)


def show(findings: list[Finding]) -> None:
    """Print one line a finding, its remedy below it, and the sum of them."""
    from rich.markup import escape
    from rich.table import Table

    screen = console()
    shown = Table(box=None, padding=(0, 1, 0, 0), show_header=False, show_edge=False)
    for _ in range(2):
        shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    narrow = screen.width < _NARROW
    for finding in shortened(findings):
        status = f"[{_COLOURS[finding.status]}]{finding.status}[/{_COLOURS[finding.status]}]"
        remedy = f"[dim]->[/dim] {escape(finding.remedy)}"
        if narrow:
            screen.print(f"{status} {escape(finding.name)}: {escape(finding.text)}")
        else:
            shown.add_row(status, escape(finding.name), escape(finding.text))
        if finding.remedy:
            screen.print(remedy) if narrow else shown.add_row("", "", remedy)
    if not narrow:
        screen.print(shown)
    counts = {name: sum(finding.status == name for finding in findings) for name in ("problem", "warning")}
    told = [f"{count} {name}{'s' if count != 1 else ''}" for name, count in counts.items() if count]
    screen.print(f"{', '.join(told) or 'no problem'} in {len(findings)} checks")


def shortened(findings: list[Finding]) -> list[Finding]:
    """Return the findings with one line for the required packages that are as tested and that few people look for."""
    from ldpsim.cli.doctor import software

    needed = {requirement.name for requirement in software.own_requirements()} - set(_LOOKED_FOR)
    quiet = [finding for finding in findings if finding.name in needed and finding.status == "ok"]
    kept = [finding for finding in findings if finding not in quiet]
    if not quiet:
        return kept
    place = next((k for k, finding in enumerate(kept) if finding.name == "others"), len(kept))
    return [*kept[:place], Finding("required", f"{len(quiet)} more packages as tested"), *kept[place:]]
