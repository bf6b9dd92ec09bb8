"""``ldpsim audit``: whether claimed losses hold, by exact losses and bounds from trials, and a page of all rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.errors import FAILED, Failure
from ldpsim.cli.output import MOST_ROWS, console, echo, print_json, text_table, working
from ldpsim.cli.words import count, points
from ldpsim.curator.shown import shown_bound, shown_loss
from ldpsim.strategies.setup.option_spec import OUTPUT, all_digits

_TIGHT = 1e-6  # relative: claims are rounded up
PASS, FAIL, NO_BOUND = "pass", "FAIL", "no bound"
_VERDICTS = {True: PASS, False: FAIL, None: NO_BOUND}
# Of a mechanism's rows; a method's rows are about levels of guarantee.
_CHANGES = {"value": "the value", "bit": "one entry", "vector": "the whole attribute", "law": "(stated law = drawn)"}


@dataclass(frozen=True)
class AuditLine:
    """A row in words: its name and level, what changes, its figures, the verdict, and how it was found.

    ``tight`` is whether the exact loss is the claim.
    """

    name: str
    level: str
    change: str
    figures: tuple[str, ...]
    verdict: str
    detail: str
    tight: bool = False


@dataclass(frozen=True)
class AuditTable:
    """All rows in words.

    Args:
        lines: The rows.
        headings: Of the figures.
        answer: Whether the claims hold, and which are tight; how many rows pass and fail.
        legend: Explanation of the figures.
        explained: Whether the detail of each row is shown in the terminal, and not only of those that fail.
    """

    lines: Sequence[AuditLine]
    headings: tuple[str, ...]
    answer: str
    legend: str
    explained: bool = False


def loss_table(rows: Sequence[Any], *, trials: int, confidence: float, theirs: bool = False) -> AuditTable:
    """Return the words of an audit of losses.

    Args:
        rows: Rows of the audit.
        trials: Trials on each side.
        confidence: Confidence of all bounds together.
        theirs: Whether the rows are about a person's own function.
    """
    legend = (
        f"exact: from the code's own draws, at small sizes. trials show: a lower bound from {trials:,} trials per "
        f"side; all bounds hold together with confidence {confidence:.7g}, so a correct one fails with a chance of at "
        "most one minus that. A row passes if neither figure exceeds the claim."
    )
    if theirs:
        legend = (
            f"exact: of the stated law, over these values. trials show: a lower bound, with confidence "
            f"{confidence:.7g}. A bound above the claim proves the claim wrong. A bound below it proves nothing about "
            "the claim."
        )
    figures = [(_figure(row.claimed), _figure(row.exact), _bound(row.lower_bound)) for row in rows]
    figures = [("", "", "") if row.level == "law" else each for row, each in zip(rows, figures, strict=True)]
    return _table(rows, figures, ("claimed", "exact", "trials show"), legend, explained=theirs, weak=theirs)


def attack_table(rows: Sequence[Any], *, confidence: float) -> AuditTable:
    """Return the words of an attack on a released model."""
    legend = (
        "attack shows: a lower bound on epsilon from the share of right guesses; all bounds hold together with "
        f"confidence {confidence:.7g}, and only they decide. at most: the share that the guarantee allows. The share "
        "has the error of few trials. A weak attack proves nothing: only the claim bounds a better one."
    )
    figures = [(_figure(row.claimed), _bound(row.lower_bound), points(row.right), points(row.largest_right))
               for row in rows]  # fmt: skip
    return _table(rows, figures, ("claimed", "attack shows", "right %", "at most"), legend, weak=True)


def _table(
    rows: Sequence[Any], figures: Sequence[tuple[str, ...]], headings: tuple[str, ...], legend: str,
    *, explained: bool = False, weak: bool = False,
) -> AuditTable:  # fmt: skip
    from ldpsim.curator.privacy.levels import LEVELS

    changes = {**{name: spec.term for name, spec in LEVELS.items()}, **_CHANGES}
    lines = [AuditLine(row.name, row.level, changes.get(row.level, row.level), cells, _VERDICTS[row.passed], row.detail,
                       _is_tight(row)) for row, cells in zip(rows, figures, strict=True)]  # fmt: skip
    return AuditTable(lines, headings, _answer(lines, weak), legend, explained)


def _is_tight(row: Any) -> bool:
    exact = getattr(row, "exact", None)
    if row.level == "law" or not (row.passed and row.claimed) or exact is None:
        return False
    return bool(exact >= row.claimed * (1 - _TIGHT))


def _answer(lines: Sequence[AuditLine], weak: bool) -> str:
    """Return sentences: whether the claims hold, how many rows pass, and how many claims are tight.

    Args:
        lines: The rows.
        weak: Whether the bounds are those of an attack or of trials alone, which prove no claim right.
    """
    counts = {word: sum(line.verdict == word for line in lines) for word in (PASS, FAIL, NO_BOUND)}
    verdict = ""
    if counts[PASS] == len(lines):
        verdict = "Yes, the losses hold, and no figure is above its claim: "
        if weak:
            verdict = "No bound is above its claim, which proves nothing for it: "
    if counts[NO_BOUND] == len(lines):
        verdict = "No loss is printed that could be checked: "
    if counts[FAIL]:
        first = next(line for line in lines if line.verdict == FAIL)
        verdict = f"NO, a claim does not hold ({first.name}, {first.change}): "
    words = {PASS: f"{counts[PASS]} of {len(lines)} pass.", FAIL: f"{counts[FAIL]} FAIL.",
             NO_BOUND: f"{counts[NO_BOUND]} without a bound."}  # fmt: skip
    sentences = [verdict + " ".join(words[word] for word in words if word == PASS or counts[word])]
    if tight := sum(line.tight for line in lines):
        sentences.append(f"{count(tight, 'claim')} {'is' if tight == 1 else 'are'} tight: no smaller loss would hold.")
    return " ".join(sentences)


def write_page(path: Path, table: AuditTable, command: str) -> None:
    """Write the page, completely or not at all.

    Args:
        path: The HTML file.
        table: Its rows.
        command: What was asked for.
    """
    from ldpsim.cli.report.page import environment
    from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically

    names = list(dict.fromkeys(line.name for line in table.lines))
    title = f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}: claimed and audited loss"
    failed = any(line.verdict == FAIL for line in table.lines)
    text = environment().get_template("audit.html").render(title=title, command=command, table=table, failed=failed)
    write_atomically(path, text, mode=PASSED_AROUND)


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return "none" if value == float("inf") else shown_loss(value)


def _bound(value: float | None) -> str:
    return "" if value is None else shown_bound(value)


Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Mechanism, method, noise or module:function",
        autocompletion=completion.audited,
    ),
]
All = Annotated[bool, o.plain_option("--all", "Every mechanism and method, and the noise")]
Trials = Annotated[int, o.plain_option("--trials", "Trials per side of every lower bound", "N")]
Confidence = Annotated[float, o.plain_option("--confidence", "Confidence of all bounds together", "C")]
_THEIRS = "A Python randomiser (module:function)"
Domain = Annotated[
    str | None,
    o.in_panel(_THEIRS, "--domain", "0:7, a,b,c, a JSON list or module:function", "D"),
]
Claims = Annotated[float | None, o.in_panel(_THEIRS, "--claims", "Claimed epsilon", "EPS")]
Delta = Annotated[float, o.in_panel(_THEIRS, "--delta", "Delta of the claim, or of the noise below", "D")]
StatedLaw = Annotated[
    str | None,
    o.in_panel(
        _THEIRS,
        "--law",
        "module:function, value to probabilities",
        "FUNC",
        show_default="its attribute law",
    ),
]
_NOISE = "Noise of your own: its privacy curve"
Gaussian = Annotated[float | None, o.in_panel(_NOISE, "--gaussian", "Gaussian noise of this deviation", "SIGMA")]
Laplace = Annotated[float | None, o.in_panel(_NOISE, "--laplace", "Laplace noise of this scale", "SCALE")]
_MOVE = "Most that a person moves a value (L2; L1 for Laplace)"
Sensitivity = Annotated[float | None, o.in_panel(_NOISE, "--sensitivity", _MOVE, "X", show_default="1")]
Rounds = Annotated[int | None, o.in_panel(_NOISE, "--rounds", "Releases under this noise", "N", show_default="1")]
_RELEASED = "A published model"
Released = Annotated[bool, o.in_panel(_RELEASED, "--released-model", "Attack the model that a run publishes")]
_SHADOWS = "Runs; one half attacks the other"
Shadows = Annotated[int | None, o.in_panel(_RELEASED, "--shadows", _SHADOWS, "N", show_default="32")]
Epsilon = Annotated[
    float | None, o.plain_option("--epsilon", "Budget of methods, as of a run", "X", show_default="a small one")
]
Settings = Annotated[list[str] | None, o.plain_option("--set", "Parameter of methods, as of a run", "KEY=VALUE")]
Out = Annotated[Path | None, o.in_panel(OUTPUT, "--out", "Write a page of the rows, too", "FILE.html")]
Workers = Annotated[int, o.plain_option("--workers", "Number of processes", "N", show_default="cores")]


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
    gaussian: Gaussian = None,
    laplace: Laplace = None,
    sensitivity: Sensitivity = None,
    rounds: Rounds = None,
    released_model: Released = False,
    shadows: Shadows = None,
    epsilon: Epsilon = None,
    settings: Settings = None,
    out: Out = None,
    details: o.Details = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Check claimed losses: the exact loss, and a lower bound from trials.

    ldpsim audit multi_bit hogs noise
    ldpsim audit vote --epsilon 4 --set batches=1 --out vote.html
    ldpsim audit mine:function --domain 0:7 --claims 1
    ldpsim audit --gaussian 4 --rounds 10 --delta 1e-5
    """
    if gaussian is not None or laplace is not None:
        others = {"NAME": names, "--all": everything, "--domain": domain, "--law": law, "--epsilon": epsilon,
                  "--set": settings, "--released-model": released_model, "--shadows": shadows,
                  "--out": out}  # fmt: skip
        if extras := [option for option, value in others.items() if value]:
            raise ValueError(f"{extras[0]}: not with --gaussian or --laplace, which are about noise alone")
        if gaussian is not None and laplace is not None:
            raise ValueError("--laplace: not with --gaussian; give one noise")
        if gaussian is not None and not delta:
            raise ValueError("--gaussian: needs --delta, for example --delta 1e-5; no epsilon holds at delta 0")
        _curve(gaussian, laplace, sensitivity, rounds, delta, claims, as_json=as_json, quiet=quiet)
        return
    if sensitivity is not None or rounds is not None:
        option = "--sensitivity" if sensitivity is not None else "--rounds"
        raise ValueError(f"{option}: only with --gaussian or --laplace")
    if bool(names) == everything:
        raise ValueError("give the names of mechanisms or methods, or --all (and not both)")
    theirs = any(":" in name for name in names or ())
    of_functions = {"--domain": domain, "--claims": claims, "--law": law, "--delta": delta or None}
    if not theirs and (extras := [option for option, value in of_functions.items() if value is not None]):
        raise ValueError(f"{extras[0]}: only for a function, audited as module:function")
    of_methods = {"--epsilon": epsilon, "--set": settings}
    if theirs and (extras := [option for option, value in of_methods.items() if value is not None]):
        raise ValueError(f"{extras[0]}: only for methods; the claim of a function is --claims")
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise ValueError(f"--out {out}: must name a file in a folder that is there")
    if shadows is not None and not released_model:
        raise ValueError("--shadows: only with --released-model")
    with working(quiet=quiet or as_json) as progress:
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
            from ldpsim.curator.attacks.mechanism_audit import Effort
            from ldpsim.strategies.attacks.audit.audit import audit_callable

            rows = audit_callable(names[0], domain, Effort(trials, confidence, 1, seed), claimed=claims, delta=delta,
                                  law=law, progress=progress)  # fmt: skip
        else:
            from ldpsim.strategies.attacks.audit.audit import AuditOptions
            from ldpsim.strategies.attacks.audit.audit import audit as run
            from ldpsim.strategies.engines.pool import available_cores

            options = AuditOptions(names=tuple(dict.fromkeys(names or ())), trials=trials, confidence=confidence,
                                   seed=seed, workers=workers or available_cores(), epsilon=epsilon,
                                   settings=o.pairs("--set", settings))  # fmt: skip
            rows = run(options, progress=progress)
    wrong = [row for row in rows if row.passed is False]
    if released_model:
        table = attack_table(rows, confidence=confidence)
    else:
        table = loss_table(rows, trials=trials, confidence=confidence, theirs=theirs)
    if out is not None:
        from ldpsim.curator.attacks.mechanism_audit import CONFIDENCE, TRIALS

        flags = {"--released-model": released_model, "--shadows": shadows, **of_methods, **of_functions,
                 "--trials": None if trials == TRIALS else trials,
                 "--confidence": None if confidence == CONFIDENCE else confidence, "--seed": seed or None}  # fmt: skip
        write_page(out, table, _command(names, flags))
    if as_json:
        more = {} if out is None else {"html": str(out.absolute())}
        print_json({"rows": [row.to_dict() for row in rows], "passed": not wrong, **more})
    elif not quiet:
        console().print(view(table, details=details))
        found = "How each row was found"
        echo(f"{found}: --details, or a page: --out FILE.html" if out is None else f"{found}: {out}")
    elif out is not None:
        echo(str(out))
    if wrong:
        first = wrong[0]
        text = f"first {first.name}, {first.level}: {first.detail}"
        raise Failure(f"{len(wrong)} of {len(rows)} rows FAIL, {text}", FAILED)


