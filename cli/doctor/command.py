"""``ldpsim doctor``: what is amiss with this installation, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpsim.cli import options as o
from ldpsim.cli.errors import FAILED
from ldpsim.cli.output import console, print_json

if TYPE_CHECKING:
    from ldpsim.cli.doctor.checks import Finding

_COLOURS = {"warning": "yellow", "problem": "red"}


def doctor(
    out: Annotated[Path, o.plain_option("--out", "Folder of results", "DIR")] = Path("runs"),
    state: Annotated[
        Path | None, o.plain_option("--state", "Folder of enrolled devices", "DIR", show_default="that of --out")
    ] = None,
    as_json: o.AsJson = False,
    debug: o.Debug = False,
) -> None:
    """Check this installation and this machine; exit 1 for a problem."""
    findings = list(_findings(out, out if state is None else state))
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        show(findings)
    if any(finding.status == "problem" for finding in findings):
        raise typer.Exit(FAILED)


def _findings(out: Path, state: Path) -> Iterator[Finding]:
    from ldpsim.cli.doctor import checks  # psutil and packaging: no other command needs to wait for them

    yield from checks.required_packages()
    several: dict[str, Callable[[], Finding | None]] = {
        "ldpsim": checks.ldpsim_itself,
        "python": checks.python,
        "flower runtime": checks.flower_commands,
        "gpu": checks.graphics_card,
        "results": lambda: checks.room("results", out),
        "devices": lambda: None if state == out else checks.room("devices", state),
        "ledger": lambda: checks.locks(state),
        "open files": checks.open_files,
    }
    for name, check in several.items():
        if (finding := checked(name, check)) is not None:
            yield finding


def checked(name: str, check: Callable[[], Finding | None]) -> Finding | None:
    """Return what a check finds. A check that fails is a problem of its own, never the end of the command."""
    from ldpsim.cli.doctor.checks import Finding

    try:
        return check()
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return Finding(name, f"this check failed: {reason}", "problem", "report this line with the output of --json")


def show(findings: list[Finding]) -> None:
    """Print one line a finding, and its remedy below it; one line where there is none."""
    from rich.markup import escape

    screen = console()
    for finding in findings:
        colour = _COLOURS[finding.status]
        screen.print(f"[{colour}]{finding.status:7}[/{colour}] {escape(finding.name)}: {escape(finding.text)}")
        screen.print(f"        [dim]->[/dim] {escape(finding.remedy)}")
    if not findings:
        screen.print("no problem: Python, packages, Flower, graphics card, disks, file locks")
