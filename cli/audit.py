"""``ldpsim audit``: the claimed loss, the exact loss, and the lower bound from trials."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.audit_page import FAIL, NO_BOUND, PASS, AuditTable, attack_table, loss_table, write_page
from ldpsim.cli.errors import FAILED, Failure
from ldpsim.cli.output import console, echo, print_json, text_table, working
from ldpsim.strategies.setup.option_spec import OUTPUT

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME...",
        help="Mechanisms, methods, noise; or module:function, any Python randomiser.",
        autocompletion=completion.audited,
    ),
]
All = Annotated[bool, o.plain_option("--all", "Every mechanism and method, and the noise.")]
Trials = Annotated[int, o.plain_option("--trials", "Trials per side of every lower bound.", "N")]
Confidence = Annotated[float, o.plain_option("--confidence", "Confidence of all lower bounds together.", "C")]
_THEIRS = "Any Python randomiser (module:function)"
Domain = Annotated[
    str | None,
    o.in_panel(_THEIRS, "--domain", "Values: 0:7, a,b,c, a JSON list, bits:8, floats:0,1,11 or module:function.", "D"),
]
Claims = Annotated[float | None, o.in_panel(_THEIRS, "--claims", "Claimed epsilon.", "EPS")]
Delta = Annotated[float, o.in_panel(_THEIRS, "--delta", "Delta of the claim.", "D")]
StatedLaw = Annotated[
    str | None,
    o.in_panel(
        _THEIRS,
        "--law",
        "Function from a value to {report: probability}; default: its attribute law.",
        "module:function",
    ),
]
Event = Annotated[
    str | None,
    o.in_panel(_THEIRS, "--event", "Function from a report to the value that is counted.", "module:function"),
]
TimeLimit = Annotated[
    float, o.in_panel(_THEIRS, "--time-limit", "Most seconds for the trials; later ones are left out.", "S")
]
_RELEASED = "A published model (METHOD --released-model)"
Released = Annotated[bool, o.in_panel(_RELEASED, "--released-model", "Attack the model that a run publishes.")]
_SHADOWS = "Runs of the method; one half attacks the other."
Shadows = Annotated[int | None, o.in_panel(_RELEASED, "--shadows", _SHADOWS, "N", show_default="32")]
Epsilon = Annotated[
    float | None, o.plain_option("--epsilon", "Budget of methods, as of a run.", "X", show_default="a small one")
]
Settings = Annotated[list[str] | None, o.plain_option("--set", "A parameter of methods, as of a run.", "KEY=VALUE")]
Out = Annotated[Path | None, o.in_panel(OUTPUT, "--out", "Also a page of the rows.", "FILE.html")]
Workers = Annotated[int, o.plain_option("--workers", "Number of processes.", "N", show_default="cores")]


def audit(
    names: Names = None,
    everything: All = False,
    trials: Trials = 20_000,
    confidence: Confidence = 1 - 1e-6,
    seed: o.Seed = 0,
    workers: Workers = 0,
    domain: Domain = None,
    claims: Claims = None,
    delta: Delta = 0.0,
    law: StatedLaw = None,
    event: Event = None,
    time_limit: TimeLimit = 300.0,
    released_model: Released = False,
    shadows: Shadows = None,
    epsilon: Epsilon = None,
    settings: Settings = None,
    out: Out = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Audit mechanisms and methods: claimed loss, exact loss, and a lower bound from trials.

    ldpsim audit multi_bit hogs noise
    ldpsim audit vote --epsilon 4 --set batches=1 --out vote.html
    ldpsim audit mine:function --domain 0:7 --claims 1
    """
    if bool(names) == everything:
        raise ValueError("give the names of mechanisms or methods, or --all (and not both)")
    theirs = any(":" in name for name in names or ())
    of_functions = {"--domain": domain, "--claims": claims, "--law": law, "--event": event, "--delta": delta or None}
    if not theirs and (named := [option for option, value in of_functions.items() if value is not None]):
        raise ValueError(f"{named[0]}: only for a function, audited as module:function")
    of_methods = {"--epsilon": epsilon, "--set": settings}
    if theirs and (named := [option for option, value in of_methods.items() if value is not None]):
        raise ValueError(f"{named[0]}: only for methods; the claim of a function is --claims")
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise ValueError(f"--out {out}: must name a file in a folder that is there")
    if shadows is not None and not released_model:
        raise ValueError("--shadows: only with --released-model")
    with working(silent=quiet or as_json) as progress:
        rows: Sequence[Any]
        if released_model:
            from ldpsim.strategies.attacks.audit.released_model import SHADOWS, audit_released

            if names is None or len(names) > 1:
                raise ValueError("--released-model attacks one method: give its name")
            attack = audit_released(names[0], shadows=SHADOWS if shadows is None else shadows, epsilon=epsilon,
                                    settings=o.pairs("--set", settings), confidence=confidence, seed=seed,
                                    progress=progress)  # fmt: skip
            rows = list(attack)
        elif theirs:
            if names is None or len(names) > 1 or domain is None or claims is None:
                raise ValueError("module:function is audited alone, and needs --domain and --claims")
            from ldpsim.strategies.attacks.audit.randomiser import RandomiserOptions, audit_named

            rows = audit_named(
                RandomiserOptions(function=names[0], domain=domain, claims=claims, delta=delta, law=law, event=event,
                                  trials=trials, confidence=confidence, seed=seed, seconds=time_limit),
                progress=progress,
            )  # fmt: skip
        else:
            from ldpsim.strategies.attacks.audit.audit import AuditOptions
            from ldpsim.strategies.attacks.audit.audit import audit as run
            from ldpsim.strategies.engines.pool import available_cores

            asked = AuditOptions(names=tuple(dict.fromkeys(names or ())), trials=trials, confidence=confidence,
                                 seed=seed, workers=workers or available_cores(), epsilon=epsilon,
                                 settings=o.pairs("--set", settings))  # fmt: skip
            rows = run(asked, progress=progress)
    wrong = [row for row in rows if row.passed is False]
    if released_model:
        table = attack_table(rows, confidence=confidence)
    else:
        table = loss_table(rows, trials=trials, confidence=confidence, theirs=theirs)
    if out is not None:
        given = {"--released-model": released_model, "--shadows": shadows, **of_methods, **of_functions}
        write_page(out, table, _command(names, {**given, "--seed": seed or None}))
    if as_json:
        more = {} if out is None else {"html": str(out.absolute())}
        print_json({"rows": [row.to_dict() for row in rows], "passed": not wrong, **more})
    elif not quiet:
        console().print(view(table))
        if out is not None:
            echo(f"Written to {out}")
    elif out is not None:
        echo(str(out))
    if wrong:
        first = wrong[0]
        said = f"first {first.name}, {first.level}: {first.detail}"
        raise Failure(f"{len(wrong)} of {len(rows)} rows FAIL, {said}", FAILED)


