"""``ldpsim poison``: the damage that lying devices do, and what a check saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.errors import end_if_any_failed
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import MOST_ROWS, WIDTH, console, echo, fitting, print_json, show_failures, text_table, working
from ldpsim.cli.words import NONE, plus_minus, points
from ldpsim.strategies.setup.option_spec import BUDGET, RUNNING
from ldpsim.strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from rich.console import Console

    from ldpsim.cli.screen import FittingTable
    from ldpsim.strategies.attacks.campaign import CampaignResult
    from ldpsim.strategies.attacks.poison.summary import Damage

LYING = "Lying devices"
_ATTACK = o.in_panel(LYING, "--attack", "Attack; `help` lists them", "NAME", show_default="all that fit",
                     autocompletion=completion.attacks)  # fmt: skip
_SHARES = o.in_panel(LYING, "--shares", "Shares of all people who lie", "P,P,...")
_JOIN = o.in_panel(LYING, "--join", "Liars are accounts that join")
_DEFENCE = o.in_panel(LYING, "--defence", "Defence to run beside none; all: each", "NAME",
                      autocompletion=completion.defences)  # fmt: skip
_EPSILON = o.in_panel(BUDGET, "--epsilon", "Total budgets, as papers count them", "X,X,...",
                      show_default="the method's")  # fmt: skip


@o.with_run_options(
    leave_out=("method", "epsilon", "reference", "all_nulls", "groups", "engine", "state", "from_reports",
               "save_reports", "dropout", "caps", "on_requery", "collector_key", "defence",
               "false_alarm"))  # fmt: skip
def poison(
    methods: Annotated[
        list[str],
        typer.Argument(
            metavar="METHOD...", help="Methods; `ldpsim methods` lists them", autocompletion=completion.methods
        ),
    ],
    attack: Annotated[list[str] | None, _ATTACK] = None,
    shares: Annotated[str, _SHARES] = "0.01,0.05,0.2",
    join: Annotated[bool, _JOIN] = False,
    defence: Annotated[list[str] | None, _DEFENCE] = None,
    *,
    epsilon: Annotated[str | None, _EPSILON] = None,
    engine: Annotated[str, o.in_panel(RUNNING, "--engine", "Runner of devices", "auto|local|ray")] = "auto",
    options: RunOptions,
    details: o.Details = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Let a share of devices lie, and measure what it costs the others.

    ldpsim poison hogs rgnn --dataset cora --shares 0.05,0.2
    ldpsim poison hogs --clients 3000 --attack pairs --defence both-ends
    """
    if attack and "help" in attack:
        from ldpsim.strategies.attacks.poison.lies import ATTACKS

        for name, kind in ATTACKS.items():
            echo(f"{name:<16} {kind.description}")
        return
    if options.out is None:
        raise ValueError("poison needs a folder to write to")
    with working(quiet=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies.attacks.poison import campaign

        poison_options = campaign.PoisonOptions(
            methods=tuple(methods), run=replace(options, reference=False, engine=engine),
            epsilons=o.numbers("--epsilon", epsilon) if epsilon is not None else (),
            attacks=tuple(dict.fromkeys(attack or ())), join=join, shares=o.numbers("--shares", shares),
            defences=tuple(dict.fromkeys(defence or ())),
        )  # fmt: skip
        result = campaign.poison(poison_options, options.out, progress=progress)
    assert result.folder is not None
    if as_json:
        print_json({**campaign.record_of(result)["poison"], "folder": str(result.folder.absolute())})
    elif quiet:
        echo(str(result.folder / "result.json"))
    else:
        show(result, details=details)
    end_if_any_failed(result.failures, "cells", debug=debug)


def show(result: CampaignResult, *, details: bool = False) -> None:
    """Print the worst damage in a sentence, and for each method and share the worst attack and the best defence.

    Args:
        result: The result.
        details: Whether to print all rows and the null models, too.
    """
    from rich.markup import escape

    from ldpsim.strategies.attacks.poison.summary import damage_text, damages

    screen, found, rows = console(), damages(result.rows), list(result.rows)
    repeats = min((row["repeats"] for row in rows), default=1)
    who = "accounts join and lie" if result.settings.get("join") else "people lie"
    chance = f"{repeats} repeats" if repeats > 1 else "1 repeat, so a few points may be chance"
    screen.print(f"[bold]poison on {escape(result.settings['dataset'])}[/bold]: {who}; {chance}")
    screen.print(f"[bold]{escape(damage_text(found))}[/bold]")
    most = len(found) if details else MOST_ROWS
    without = [(), ("silent",), ("silent", "chosen")]
    screen.print("", fitting(screen, [_table(found[:most], left_out) for left_out in without]))
    if len(found) > most:
        screen.print(f"… {len(found) - most} more (--details)")
    if details:
        _show_all(screen, rows)
    else:
        screen.print("[dim]lost, silent: points lost by lies and by silence. chosen: % of chosen people.[/dim]")
    show_failures(screen, result.failures)
    echo(f"Written to {result.folder}/table.csv, with all attacks{'' if details else ' (here: --details)'}")


def _table(found: Sequence[Damage], left_out: Sequence[str]) -> FittingTable:
    """Return the table of some damages without some columns."""
    from rich.markup import escape

    defended = any(damage.defended is not None for damage in found)
    headings = {"method": "~method", "liars": ">liars", "attack": "worst attack", "accuracy": ">accuracy %",
                "lost": ">lost", "silent": ">silent", "chosen": ">chosen", "defence": "best defence"}  # fmt: skip
    hidden = {*left_out, *([] if defended else ["defence"])}
    shown, last = text_table(*(words for name, words in headings.items() if name not in hidden), gap=1), ""
    for damage in found:
        row, lies = damage.worst, damage.worst is not damage.honest
        best = damage.defended
        cells = {
            "method": "" if damage.name == last else escape(damage.name),
            "liars": f"{100 * row['share']:.3g} %" if lies else "none",
            "attack": row["attack"] if lies else "",
            "accuracy": points(row["accuracy"]) + plus_minus(row["std"]),
            "lost": _signed(damage.lost) if lies else "",
            "silent": _signed(damage.lost_by_silence) if lies else "",
            "chosen": NONE if damage.chosen is None else points(damage.chosen, 0),
            "defence": "" if best is None else f"{best['defence']} {points(best['accuracy'])}",
        }  # fmt: skip
        shown.add_row(*(cell for name, cell in cells.items() if name not in hidden))
        last = damage.name
    return shown


def _signed(share: float | None) -> str:
    """Return points; what rounds to 0 has no sign."""
    return NONE if share is None else points(round(share, 3) + 0.0)


def _show_all(screen: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print null models, and the table of all attacks and defences; a narrow terminal has its first columns."""
    from rich.markup import escape

    from ldpsim.strategies.results.verdict import NULLS

    shown_columns = len(_COLUMNS) if screen.width >= WIDTH else 4
    shown = text_table(*_COLUMNS[:shown_columns], gap=1)
    last = ""
    for row in rows:
        name = row["method"] if row["epsilon"] is None else f"{row['method']} {row['epsilon']:g}"
        shown.add_row(*("" if name == last else escape(name), *_words(row))[:shown_columns])
        last = name
        if row["nulls"]:
            nulls = ", ".join(f"{NULLS[key].heading} {points(value)}" for key, value in row["nulls"].items())
            screen.print(f"{escape(name)}: [dim]simpler models {nulls}[/dim]")
    screen.print(shown)
    screen.print(
        "[dim]acc: honest test people. vs silent: points more or less than if the liars did not report. chosen: "
        "% of chosen people who get the class that the liars want. found, alarms: % of liars and of honest people "
        "whom the defence excludes.[/dim]"
    )


_COLUMNS = ("~method", "~attack", ">share", ">acc %", ">vs silent", ">chosen", ">found", ">alarms")


def _words(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of a row after the method; the one of a defence is below the same lies without it."""
    silent = row["vs_silent"]
    attack = "nobody lies" if row["attack"] == "none" else row["attack"]
    return [
        attack if row["defence"] == "none" else f"  + {row['defence']}", f"{100 * row['share']:.3g} %",
        points(row["accuracy"]) + plus_minus(row["std"]),
        NONE if silent is None or row["attack"] == "silent" else f"{100 * silent:+.1f}",
        *(NONE if row[name] is None else points(row[name]) for name in ("chosen", "found", "false_alarms")),
    ]  # fmt: skip
