"""``ldpsim doctor``: the state of this installation, one line a check."""

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

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}  # the most severe one last


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
    worst = max((finding.status for finding in findings), key=list(_COLOURS).index)
    if as_json:
        print_json({"status": worst, "checks": [asdict(finding) for finding in findings]})
    else:
        show(findings)
    if worst == "problem":
        raise typer.Exit(FAILED)


def _findings(out: Path, state: Path) -> Iterator[Finding]:
    from ldpsim.cli.doctor import checks  # psutil and packaging: no other command needs to wait for them

    yield checked("ldpsim", checks.ldpsim_itself)
    yield checked("python", checks.python)
    yield from checks.required_packages()
    yield checked("flower runtime", checks.flower_commands)
    yield checked("gpu", checks.graphics_card)
    yield checked("results", lambda: checks.room("results", out))
    if state != out:
        yield checked("devices", lambda: checks.room("devices", state))
    yield checked("ledger", lambda: checks.locks(state))
    yield checked("open files", checks.open_files)


def checked(name: str, check: Callable[[], Finding]) -> Finding:
    """Return what a check finds. A check that fails is a problem of its own, never the end of the command."""
    from ldpsim.cli.doctor.checks import Finding

    try:
        return check()
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return Finding(name, f"this check failed: {reason}", "problem", "report this line with the output of --json")


def show(findings: list[Finding]) -> None:
    """Print one line a finding, its remedy below it, and the sum of them."""
    from rich.markup import escape

    screen = console()
    for finding in findings:
        colour = _COLOURS[finding.status]
        screen.print(f"[{colour}]{finding.status:7}[/{colour}] {escape(finding.name)}: {escape(finding.text)}")
        if finding.remedy:
            screen.print(f"        [dim]->[/dim] {escape(finding.remedy)}")
    counts = {name: sum(finding.status == name for finding in findings) for name in ("problem", "warning")}
    words = [f"{count} {name}{'s' if count != 1 else ''}" for name, count in counts.items() if count]
    screen.print(f"{', '.join(words) or 'no problem'} in {len(findings)} checks")
