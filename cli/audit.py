"""``ldpsim audit``: the claimed loss, the exact loss, and the lower bound from trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cli import completion
from cli import options as o
from cli.errors import FAILED, Failure
from cli.output import console, print_json, text_table, working

SHADOWS = 32

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME...",
        help="Mechanisms, methods, device, noise; or module:function, any Python randomiser.",
        autocompletion=completion.audited,
    ),
]
All = Annotated[bool, o.plain_option("--all", "Every mechanism and method, the noise, and whole devices.")]
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
_RELEASED = "Published models (METHOD --released-model)"
Released = Annotated[
    bool, o.in_panel(_RELEASED, "--released-model", "Attack the model that a run of the method publishes.")
]
Shadows = Annotated[
    int | None,
    o.in_panel(_RELEASED, "--shadows", "Runs of a method; one half attacks the other.", "N", show_default=str(SHADOWS)),
]
People = Annotated[
    str, o.in_panel(_RELEASED, "--dataset", "Data set; other data than generated are run once.", "NAME|FILE")
]
Clients = Annotated[
    int | None, o.in_panel(_RELEASED, "--clients", "Number of devices.", "N", show_default="generated: 120")
]
Epsilon = Annotated[float | None, o.in_panel(_RELEASED, "--epsilon", "Budget, in the method's own sense.", "X")]
Settings = Annotated[
    list[str] | None, o.in_panel(_RELEASED, "--set", "A parameter of the method or the training.", "KEY=VALUE")
]
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
    dataset: People = "generated",
    clients: Clients = None,
    epsilon: Epsilon = None,
    settings: Settings = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Audit mechanisms, methods and devices: claimed loss, exact loss, and a lower bound from trials.

    ldpsim audit multi_bit hogs device
    ldpsim audit mine:function --domain 0:7 --claims 1
    """
    if bool(names) == everything:
        raise ValueError("give the names of mechanisms or methods, or --all (and not both)")
    theirs = any(":" in name for name in names or ())
    given = {"--domain": domain, "--claims": claims, "--law": law, "--event": event, "--delta": delta or None}
    if not theirs and (named := [option for option, value in given.items() if value is not None]):
        raise ValueError(f"{named[0]}: only for a function, audited as module:function")
    of_runs = {"--dataset": None if dataset == "generated" else dataset, "--clients": clients, "--epsilon": epsilon,
               "--set": settings, "--shadows": shadows}  # fmt: skip
    if not released_model and (named := [option for option, value in of_runs.items() if value is not None]):
        raise ValueError(f"{named[0]}: only with --released-model")
    with working(silent=quiet or as_json) as progress:
        rows: Sequence[Any]
        if released_model:
            from strategies.attacks.audit.released_model import ReleasedOptions, audit_released

            rows = audit_released(
                ReleasedOptions(methods=tuple(dict.fromkeys(names or ())), dataset=dataset,
                                shadows=SHADOWS if shadows is None else shadows, clients=clients, epsilon=epsilon,
                                settings=o.pairs("--set", settings), confidence=confidence, seed=seed),
                progress=progress,
            )  # fmt: skip
        elif theirs:
            if names is None or len(names) > 1 or domain is None or claims is None:
                raise ValueError("module:function is audited alone, and needs --domain and --claims")
            from strategies.attacks.audit.randomiser import RandomiserOptions, audit_named

            rows = audit_named(
                RandomiserOptions(function=names[0], domain=domain, claims=claims, delta=delta, law=law, event=event,
                                  trials=trials, confidence=confidence, seed=seed, seconds=time_limit),
                progress=progress,
            )  # fmt: skip
        else:
            from strategies.attacks.audit.audit import AuditOptions
            from strategies.attacks.audit.audit import audit as run
            from strategies.engines.pool import available_cores

            asked = AuditOptions(names=tuple(dict.fromkeys(names or ())), trials=trials, confidence=confidence,
                                 seed=seed, workers=workers or available_cores())  # fmt: skip
            rows = run(asked, progress=progress)
    wrong = [row for row in rows if row.passed is False]
    if as_json:
        print_json({"rows": [row.to_dict() for row in rows], "passed": not wrong})
    elif not quiet:
        shown = (
            attacks(rows, confidence)
            if released_model
            else view(rows, trials=trials, confidence=confidence, theirs=theirs)
        )
        console().print(shown)
    if wrong:
        first = wrong[0]
        said = f"first {first.name}, {first.level}: {first.detail}"
        raise Failure(f"{len(wrong)} of {len(rows)} rows FAIL, {said}", FAILED)


