"""``ldpsim poison``: the damage that lying devices do, and what a check saves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import completion
from cli import options as o
from cli.errors import FAILED, Failure, end_if_any_failed
from cli.imports import large_imports
from cli.output import WIDTH, console, echo, print_json, show_failures, show_sums, text_table, working
from cli.poison_words import DIFFERS, breakdown_lines, by_method, columns_of, join_in, named_lie, null_model_words
from strategies.setup.option_spec import RUNNING
from strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from strategies.attacks.campaign import CampaignResult

LYING = "Lying devices"
_ATTACK = o.in_panel(LYING, "--attack", "Attack; repeatable, `help` lists them.", "NAME", show_default="all that fit",
                     autocompletion=completion.attacks)  # fmt: skip
_LIE = o.in_panel(LYING, "--lie", "False data, or any bytes; repeatable.", "input|response", show_default="both")
_GOAL = o.in_panel(LYING, "--goal", "What the liars want.", "NAME", show_default="the attack's own",
                   autocompletion=completion.goals)  # fmt: skip
SHARES = "0,0.01,0.02,0.05,0.1,0.2"
_SHARES = o.in_panel(LYING, "--shares", "Shares of all people who lie; 0 is always run.", "P,P,...",
                     show_default=SHARES)  # fmt: skip
_INJECT = o.in_panel(LYING, "--inject", "Fake accounts that join instead: numbers, or shares below 1.", "K,K,...",
                     show_default=False)  # fmt: skip
_DEFENCE = o.in_panel(LYING, "--defence", "Defence to run beside none; repeatable, or all.", "NAME",
                      show_default="none", autocompletion=completion.defences)  # fmt: skip
_EPSILON = o.in_panel(None, "--epsilon", "Total budgets, in each method's own sense.", "X,X,...",
                      show_default="each method's own")  # fmt: skip


@o.with_run_options(
    leave_out=("method", "epsilon", "reference", "engine", "state", "from_reports", "save_reports", "dropout", "caps",
               "on_requery", "collector_key", "defence"),
    after={"epsilon": "data_dir", "engine": "repeats_vary", "as_json": "out"},
)  # fmt: skip
def poison(
    methods: Annotated[
        list[str],
        typer.Argument(metavar="METHOD...", help="Methods (see `ldpsim methods`).", autocompletion=completion.methods),
    ],
    attack: Annotated[list[str] | None, _ATTACK] = None,
    lie: Annotated[list[str] | None, _LIE] = None,
    goal: Annotated[str | None, _GOAL] = None,
    knowledge: Annotated[
        str, o.in_panel(LYING, "--knowledge", "What the liars know.", "none|own|neighbours|all")
    ] = "all",
    targets: Annotated[int, o.in_panel(LYING, "--targets", "Number of chosen people.", "N")] = 20,
    target_class: Annotated[int, o.in_panel(LYING, "--target-class", "The chosen class.", "C")] = 0,
    fakes: Annotated[int, o.in_panel(LYING, "--fakes", "People that `fakes` adds to a row.", "K")] = 50,
    shares: Annotated[str | None, _SHARES] = None,
    inject: Annotated[str | None, _INJECT] = None,
    defence: Annotated[list[str] | None, _DEFENCE] = None,
    *,
    epsilon: Annotated[str | None, _EPSILON] = None,
    options: RunOptions,
    engine: Annotated[
        str, o.in_panel(RUNNING, "--engine", "Where the devices of a cell run.", "auto|local|ray")
    ] = "auto",
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Let a share of the devices lie, and measure what it costs the honest ones.

    ldpsim poison hogs rgnn --dataset cora --shares 0,0.05,0.2
    """
    if attack and "help" in attack:
        from strategies.attacks.liars.attacks import DESCRIPTIONS

        for name, words in DESCRIPTIONS.items():
            echo(f"{name:<16} {words}")
        return
    from strategies.attacks.liars.plan import LIES
    from strategies.attacks.poison.options import PoisonOptions

    if inject is not None and shares is not None:
        raise ValueError("--shares and --inject: people who lie and accounts that join are measured one at a time")
    asked = PoisonOptions(
        methods=tuple(methods),
        run=replace(options, reference=False, engine=engine),
        epsilons=o.numbers("--epsilon", epsilon) if epsilon is not None else (),
        attacks=tuple(dict.fromkeys(attack or ())), lies=tuple(dict.fromkeys(lie or LIES)), goal=goal,
        knowledge=knowledge, targets=targets, target_class=target_class, fakes=fakes,
        shares=o.numbers("--shares", SHARES if shares is None else shares),
        inject=() if inject is None else o.numbers("--inject", inject), defences=tuple(defence or ()),
        false_alarm=options.false_alarm, workers=options.workers,
    )  # fmt: skip
    if options.out is None:
        raise ValueError("poison needs a folder to write to")
    with working(silent=quiet or as_json) as progress:
        from cli.poison_page import write_page

        with large_imports():
            from strategies.attacks.poison.campaign import PoisonCampaign

        progress("population", None)
        campaign = PoisonCampaign(asked)
        result, folder = campaign.run_and_write(options.out, progress=progress)

        write_page(result, folder / "poison.html")
    if as_json:
        print_json({**campaign.record(result)["poison"], "folder": str(folder.absolute())})
    elif quiet:
        echo(str(folder / "result.json"))
    else:
        show(result, folder)
        show_sums(console(), campaign.sums())
    end_if_any_failed(result.failures, "cells", debug=debug)
    if not result.passed:
        wrong = next(row for row in result.rows if row["passed"] is False)
        raise Failure(
            f"{wrong['method']} under {wrong['attack']} at {wrong['share']:.3g}: {', '.join(wrong['failed_laws'])} "
            "is not what theory says", FAILED,
        )  # fmt: skip