def _command(names: Sequence[str] | None, given: Mapping[str, Any]) -> str:
    """Return the names and the options that say what was audited, quoted for a shell."""
    words = ["ldpsim", "audit", *(names or ["--all"])]
    for option, value in given.items():
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            for each in value if isinstance(value, list) else [value]:
                words += [option, f"{each:g}" if isinstance(each, float) else str(each)]
    return shlex.join(words)


def view(table: AuditTable) -> Any:
    """Return the text to print: one table of 80 columns, the rows that need words, and the explanation."""
    from rich.console import Group
    from rich.markup import escape

    shown = text_table("name", "what changes", *(f">{heading}" for heading in table.headings), "", gap=1)
    words, last = [], ""
    for line in table.lines:
        style = _STYLES.get(line.verdict, "dim")
        name = "" if line.name == last else line.name.rpartition(":")[2]
        shown.add_row(escape(name), line.change, *line.figures, f"[{style}]{line.verdict}[/]")
        if table.explained or line.verdict == FAIL:
            said = escape(f"{line.name}, {line.level}: {line.detail}")
            words.append(f"[{'red' if line.verdict == FAIL else 'dim'}]{said}[/]")
        last = line.name
    return Group(shown, "", *words, escape(table.total), f"[dim]{escape(table.legend)}[/dim]")


_STYLES = {PASS: "green", FAIL: "bold red", NO_BOUND: "dim"}
