"""``ldpsim stress``: curators who ask again, against the protections of devices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.errors import FAILED, Failure, end_if_any_failed
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, fitting, print_json, show_failures, text_table, working
from ldpsim.cli.words import count

if TYPE_CHECKING:
    from rich.console import Console

    from ldpsim.cli.screen import FittingTable
    from ldpsim.strategies.attacks.campaign import CampaignResult
    from ldpsim.strategies.attacks.stress.summary import Summary

PAGE = "stress.html"

Protection = Annotated[
    list[str] | None,
    o.plain_option("--protection", "none, context-state, refuse, replay, pinned", "NAME",
        show_default="all", autocompletion=completion.protections),
]  # fmt: skip
Adversary = Annotated[
    list[str] | None,
    o.plain_option("--adversary", "Adversary; `help` lists them", "NAME", show_default="all",
        autocompletion=completion.adversaries),
]  # fmt: skip
Asks = Annotated[str, o.plain_option("--asks", "Numbers of questions before a measurement", "N,N,...")]
EpsilonBit = Annotated[float, o.plain_option("--epsilon-bit", "Loss of one value of any attribute", "E")]
Workers = Annotated[int, o.plain_option("--workers", "Number of comparisons at a time", "N", show_default="cores")]


def stress(
    dataset: o.Dataset = "generated",
    clients: o.Clients = None,
    data_dir: o.DataDir = None,
    protection: Protection = None,
    adversary: Adversary = None,
    asks: Asks = "1,5,25",
    epsilon_bit: EpsilonBit = 1.0,
    seed: o.Seed = 0,
    workers: Workers = 0,
    out: o.Out = Path("runs"),
    details: o.Details = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Let curators ask repeatedly, and measure what they recover.

    ldpsim stress --clients 200
    ldpsim stress --dataset cora --clients 200 --asks 1,25 --protection refuse
    """
    from ldpsim.strategies.engines.pool import available_cores

    if "help" in (adversary or ()):
        from ldpsim.strategies.attacks.adversaries.table import ADVERSARIES, PLAIN

        for row in {**PLAIN, **ADVERSARIES}.values():
            echo(f"{row.name:<22} {row.description}")
        return
    with working(quiet=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.cli.report.stress import write_page
            from ldpsim.strategies.attacks.stress import campaign
            from ldpsim.strategies.attacks.stress.summary import Summary

        options = campaign.StressOptions(
            dataset=dataset, clients=clients, data_dir=data_dir, seed=seed, epsilon_bit=epsilon_bit,
            workers=workers or available_cores(),
            protections=tuple(dict.fromkeys(protection or campaign.PROTECTIONS)),
            adversaries=tuple(dict.fromkeys(adversary or ())),
            asks=o.numbers("--asks", asks, whole=True),
        )  # fmt: skip
        result = campaign.stress(options, out, progress=progress)
        assert result.folder is not None
        page, summary = result.folder / PAGE, Summary.of(result.rows)
        if result.rows:
            progress("drawing", None)
            write_page(page, result, summary)
    if as_json:
        print_json(campaign.record_of(result))
    elif quiet:
        echo(str(result.folder / "result.json"))
    else:
        screen = console()
        if result.rows:
            screen.print(view(result, summary, screen))
            if details:
                screen.print(attacks_view(result))
        show_failures(screen, result.failures)
        echo(f"Attacks by name: {'table.csv' if details else '--details, table.csv'} and the page")
        echo(f"Page: {page if result.rows else result.folder}")
    end_if_any_failed(result.failures, "cells", debug=debug)
    if not result.passed:
        wrong = next(row for row in result.rows if not row["passed"])
        raise Failure(
            f"{wrong['protection']} under {wrong['adversary']}: {wrong['recovered']:.1%} of {wrong['attribute']} after "
            f"{count(wrong['asks'], 'question')} is not what theory says", FAILED,
        )  # fmt: skip


def view(result: CampaignResult, summary: Summary, screen: Console) -> Any:
    """Return the first screen: what is recovered, by protection and number of questions, and the answer."""
    from rich.console import Group
    from rich.markup import escape

    from ldpsim.strategies.attacks.stress.summary import WORDS

    settings, columns = result.settings, summary.shown_asks
    ends = tuple(dict.fromkeys((columns[0], columns[-1])))
    tables = [_table(summary, columns, described=True), _table(summary, columns), _table(summary, ends)]
    shown = fitting(screen, tables)
    right = "[green]as theory says[/green]" if result.passed else "[red]NOT as theory says[/red]"
    return Group(
        f"[bold]stress on {escape(settings['dataset'])}[/bold]: {settings['nodes']:,} people, {settings['edges']:,} "
        f"friendships, epsilon {settings['epsilon_bit']:g} a value", "",
        f"Recovered by asking again, in %: {' / '.join(WORDS[name] for name in summary.no_reports)}", shown, "",
        f"[bold]{escape(summary.answer)}[/bold]", *filter(None, [escape(summary.not_protected)]),
        f"{count(len(result.rows), 'measurement')}, {right}; {result.seconds:,.0f} s.",
    )  # fmt: skip


def _table(summary: Summary, asks: Sequence[int], *, described: bool = False) -> FittingTable:
    """Return the table of some numbers of questions; a narrow terminal has no room for what a device does."""
    from ldpsim.strategies.attacks.stress.summary import DEVICES, cell_text

    shown = text_table("protection", *["~"] * described, *(f">{count(number, 'time')}" for number in asks), gap=1)
    for name, cells in summary.shares.items():
        shown.add_row(name, *[DEVICES[name]] * described, *(cell_text(cells[number]) for number in asks))
    shown.add_row("no reports", *["a guess"] * described, *[cell_text(summary.no_reports)] * len(asks), style="dim")
    return shown


def attacks_view(result: CampaignResult) -> Any:
    """Return the table of all attacks, beside what theory expects, and its legend."""
    from rich.console import Group
    from rich.markup import escape

    from ldpsim.strategies.attacks.stress.summary import THEORY, attacks_table

    rows = attacks_table(result.rows)
    shown = text_table(*(f"{'>' if place > 1 else ''}{heading}" for place, heading in enumerate(rows[0])), gap=1)
    last = ("", "")
    for row in rows:
        protection, attack, *figures = row.values()
        same = (protection, attack) == last
        marked = [f"[red]{figure}[/red]" if "!" in figure else figure for figure in map(escape, figures)]
        shown.add_row(*(("", "") if same else (protection, attack)), *marked)
        last = (protection, attack)
    return Group("", shown, f"[dim]{THEORY}[/dim]")
