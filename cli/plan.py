"""``ldpsim plan``: decide before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, print_json, text_table, working
from ldpsim.cli.words import NONE, bytes_, count, guessed, percent, planned_loss, points, short_time, size
from ldpsim.strategies.setup.option_spec import MODEL, POPULATION
from ldpsim.strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ldpsim.strategies.planning.plan import Plan
    from ldpsim.strategies.planning.rows import PlanRow

_WISHES = "Wishes"
_DEFAULT = "of --like"
_LARGEST = (1 << 31) - 1  # of a number that is read; what a plan takes is much less
_GUESS = 3  # place of this column, which is left out where a table does not fit
# Options of a run that a plan does not read; `--like` is its data set.
_NOT_READ = ("method", "dataset", "tuned", "defence", "false_alarm", "state", "from_reports", "save_reports",
             "collector_key", "engine", "ray_address", "dropout", "caps", "on_requery", "device", "force",
             "repeats_vary")  # fmt: skip


def _fact(flag: str, help: str, metavar: str, **more: Any) -> Any:
    return o.in_panel(POPULATION, flag, help, metavar, show_default=_DEFAULT, **more)


def _wish(flag: str, help: str, metavar: str, **more: Any) -> Any:
    return o.in_panel(_WISHES, flag, help, metavar, **{"show_default": "none", **more})


@o.with_run_options(leave_out=_NOT_READ)
def plan(
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[METHOD]...",
            help="Methods (see `ldpsim methods`); none: all that people answer by themselves.",
            autocompletion=completion.methods,
        ),
    ] = None,
    like: Annotated[
        str,
        o.in_panel(
            None,
            "--like",
            "Rehearse on the people of a data set, or of your own .npz.",
            "NAME|FILE",
            autocompletion=completion.datasets,
        ),
    ] = "generated",
    mean_degree: Annotated[float | None, _fact("--mean-degree", "Mean number of neighbours.", "K")] = None,
    homophily: Annotated[float | None, _fact("--homophily", "Share of edges inside a class.", "H")] = None,
    classes: Annotated[int | None, _fact("--number-of-classes", "Number of classes.", "C", max=_LARGEST)] = None,
    features: Annotated[int | None, _fact("--number-of-features", "Number of features.", "D", max=_LARGEST)] = None,
    feature_rate: Annotated[
        float | None, _fact("--feature-rate", "Share of a person's features that are not 0.", "R")
    ] = None,
    level: Annotated[
        str,
        _wish("--level", "Level that the plan is about.", "LEVEL", show_default=True, autocompletion=completion.levels),
    ] = "user",
    holds: Annotated[float | None, _wish("--holds", "Solve for budgets at which X holds there.", "X")] = None,
    max_attack: Annotated[
        float | None, _wish("--max-attack", "Largest chance of a right guess at that level.", "P")
    ] = None,
    max_bytes: Annotated[float | None, _wish("--max-bytes", "Most bytes a device, both ways.", "B")] = None,
    no_worth: Annotated[bool, o.in_panel(MODEL, "--no-worth", "Do not rehearse the methods (about a minute).")] = False,
    miniature: Annotated[
        int | None,
        o.in_panel(
            MODEL,
            "--miniature",
            "Rehearse on so many people, with the noise of all.",
            "N",
            min=1,
            show_default="all, or as many as a minute allows",
        ),
    ] = None,
    *,
    options: RunOptions,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Estimate on paper what each method would protect, cost and be worth. Nobody is asked or enrolled."""
    given = {"mean_degree": mean_degree, "homophily": homophily, "classes": classes, "features": features}
    with working(silent=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies.planning.plan import make_plan
        from ldpsim.strategies.planning.planned_people import planned_people
        from ldpsim.strategies.planning.wishes import Wishes

        known = {name: value for name, value in given.items() if value is not None}
        facts, people = planned_people(replace(options, dataset=like), known, feature_rate)
        made = make_plan(methods or (), facts, Wishes(level, holds, max_bytes, max_attack), people,
                         worth=not no_worth, people=miniature, progress=progress)  # fmt: skip
        files = written(made, options.out) if options.out is not None else ()
    if as_json:
        print_json(made.to_dict())
    elif quiet:
        echo(str(files[0]) if files else "")
    else:
        _show(made, files)


def written(made: Plan, out: Path) -> tuple[Path, ...]:
    """Write the files of a plan and its page; return their paths, the page first."""
    from ldpsim.cli.report.plan_page import write_plan_page
    from ldpsim.strategies.planning.files import PAGE, undeployable, write_files

    files = write_files(made, out)
    if made.choice is not None and (reason := undeployable(made.choice)):
        echo(f"No deployment.toml: {reason}.", err=True)
    write_plan_page(files[0].parent / PAGE, made)
    return (files[0].parent / PAGE, *files)


def _show(made: Plan, files: Sequence[Path]) -> None:
    from rich.markup import escape

    from ldpsim.strategies.planning.plan import VOLUNTEERS

    screen, facts = console(), made.facts
    where = "on paper" if made.like.name is None else f"like those of {made.like.name}"
    screen.print(
        f"[bold]{facts.n:,} people {escape(where)}[/bold]: mean degree {facts.mean_degree:g}, "
        f"homophily {facts.homophily:g}, {facts.classes} classes, {facts.features} features ({facts.words:g} a person)"
    )
    _table(screen, made)
    if made.rehearsal is not None:
        screen.print(f"[dim]{escape(made.rehearsal.note)} It took {short_time(made.rehearsal.seconds)}.[/dim]")
    for why, names in reasons(made).items():
        screen.print(f"  [dim]{escape(', '.join(names))}: {escape(why)}[/dim]")
    choice = made.choice
    if choice is None:
        screen.print(f"[yellow]Choice: {escape(made.why)}.[/yellow]")
    else:
        if choice.not_protected:  # before anything that reads as praise
            screen.print(f"[yellow]Not protected by the choice: {escape(choice.not_protected)}.[/yellow]")
        tone = "yellow" if choice.not_protected else "green"
        screen.print(f"[{tone} bold]Choice: {escape(choice.name)}[/{tone} bold] at {choice.shown_budget} "
                     f"(asks {escape(choice.asks)}): {escape(made.why)}.")  # fmt: skip
        if choice.protected:
            screen.print(f"  Protected: {escape(choice.protected)}.")
    if made.lacks:
        screen.print(f"  [yellow]To be trusted it needs {escape('; '.join(made.lacks))}.[/yellow]")
    for row in made.others:
        screen.print(f"  or [bold]{escape(row.name)}[/bold] at {row.shown_budget} (asks {escape(row.asks)})"
                     + ("" if row.worth is None or made.rehearsal is None
                        else f": {percent(row.worth.test)}, {escape(made.rehearsal.who)}"))  # fmt: skip
    if made.others:
        screen.print("Losses are those of one collection; those of two of the same people add.")
    if made.wishes.level == "user" and all(row.options.volunteers is None for row in made.rows):
        screen.print("With a few volunteers nobody else gives anything in clear, and everybody answers once: "
                     f"add --volunteers {VOLUNTEERS:g} --private-labels.")  # fmt: skip
    for place, path in enumerate(files):
        echo(f"{'Written to' if not place else '       and'} {path}")


def reasons(made: Plan) -> dict[str, list[str]]:
    """Return each reason why methods do not meet the wishes, with their names."""
    found: dict[str, list[str]] = {}
    for name, why in [*((row.name, why) for row in made.rows for why in row.why), *made.failures.items()]:
        found.setdefault(why, []).append(name)
    return found


def _table(screen: Console, made: Plan) -> None:
    """Print one line a method, by what people are asked for and what has to be public."""
    from rich.cells import cell_len
    from rich.markup import escape
    from rich.text import Text

    from ldpsim.cli.titled_rows import NARROW
    from ldpsim.strategies.planning.listed import GROUPS
    from ldpsim.strategies.results.levels import level_term

    narrow, shown_rows = screen.width < NARROW, made.shown
    level, worth = level_term(made.wishes.level), made.rehearsal is not None
    accuracy = [f">{made.rehearsal.kind}", ">nobody"] if made.rehearsal is not None else []
    headings = ["~method", f">{level}", *(accuracy[:1] or [">bytes"])]
    if not narrow:
        headings = ["!method", ">budget", f">{level}", ">guess", ">bytes", ">CPU", ">memory", *accuracy]
    cells = {row.name: _cells(row, worth, narrow) for row in shown_rows}
    table = [[heading.lstrip(">!~") for heading in headings], *cells.values()]
    widths = [max(cell_len(Text.from_markup(cell).plain) for cell in column) for column in zip(*table, strict=True)]
    guess = not narrow and sum(widths) + len(widths) <= screen.width
    if not guess and not narrow:  # it follows from the loss beside it
        del widths[_GUESS]
        for each in (headings, *cells.values()):
            del each[_GUESS]

    def lines(*rows: PlanRow) -> Table:
        shown = text_table(*headings, gap=1)
        shown.show_header = not rows
        for column, width in zip(shown.columns, widths, strict=True):
            column.min_width = width
        for row in rows:
            shown.add_row(*cells[row.name])
        return shown

    screen.print(lines())
    for group, asks in dict.fromkeys((row.listed.group, row.asks) for row in shown_rows):
        screen.print(f"[cyan]{GROUPS[group]}: {asks}[/cyan]")
        screen.print(lines(*(row for row in shown_rows if (row.listed.group, row.asks) == (group, asks))))
    if folded := made.folded:
        screen.print(f"[dim]{count(len(folded), 'method')} not rehearsed: see the reasons below. --json has their "
                     "figures.[/dim]")  # fmt: skip
    marks = "*: the rest of the record is public. c: held by a trusted curator."
    if not narrow:
        best = "; guess: the best guess between two possible values of it, 50 % is chance" if guess else ""
        marks = f"{level}, by epsilon{best}. {marks} bytes: a device, both ways. CPU, memory: `ldpsim run`, " \
                f"within {_factors(made)}."  # fmt: skip
    if worth:
        who = "" if made.rehearsal is None else f" on {escape(made.rehearsal.who)}"
        beside = "." if narrow else "; nobody: if nobody is asked."
        marks += f" {accuracy[0][1:]}: accuracy in per cent{who}{beside}"
    screen.print(f"[dim]{marks}[/dim]")


def _factors(made: Plan) -> str:
    from ldpsim.strategies.estimate.load import MEMORY_ERROR, TIME_ERROR

    figures = [row.figures for row in made.rows if row.figures["measured_up_to"] and not row.figures["seconds_factor"]]
    least = min((each["measured_up_to"] for each in figures), default=None)
    beyond = "" if least is None else f"; CPU of {len(figures)} is extrapolated, from runs of {least:,} people or more"
    return f"a factor {TIME_ERROR:g} and a factor {MEMORY_ERROR:g} near the measured sizes{beyond}"


def _cells(row: PlanRow, worth: bool, narrow: bool) -> list[str]:
    entry, figures = row.at_level, row.figures
    mark = "*" if row.private_only else "c" if entry["level"] == "central_node" else ""
    held = planned_loss(entry) + ("" if entry["value"] is None else mark)
    guess = "" if "best_guess" not in entry else guessed(entry["best_guess"])
    seen = [NONE, ""] if row.worth is None else [points(row.worth.test), points(row.worth.nobody)]
    name = row.method if row.meets else f"[dim]{row.method}[/dim]"
    if narrow:
        return [name, held, seen[0] if worth else bytes_(figures["bytes_per_device"])]
    time = NONE if figures["seconds"] is None else short_time(figures["seconds"])
    memory = NONE if figures["memory_bytes"] is None else size(figures["memory_bytes"])
    memory = f"[red]{memory}[/red]" if figures["fits"] is False else memory
    return [name, row.shown_budget, held, guess, bytes_(figures["bytes_per_device"]), time, memory,
            *(seen if worth else [])]  # fmt: skip
