"""``ldpsim import SOURCE... --out FILE.npz``: graphs of other programs, and a preview of what would be public."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.errors import MISTAKE, say
from ldpsim.cli.output import console, echo, print_json, text_table, working
from ldpsim.cli.words import count, percent
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles, of_commas

_RANGE_FROM = {"stated": "stated", "default": "the default", "data": "taken from the data: this is a release"}
_CLASSES_FROM = {"stated": "stated", "labels": "counted in the labels: state them with --class-names"}


def _range(text: str) -> tuple[float, float]:
    """Read ``LOW,HIGH``; ValueError for anything else."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--feature-range {text}: two numbers with a comma between, such as 0,1") from None
    return low, high


@o.with_options(ImportOptions, class_names=of_commas, feature_range=_range)
def import_data(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="Edges, .csv, .gml, .graphml, .gexf, .net, .mtx, .npz or .pt"),
    ],
    options: ImportOptions,
    out: Annotated[
        Path | None, o.plain_option("--out", "File to write; without it the summary alone", "FILE.npz")
    ] = None,
    ids: Annotated[Path | None, o.plain_option("--ids", "Write each person's number and name", "FILE.csv")] = None,
    vaults: Annotated[
        Path | None, o.plain_option("--vaults", "Write public facts and each device's record", "DIR")
    ] = None,
    force: Annotated[bool, o.plain_option("--force", "Replace files that are there")] = False,
    as_json: o.AsJson = False,
    debug: o.Debug = False,
) -> None:
    """Turn graph files (CSV, GML, GraphML, PyG) into one .npz.

    ldpsim import edges.csv people.csv --out mine.npz
    """

    from ldpsim.strategies.importing.graph_import import import_graph

    try:
        with working(quiet=True):
            document = import_graph(sources, out, options, force=force, ids=ids, vaults=vaults)
    except WrongFiles as wrong:
        for fault in wrong.faults:
            say(fault)
        raise typer.Exit(MISTAKE) from None
    for line in document["warnings"]:
        echo(f"warning: {line}", err=True)
    if as_json:
        print_json(document)
        return
    screen = console()
    screen.print(_table(*_counts(document)))
    screen.print("", _columns(document["read"]))
    if more := document["read"]["more_columns"]:
        screen.print(f"  and {more:,} more")
    if document["left_out"]:
        screen.print("\nLeft out or changed", style="bold")
        screen.print(_table(*(("-", line) for line in document["left_out"])))
    screen.print("\nPublic (a curator knows it without asking)", style="bold")
    screen.print(_table(*_public(document["public"])))
    screen.print("\nNot public", style="bold")
    screen.print(_table(*(("-", line) for line in document["not_public"])))
    if out is None:
        screen.print("\nNo data set was written: --out FILE.npz writes it.")
    if document["next"]:
        screen.print(f"\nWritten: {out}. Next:\n  {document['next']}", markup=False, soft_wrap=True)
        if document["features"]:
            screen.print(f"Is it worth asking? Yes or no:\n  {_comparison(document)}", markup=False, soft_wrap=True)
    if records := document.get("vaults"):
        words = f"{count(records['records'], 'record')}, {count(records['public_labels'], 'public label')}"
        command = f"\n  {records['next']}" if records["next"] else ""
        screen.print(f"\nWritten: {records['folder']}, {words}{command}", markup=False, soft_wrap=True)


def _comparison(document: dict[str, Any]) -> str:
    """Return the command that says whether it is worth asking these people, at the example of the guide: epsilon 4."""
    from ldpsim.strategies.outputs.shell import comparison
    from ldpsim.strategies.setup.options import RunOptions

    split = "file" if document["public"]["split"] else RunOptions.split
    options = RunOptions(dataset=document["out"], split=split)
    return comparison(("vote", "sbp", "hogs"), options, ("user", 4.0))


def _counts(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the counts: a word and its text."""
    edges, labelled = document["edges"], document["people"] - document["without_label"]
    largest = f"; largest {percent(document['largest_class'] / labelled)}" if labelled else ""
    direction = "; their direction is dropped" if document["directed"] else ""
    masks = document["masks"]
    yield "people", f"{document['people']:,}; {document['isolated']:,} without an edge"
    yield (
        "edges",
        (
            f"{edges['kept']:,} of {edges['given']:,}; {count(edges['self_loops_dropped'], 'self-loop')} and "
            f"{count(edges['repeats_dropped'], 'repeat')} dropped{direction}"
        ),
    )
    yield "features", f"{document['features']:,}"
    yield "classes", f"{document['classes']:,}; {document['without_label']:,} people without a label{largest}"
    yield "homophily", f"{percent(document['homophily'])} of edges between labelled people join one class"
    if masks["found"]:
        yield "masks", f"{', '.join(masks['found'])}: {'kept for --split file' if masks['kept'] else 'left out'}"


def _columns(read: dict[str, Any]) -> Any:
    """Return the table of the columns: name, kind, and the values of the first people."""
    from rich.markup import escape

    table = text_table("  column", "kind", *(escape(_cut(name)) for name in read["people"]))
    for column in read["columns"]:
        first = [escape(_cut(value or "–")) for value in column["first"]]
        table.add_row(f"  {escape(_cut(column['name']))}", column["kind"], *first)
    return table


def _cut(text: str, most: int = 16) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _public(public: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what would be public: a word and its text."""
    (low, high), names, split = public["feature_range"], public["class_names"], public["split"]
    yield "numbers", "of people and of features"
    yield "range", f"{low:g} to {high:g} ({_RANGE_FROM[public['feature_range_from']]})"
    yield "classes", f"{public['classes']:,} ({_CLASSES_FROM[public['classes_from']]})"
    if names:
        yield "class names", ", ".join(names[:12]) + (f", and {len(names) - 12} more" if len(names) > 12 else "")
    yield "split", ", ".join(f"{part} {size:,}" for part, size in split.items()) if split else "none in the file"


def _table(*rows: tuple[str, str]) -> Any:
    """Return a table of a word and its text; long text is wrapped."""
    from rich.markup import escape

    table = text_table("", "~", gap=2)
    table.show_header = False
    for word, text in rows:
        table.add_row(f"  {word}", escape(text))
    return table
