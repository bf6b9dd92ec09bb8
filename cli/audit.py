"""``ldpsim audit``: the claimed loss, the exact loss, and the lower bound from trials."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import completion
from cli import options as o
from cli.errors import FAILED, Failure
from cli.output import console, print_json, text_table, working

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="MECHANISM|METHOD...", help="Names to audit; see --all.", autocompletion=completion.audited),
]
All = Annotated[bool, o.plain_option("--all", "Every mechanism and method, the noise, and whole devices.")]
Trials = Annotated[int, o.plain_option("--trials", "Trials per side of every lower bound.", "N")]
Confidence = Annotated[float, o.plain_option("--confidence", "Confidence of all lower bounds together.", "C")]
Workers = Annotated[int, o.plain_option("--workers", "Number of processes.", "N", show_default="cores")]


def audit(
    names: Names = None,
    everything: All = False,
    trials: Trials = 20_000,
    confidence: Confidence = 1 - 1e-6,
    seed: o.Seed = 0,
    workers: Workers = 0,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Audit mechanisms, methods and devices: claimed loss, exact loss, and a lower bound from trials.

    ldpsim audit multi_bit hogs device
    """
    if bool(names) == everything:
        raise ValueError("give the names of mechanisms or methods, or --all (and not both)")
    with working(silent=quiet or as_json) as progress:
        from strategies.audit.audit import AuditOptions
        from strategies.audit.audit import audit as run

        asked = AuditOptions(names=tuple(dict.fromkeys(names or ())), trials=trials, confidence=confidence, seed=seed,
                             workers=workers or cores())  # fmt: skip
        rows = run(asked, progress=progress)
    wrong = [row for row in rows if not row.passed]
    if as_json:
        print_json({"rows": [row.to_dict() for row in rows], "passed": not wrong})
    elif not quiet:
        console().print(view(rows, trials=trials, confidence=confidence))
    if wrong:
        first = wrong[0]
        said = f"first {first.name}, {first.level}: {first.detail}"
        raise Failure(f"{len(wrong)} of {len(rows)} rows FAIL, {said}", FAILED)


def cores() -> int:
    """Return the number of processors that this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def view(rows: Any, *, trials: int, confidence: float) -> Any:
    """Return the text to print: one table of 80 columns and its explanation."""
    from rich.console import Group
    from rich.markup import escape

    from curator.privacy.levels import LEVELS

    words = {**{name: spec.heading for name, spec in LEVELS.items()}, **_CHANGES}
    shown = text_table("name", "what changes", ">claimed", ">exact", ">trials show", "", gap=1)
    last = ""
    for row in rows:
        verdict = "[green]pass[/green]" if row.passed else "[bold red]FAIL[/bold red]"
        numbers = [_figure(value) for value in (row.claimed, row.exact, row.lower_bound)]
        if row.level == "law":
            numbers = ["", "", ""]
        shown.add_row("" if row.name == last else row.name, words.get(row.level, row.level), *numbers, verdict)
        last = row.name
    wrong = [row for row in rows if not row.passed]
    parts: list[Any] = [shown, ""]
    parts += [f"[red]{escape(row.name)}, {escape(row.level)}: {escape(row.detail)}[/red]" for row in wrong]
    passed = len(rows) - len(wrong)
    parts.append(f"{passed} of {len(rows)} pass." + ("" if not wrong else f" [bold red]{len(wrong)} FAIL.[/bold red]"))
    parts.append(
        f"[dim]exact: from the code's own draws, at small sizes. trials show: a lower bound from up to "
        f"{trials:,} trials per side; all bounds hold together with confidence {confidence:.7g}, so a correct one "
        "fails with a chance of at most one minus that. A row passes if neither figure exceeds the claim.[/dim]"
    )
    return Group(*parts)


# Of a mechanism's rows; a method's rows are about levels of guarantee.
_CHANGES = {"bit": "one entry", "vector": "the whole attribute", "law": "(stated law = drawn)"}


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return "none" if value == float("inf") else f"{value:.4f}"