def attacks(rows: Any, confidence: float) -> Any:
    """Return the text to print of attacks on released models: a table of 80 columns and its explanation."""
    from rich.console import Group
    from rich.markup import escape

    from cli.words import points
    from curator.privacy.levels import LEVELS

    verdicts = {True: "[green]pass[/green]", False: "[bold red]FAIL[/bold red]", None: "[dim]no bound[/dim]"}
    shown = text_table("method", "what changes", ">claimed", ">attack shows", ">AUC %", ">TPR %", ">at most", "", gap=1)
    for row in rows:
        most = row.largest_true_positives
        shown.add_row(escape(row.name), LEVELS[row.level].subject, _figure(row.claimed), _figure(row.lower_bound),
                      points(row.auc), points(row.true_positives), points(most), verdicts[row.passed])  # fmt: skip
    wrong = [f"[red]{escape(row.name)}, {escape(row.level)}: {escape(row.detail)}[/red]"
             for row in rows if row.passed is False]  # fmt: skip
    said = (
        "[dim]attack shows: a lower bound on epsilon from the share of right guesses; all bounds hold together with "
        f"confidence {confidence:.7g}, and only they decide. TPR: share of the values that are in which the attack "
        f"finds, where it takes {points(rows[0].false_positives, 0)} % of the others for them; at most: what the "
        "guarantee allows. AUC and TPR have the error of few trials. A weak attack proves nothing: only the claim "
        "bounds a better one.[/dim]"
    )
    return Group(shown, "", *wrong, said)


def view(rows: Any, *, trials: int, confidence: float, theirs: bool = False) -> Any:
    """Return the text to print: one table of 80 columns and its explanation.

    Args:
        rows: Rows of the audit.
        trials: Trials on each side.
        confidence: Confidence of all bounds together.
        theirs: Whether the rows are about a person's own function; then each row is explained.
    """
    from rich.console import Group
    from rich.markup import escape

    from curator.privacy.levels import LEVELS

    words = {**{name: spec.subject for name, spec in LEVELS.items()}, **_CHANGES}
    shown = text_table("name", "what changes", ">claimed", ">exact", ">trials show", "", gap=1)
    last = ""
    for row in rows:
        verdict = "[green]pass[/green]" if row.passed else "[bold red]FAIL[/bold red]"
        numbers = [_figure(value) for value in (row.claimed, row.exact, row.lower_bound)]
        if row.level == "law":
            numbers = ["", "", ""]
        shown.add_row(
            "" if row.name == last else row.name.rpartition(":")[2], words.get(row.level, row.level), *numbers, verdict
        )
        last = row.name
    wrong = [row for row in rows if not row.passed]
    parts: list[Any] = [shown, ""]
    explained = [(row, "dim" if row.passed else "red") for row in rows if theirs or not row.passed]
    parts += [f"[{style}]{escape(row.name)}, {escape(row.level)}: {escape(row.detail)}[/{style}]"
              for row, style in explained]  # fmt: skip
    passed = len(rows) - len(wrong)
    parts.append(f"{passed} of {len(rows)} pass." + ("" if not wrong else f" [bold red]{len(wrong)} FAIL.[/bold red]"))
    if theirs:
        parts.append(
            f"[dim]exact: of the stated law, over these values. trials show: a lower bound, with confidence "
            f"{confidence:.7g}. A bound above the claim proves the claim wrong. A bound below it proves nothing about "
            "the claim.[/dim]"
        )
        return Group(*parts)
    parts.append(
        f"[dim]exact: from the code's own draws, at small sizes. trials show: a lower bound from up to "
        f"{trials:,} trials per side; all bounds hold together with confidence {confidence:.7g}, so a correct one "
        "fails with a chance of at most one minus that. A row passes if neither figure exceeds the claim.[/dim]"
    )
    return Group(*parts)


# Of a mechanism's rows; a method's rows are about levels of guarantee.
_CHANGES = {"value": "the value", "bit": "one entry", "vector": "the whole attribute", "law": "(stated law = drawn)"}


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return "none" if value == float("inf") else f"{value:.4f}"
