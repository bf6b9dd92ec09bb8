"""``ldpsim import SOURCE... --out FILE.npz``: graphs of other programs, and a preview of what would be public."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.errors import MISTAKE, say
from ldpsim.cli.output import console, echo, print_json, text_table, working
from ldpsim.cli.words import count, percent
from ldpsim.strategies.importing import ImportOptions, WrongFiles

_RANGE_FROM = {"stated": "stated", "default": "the default", "data": "taken from the data: this is a release"}
_CLASSES_FROM = {"stated": "stated", "labels": "counted in the labels: state them with --class-names"}


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _range(text: str) -> tuple[float, float]:
    """Read ``LOW,HIGH``.

    Raises:
        ValueError: for anything else.
    """
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--feature-range {text}: two numbers with a comma between, such as 0,1") from None
    return low, high


@o.with_options(ImportOptions, class_names=_list, feature_range=_range)
def import_data(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE...", help="Edge list, .csv, .gml, .graphml, .npz or .pt.")
    ],
    options: ImportOptions,
    out: Annotated[
        Path | None, o.plain_option("--out", "File to write; left out: the summary alone.", "FILE.npz")
    ] = None,
    ids: Annotated[
        Path | None, o.plain_option("--ids", "Write each person's number and name, too.", "FILE.csv")
    ] = None,
    vaults: Annotated[
        Path | None, o.plain_option("--vaults", "Write a deployment's public facts and each device's record.", "DIR")
    ] = None,
    force: Annotated[bool, o.plain_option("--force", "Replace files that are there.")] = False,
    as_json: o.PlainJson = False,
    debug: o.PlainDebug = False,
) -> None:
    """Turn an edge list, CSV, GML, GraphML, PyG, DGL or other npz files into one checked FILE.npz for --dataset.

    ldpsim import edges.csv people.csv --out mine.npz
    """
    from ldpsim.strategies.importing import import_graph

    try:
        with working(silent=True):
            found = import_graph(sources, out, options, force=force, ids=ids, vaults=vaults)
    except WrongFiles as wrong:
        for fault in wrong.faults:
            say(fault)
        raise typer.Exit(MISTAKE) from None
    for line in found["warnings"]:
        echo(f"warning: {line}", err=True)
    if as_json:
        print_json(found)
        return
    screen = console()
    screen.print(_counts(found))
    screen.print("\nPublic (a curator knows it without asking)", style="bold")
    screen.print(_public(found["public"]))
    screen.print("\nNot public", style="bold")
    screen.print(_plain(*(("-", line) for line in found["not_public"])))
    if out is None:
        screen.print("\nNo data set was written: --out FILE.npz writes it.")
    if found["next"]:
        screen.print(f"\nWritten: {out}. Next:", markup=False, soft_wrap=True)
        screen.print(f"  {found['next']}", markup=False, soft_wrap=True)
    if made := found.get("vaults"):
        parts = (made["folder"], count(made["records"], "record"), count(made["public_labels"], "public label"))
        screen.print(f"\nWritten: {', '.join(parts)}", markup=False, soft_wrap=True)
        if made["next"]:
            screen.print(f"  {made['next']}", markup=False, soft_wrap=True)


def _counts(found: dict[str, Any]) -> Any:
    """Return the table of counts."""
    edges, values, rate = found["edges"], found["feature_values"], found["feature_rate"]
    labelled = found["people"] - found["without_label"]
    dropped = [f"{edges['given']:,} given"]
    dropped += [f"{count(edges['self_loops_dropped'], 'self-loop')} dropped"] if edges["self_loops_dropped"] else []
    dropped += [f"{count(edges['repeats_dropped'], 'repeat')} dropped"] if edges["repeats_dropped"] else []
    both, one = edges["pairs_in_both_directions"], edges["pairs_in_one_direction"]
    if found["directed"] and one:
        dropped += [f"{one:,} directed made undirected"]
    elif both:
        dropped += [f"{both:,} in both directions, {one:,} in one: each is one undirected edge"]
    shown = text_table("", ">", "~")
    shown.show_header = False
    shown.add_row("people", f"{found['people']:,}", f"{found['isolated']:,} without an edge")
    shown.add_row("edges", f"{edges['kept']:,}", "; ".join(dropped))
    spread = f"{percent(rate)} not 0; values {values['low']:g} to {values['high']:g}" if values else ""
    shown.add_row("features", f"{found['features']:,}", spread)
    largest = f"; largest {percent(found['largest_class'] / labelled)}" if labelled else ""
    shown.add_row("classes", f"{found['classes']:,}", f"{found['without_label']:,} without a label{largest}")
    shown.add_row("homophily", percent(found["homophily"]), "edges inside a class, of those between labelled people")
    masks = found["masks"]
    if masks["found"]:
        kept = "kept for --split file" if masks["kept"] else "left out"
        shown.add_row("masks", str(len(masks["found"])), f"{', '.join(masks['found'])}: {kept}")
    return shown


def _public(public: dict[str, Any]) -> Any:
    """Return the table of what would be public."""
    low, high = public["feature_range"]
    names, split = public["class_names"], public["split"]
    more = f", and {len(names) - 12} more" if len(names) > 12 else ""
    parts = ", ".join(f"{part} {size:,}" for part, size in split.items()) if split else "none in the file"
    return _plain(
        ("people", f"{public['people']:,}"),
        ("features", f"{public['features']:,}"),
        ("range", f"{low:g} to {high:g} ({_RANGE_FROM[public['feature_range_from']]})"),
        ("classes", f"{public['classes']:,} ({_CLASSES_FROM[public['classes_from']]})"),
        *([("class names", ", ".join(names[:12]) + more)] if names else []),
        ("split", parts),
    )


def _plain(*rows: tuple[str, str]) -> Any:
    """Return a table of a word and its text; long text is wrapped."""
    from rich.markup import escape

    shown = text_table("", "~", gap=2)
    shown.show_header = False
    for word, text in rows:
        shown.add_row(f"  {word}", escape(text))
    return shown