def show(result: CampaignResult, folder: Path) -> None:
    """Print the table: all columns at 80, share and accuracy alone on a narrow terminal."""
    from rich.markup import escape

    screen = console()
    wide = screen.width >= WIDTH
    columns = [column for column in columns_of(result.rows) if column.short is not None][: None if wide else 2]
    for title, rows in by_method(result.rows).items():
        nulls = null_model_words(rows)
        screen.print(f"[bold]{escape(title)}[/bold]" + (f"  [dim]null models: {nulls}[/dim]" if nulls else ""))
        shown = text_table("~attack", *(f">{column.short}" for column in columns), gap=1)
        last = ""
        for row in rows:
            name = named_lie(row)
            words = (column.words(row) for column in columns)
            shown.add_row("" if name == last else escape(name), *("[red]![/]" if w == DIFFERS else w for w in words))
            last = name
        screen.print(shown)
    third = (
        "cost: accounts for\neach point lost. " if join_in(result.rows) else "fakes: false pairs kept, a\nliar. "
    )  # fmt: skip
    screen.print(
        "[dim]acc: honest test people. vs silent: points more or less than if the liars\ndid not answer. goal: its "
        f"measure, and at share 0. {third}theory: ok within six deviations of a law, - "
        "where there is none.[/dim]" if wide else
        "[dim]acc: honest test people. vs silent: points more or less than with silent liars. The file has more."
        "[/dim]"
    )  # fmt: skip
    for line in breakdown_lines(result.rows):
        screen.print(escape(line))
    show_failures(screen, result.failures)
    screen.print(
        "[green]Every row with a law is as theory says.[/green]" if result.passed else
        "[red]Rows marked ! are not as theory says.[/red]"
    )  # fmt: skip
    screen.print(f"{result.seconds:,.0f} seconds.")
    whole = "" if result.failures else "result.json, "  # a folder without it is continued
    screen.print(f"Written to {escape(str(folder))}: {whole}table.csv, poison.png, poison.html", soft_wrap=True)
