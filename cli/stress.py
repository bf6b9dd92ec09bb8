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
    o.plain_option("--protection", "Protection of the devices; repeatable.", "none|context-state|refuse|replay|pinned",
        show_default="all"),
]  # fmt: skip
Adversary = Annotated[
    list[str] | None,
    o.plain_option("--adversary", "Adversary; repeatable, `help` lists them.", "NAME", show_default="all",
        autocompletion=completion.adversaries),
]  # fmt: skip
Fault = Annotated[
    list[str] | None,
    o.plain_option("--fault", "Fault in the devices' state; repeatable, `help` lists them.", "NAME",
        show_default="all", autocompletion=completion.faults),
]  # fmt: skip
Asks = Annotated[str, o.plain_option("--asks", "Numbers of asks after which recovery is measured.", "N,N,...")]
EpsilonBit = Annotated[float, o.plain_option("--epsilon-bit", "Loss of one value of any attribute.", "E")]
Workers = Annotated[int, o.plain_option("--workers", "Number of comparisons at a time.", "N", show_default="cores")]


def stress(
    dataset: o.Dataset = "generated",
    clients: o.Clients = None,
    data_dir: o.DataDir = None,
    protection: Protection = None,
    adversary: Adversary = None,
    fault: Fault = None,
    asks: Asks = "1,25",
    epsilon_bit: EpsilonBit = 1.0,
    seed: o.Seed = 0,
    workers: Workers = 0,
    out: o.Out = Path("runs"),
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Let curators ask repeatedly, and measure what they recover with and without protection.

    ldpsim stress --dataset cora --clients 200 --asks 1,25 --protection refuse
    """
    from ldpsim.strategies.attacks.stress.known import EVERY
    from ldpsim.strategies.attacks.stress.options import StressOptions
    from ldpsim.strategies.attacks.stress.protections import PROTECTIONS
    from ldpsim.strategies.engines.pool import available_cores

    if adversary and "help" in adversary:
        for name, curator in EVERY.items():
            echo(f"{name:<16} {curator.description}")
        return
    if fault and "help" in fault:
        from ldpsim.strategies.attacks.adversaries.faults import FAULTS

        for name, known in FAULTS.items():
            echo(f"{name:<19} {known.description}" + ("" if known.strike else f" [{known.test}]"))
        return
    asked = StressOptions(
        dataset=dataset, clients=clients, data_dir=data_dir, seed=seed, epsilon_bit=epsilon_bit,
        workers=workers or available_cores(),
        protections=tuple(dict.fromkeys(protection or PROTECTIONS)), adversaries=tuple(dict.fromkeys(adversary or ())),
        faults=tuple(dict.fromkeys(fault or ())),
        asks=o.numbers("--asks", asks, whole=True),
    )  # fmt: skip
    with working(silent=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies.attacks.stress.campaign import StressCampaign

        progress("population", None)
        campaign = StressCampaign(asked)
        result, folder = campaign.run_and_write(out, progress=progress)
    if as_json:
        print_json(campaign.record(result))
    elif quiet:
        echo(str(folder / "result.json"))
    else:
        screen = console()
        if result.rows:
            screen.print(view(result, folder))
        show_failures(screen, result.failures)
    end_if_any_failed(result.failures, "cells", debug=debug)
    if not result.passed:
        wrong = next(row for row in result.rows if not row["passed"])
        raise Failure(
            f"{wrong['protection']} under {wrong['adversary']}: {wrong['recovered']:.1%} of {wrong['attribute']} after "
            f"{wrong['asks']} asks is not what theory says", FAILED,
        )  # fmt: skip


def view(result: Any, folder: Path | None) -> Any:
    """Return the text to print: a table of 80 columns and its explanation."""
    from rich.console import Group
    from rich.markup import escape

    settings = result.settings
    parts: list[Any] = [
        f"[bold]{escape(settings['dataset'])}[/bold]: {settings['nodes']:,} people, {settings['edges']:,} edges, "
        f"epsilon {settings['epsilon_bit']:g} a value, seed {settings['seed']}", "",
    ]  # fmt: skip
    shown = text_table(
        "protection", "adversary", ">asks", ">lists", ">features", ">labels", ">edges", ">answers", gap=1
    )
    by_attribute = {row["attribute"]: row for row in result.rows}
    alike = [percent(by_attribute[name]["constant_guess"]) if name in by_attribute else "-" for name in _WORDS]
    shown.add_row("nobody asked", "one guess for all", "0", *alike, "-", "0", style="dim")
    last: tuple[str, str] | None = None
    for key, row in _together(result.rows).items():
        protection, adversary, asks = key
        names = ("", "") if last == (protection, adversary) else (protection, adversary)
        last = (protection, adversary)
        cells = [_cell(row.get(attribute)) for attribute in _WORDS]
        adjacency = row.get("adjacency", {})
        edges = "-"
        if adjacency.get("edge_recall") is not None:
            edges = "/".join(points(adjacency[f"edge_{name}"], 0) for name in ("precision", "recall"))
        answers = max(entry["distinct_releases"] for entry in row.values())
        shown.add_row(*names, f"{asks:,}", *cells, edges, f"{answers:,}")
    parts.append(shown)
    bounds = [f"{_WORDS[name]} {percent(row['one_query_bound'])}" for name, row in by_attribute.items()]
    parts += ["", f"One answer gives {', '.join(bounds)} in expectation."]
    top = max(settings["asks"])
    every = {row["attribute"]: row["theory"] for row in result.rows if row["asks"] == top}
    if top > 1:
        words = ", ".join(f"{_WORDS[name]} {percent(value)}" for name, value in every.items())
        parts.append(f"{top:,} independent answers would give {words}.")
    if by_attribute.get("adjacency", {}).get("prior_precision") is not None:
        density = by_attribute["adjacency"]["prior_precision"]
        parts.append(
            f"[dim]edges: precision/recall in % of the best guess given all answers; - where it names none. Who knows "
            f"only how dense the graph is names none either; a pair named at random is an edge in {density:.2%}.[/dim]"
        )
    parts.append("[dim]one guess for all: the most frequent value; of the entries of a list, no neighbour.[/dim]")
    if any(not row["covered"] for row in result.rows):
        parts.append("[dim]* not protected from this; shown with what it costs.[/dim]")
    verdict = "[green]as theory says[/green]" if result.passed else "[red]NOT as theory says (marked !)[/red]"
    parts += [f"Every row is {verdict}. {result.seconds:,.0f} seconds."]
    if folder is not None:
        whole = "" if result.failures else "result.json, "  # a folder without it is continued
        parts.append(f"Written to {escape(str(folder))}: {whole}table.csv, stress.png")
    return Group(*parts)


_WORDS = {"adjacency": "lists", "features": "features", "label": "labels"}


def _together(rows: list[dict[str, Any]]) -> dict[tuple[str, str, int], dict[str, dict[str, Any]]]:
    found: dict[tuple[str, str, int], dict[str, dict[str, Any]]] = {}
    for row in rows:
        name = row["adversary"] if row["fault"] == "none" else row["fault"]
        key = (row["protection"], name + ("" if row["covered"] else " *"), row["asks"])
        found.setdefault(key, {})[row["attribute"]] = row
    return found


def _cell(row: dict[str, Any] | None) -> str:

    if row is None:
        return "-"
    return percent(row["recovered"]) if row["passed"] else f"[red]{percent(row['recovered'])}![/red]"
