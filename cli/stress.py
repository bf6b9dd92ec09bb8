"""``ldpsim stress``: curators who ask again, against the protections of devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.errors import FAILED, Failure, end_if_any_failed
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, print_json, show_failures, text_table, working
from ldpsim.cli.words import percent, points

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
    asks: Asks = "1,25",
    epsilon_bit: EpsilonBit = 1.0,
    seed: o.Seed = 0,
    workers: Workers = 0,
    out: o.Out = Path("runs"),
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
    with working(silent=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies.attacks.stress import campaign

        options = campaign.StressOptions(
            dataset=dataset, clients=clients, data_dir=data_dir, seed=seed, epsilon_bit=epsilon_bit,
            workers=workers or available_cores(),
            protections=tuple(dict.fromkeys(protection or campaign.PROTECTIONS)),
            adversaries=tuple(dict.fromkeys(adversary or ())),
            asks=o.numbers("--asks", asks, whole=True),
        )  # fmt: skip
        result = campaign.stress(options, out, progress=progress)
    assert result.folder is not None
    if as_json:
        print_json(campaign.record_of(result))
    elif quiet:
        echo(str(result.folder / "result.json"))
    else:
        screen = console()
        if result.rows:
            screen.print(view(result))
        show_failures(screen, result.failures)
    end_if_any_failed(result.failures, "cells", debug=debug)
    if not result.passed:
        wrong = next(row for row in result.rows if not row["passed"])
        raise Failure(
            f"{wrong['protection']} under {wrong['adversary']}: {wrong['recovered']:.1%} of {wrong['attribute']} after "
            f"{wrong['asks']} asks is not what theory says", FAILED,
        )  # fmt: skip


_WORDS = {"adjacency": "lists", "features": "features", "label": "labels"}


def view(result: Any) -> Any:
    """Return the text to print: a table of 80 columns and its explanation."""
    from rich.console import Group
    from rich.markup import escape

    settings, rows = result.settings, result.rows
    any_row = {row["attribute"]: row for row in rows}
    shown = text_table(
        "protection", "adversary", ">asks", ">lists", ">features", ">labels", ">edges", ">answers", gap=1
    )
    alike = [percent(any_row[name]["constant_guess"]) if name in any_row else "-" for name in _WORDS]
    shown.add_row("nobody asked", "one guess for all", "0", *alike, "-", "0", style="dim")
    together: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in rows:
        name = row["adversary"] + ("" if row["covered"] else " *")
        together.setdefault((row["protection"], name, row["asks"]), {})[row["attribute"]] = row
    last: tuple[str, ...] = ()
    for (protection, name, asks), each in together.items():
        names = ("", "") if last == (protection, name) else (protection, name)
        last, lists = (protection, name), each.get("adjacency", {})
        edges = "-"
        if lists.get("edge_recall") is not None:
            edges = "/".join(points(lists[f"edge_{figure}"], 0) for figure in ("precision", "recall"))
        answers = max(row["distinct_releases"] for row in each.values())
        shown.add_row(*names, f"{asks:,}", *(_cell(each.get(word)) for word in _WORDS), edges, f"{answers:,}")
    top = max(settings["asks"])
    bounds = ", ".join(f"{_WORDS[name]} {percent(row['one_query_bound'])}" for name, row in any_row.items())
    theory = {row["attribute"]: percent(row["theory"]) for row in rows if row["asks"] == top}
    parts: list[Any] = [
        f"[bold]{escape(settings['dataset'])}[/bold]: {settings['nodes']:,} people, {settings['edges']:,} edges, "
        f"epsilon {settings['epsilon_bit']:g} a value, seed {settings['seed']}", "", shown, "",
        f"One answer gives {bounds} in expectation.",
        f"{top:,} independent answers would give {', '.join(f'{_WORDS[n]} {v}' for n, v in theory.items())}.",
        "[dim]edges: precision/recall in % of the best guess given all answers; - where it names none. one guess for "
        "all: the most frequent value; of the entries of a list, no neighbour.[/dim]",
    ]  # fmt: skip
    if any(not row["covered"] for row in rows):
        parts.append("[dim]* not protected from this; shown with what it costs.[/dim]")
    verdict = "[green]as theory says[/green]" if result.passed else "[red]NOT as theory says (marked !)[/red]"
    parts.append(f"Every row is {verdict}. {result.seconds:,.0f} seconds.")
    if result.folder is not None:
        whole = "" if result.failures else "result.json, "  # a folder without it is continued
        parts.append(f"Written to {escape(str(result.folder))}: {whole}table.csv")
    return Group(*parts)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    return percent(row["recovered"]) if row["passed"] else f"[red]{percent(row['recovered'])}![/red]"