def _curve(
    gaussian: float | None, laplace: float | None, sensitivity: float | None, rounds: int | None, delta: float,
    claims: float | None, *, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    from ldpsim.cli.noise_curve import show_curve
    from ldpsim.curator.additive_noise import GAUSSIAN, LAPLACE, AdditiveNoise

    distribution, scale = (LAPLACE, laplace) if gaussian is None else (GAUSSIAN, gaussian)
    assert scale is not None
    noise = AdditiveNoise(
        distribution=distribution, scale=scale, sensitivity=1.0 if sensitivity is None else sensitivity,
        rounds=1 if rounds is None else rounds,
    )  # fmt: skip
    show_curve(noise, delta, claims, as_json=as_json, quiet=quiet)


def _command(names: Sequence[str] | None, flags: Mapping[str, Any]) -> str:
    """Return the names and the options that say what was audited, quoted for a shell."""
    words = ["ldpsim", "audit", *(names or ["--all"])]
    for option, value in flags.items():
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            for each in value if isinstance(value, list) else [value]:
                words += [option, all_digits(each) if isinstance(each, float) else str(each)]
    return shlex.join(words)


def view(table: AuditTable, *, details: bool = False) -> Any:
    """Return the text to print: the answer, and ten rows, those that fail first.

    Args:
        table: The rows.
        details: Whether to return all rows in their order, with how each was found.
    """
    from rich.console import Group
    from rich.markup import escape

    lines = list(table.lines) if details else sorted(table.lines, key=lambda line: line.verdict != FAIL)[:MOST_ROWS]
    shown = text_table("name", "what changes", *(f">{heading}" for heading in table.headings), "", gap=1)
    words, last = [], ""
    for line in lines:
        style = _STYLES.get(line.verdict, "dim")
        name = "" if line.name == last else line.name.rpartition(":")[2]
        verdict = f"[{style}]{line.verdict}[/]{', tight' if line.tight else ''}"
        shown.add_row(escape(name), line.change, *line.figures, verdict)
        if table.explained or details:
            text = escape(f"{line.name}, {line.level}: {line.detail}")
            words.append(f"[{'red' if line.verdict == FAIL else 'dim'}]{text}[/]")
        last = line.name
    if len(table.lines) > len(lines):
        words.append(f"… {len(table.lines) - len(lines)} more (--details)")
    return Group(f"[bold]{escape(table.answer)}[/bold]", "", shown, *words, f"[dim]{escape(table.legend)}[/dim]")


_STYLES = {PASS: "green", FAIL: "bold red", NO_BOUND: "dim"}
