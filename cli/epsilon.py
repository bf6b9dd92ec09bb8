"""``ldpsim epsilon METHOD``: privacy loss of an owner's answers, without any data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.output import console, echo, print_json, text_table
from ldpsim.cli.words import epsilon as shown

if TYPE_CHECKING:
    from ldpsim.curator.owner.privacy.account import Account

_METHODS = "privgnn|pate-g|pate-m"
_NAMES = {"privgnn": "PrivGnn", "pate-g": "PATE-G", "pate-m": "PATE-M"}
_GAMMA, _SAMPLING = (o.OF_AN_OWNER[name][1] for name in ("gamma", "sampling"))


def epsilon(
    method: Annotated[
        str, typer.Argument(metavar=_METHODS, help="The method.", autocompletion=completion.from_metavar(_METHODS))
    ],
    queries: Annotated[int | None, o.plain_option("--queries", "Questions that the owner answers.", "N")] = None,
    delta: Annotated[
        float | None, o.plain_option("--delta", "Delta of the guarantee, below 1 / n for n people.", "D")
    ] = None,
    lambda_: Annotated[
        float | None, o.plain_option("--lambda", "1 / scale of the Laplace noise on each class.", "X")
    ] = None,
    classes: Annotated[int | None, o.plain_option("--classes", "Number of labels (privgnn needs it).", "C")] = None,
    gamma: Annotated[
        float | None,
        o.plain_option(
            "--gamma",
            "Probability that a person is drawn (privgnn).",
            "G",
            show_default=_GAMMA.shown,
        ),
    ] = None,
    sampling: Annotated[
        str | None,
        o.plain_option("--sampling", _SAMPLING.help, "fresh|once", show_default=_SAMPLING.shown),
    ] = None,
    nodes: Annotated[int | None, o.plain_option("--nodes", "People in the owner's data.", "N")] = None,
    as_printed: Annotated[
        bool, o.plain_option("--as-printed", "Show the paper's figure first; privgnn: at ten times delta.")
    ] = False,
    as_json: o.PlainJson = False,
    debug: o.PlainDebug = False,
) -> None:
    """Account for PrivGnn or PATE: the loss that holds for a person and for an edge, and what a paper prints.

    ldpsim epsilon privgnn --queries 1000 --lambda .2 --classes 10 --delta 1e-4
    """
    from ldpsim.curator.names import nearest
    from ldpsim.curator.owner.privacy.account import METHODS, LabelRelease, account

    if method not in METHODS:
        raise ValueError(
            f"{method}: must be one of {', '.join(METHODS)}{nearest(method, METHODS)}; "
            "`ldpsim plan METHOD` shows the losses of any other method"
        )
    if queries is None or delta is None or lambda_ is None:
        missing = "--queries" if queries is None else "--delta" if delta is None else "--lambda"
        raise ValueError(f"{missing}: {method} needs this option")
    found = account(method, LabelRelease(
        queries=queries, lambda_=lambda_, delta=delta, classes=classes, gamma=0.3 if gamma is None else gamma,
        sampling=sampling or "fresh", nodes=nodes,  # type: ignore[arg-type]
    ))  # fmt: skip
    warnings = list(found.warnings) + [
        f"{_NAMES[method]} draws no sample: {option} has no effect"
        for option, given in (("--gamma", gamma), ("--sampling", sampling))
        if given is not None and found.votes
    ]
    if as_json:
        for line in warnings:
            echo(f"warning: {line}", err=True)
        print_json({**_document(found), "warnings": warnings, "as_printed": as_printed})
        return
    console().print(view(found, table_first=as_printed, notes=warnings))


def _document(found: Account) -> dict[str, Any]:
    asked = found.release
    return {
        "method": found.method,
        "queries": asked.queries,
        "gamma": None if found.votes else asked.gamma,
        "lambda": asked.lambda_,
        "classes": asked.classes,
        "delta": asked.delta,
        "sampling": None if found.votes else asked.sampling,
        "printed": {"epsilon": found.printed, "delta_used": found.delta_printed},
        "holds": {"label": found.label, "vector": found.vector, "label_edge": found.label_edge},
        "nodes": asked.nodes,
        "label_accuracy_at_most": found.ceiling,
    }


def view(found: Account, *, table_first: bool = False, notes: list[str]) -> Any:
    """Return the text to print.

    Args:
        found: The figures.
        table_first: Whether the paper's figure comes first.
        notes: Warnings.
    """
    from rich.console import Group

    asked = found.release
    setting = f"{asked.queries:,} queries, lambda {asked.lambda_:g} (noise Lap({1 / asked.lambda_:.4g})), "
    setting += f"delta {asked.delta:g}"
    if found.ceiling is not None:
        setting += f", {asked.classes} classes"
    blocks: list[list[Any]] = [[f"[bold]{_NAMES[found.method]}[/bold]: {setting}"]]
    blocks += [[_printed(found)], _holding(found)] if table_first else [_holding(found), [_printed(found)]]
    if found.ceiling is not None:
        blocks.append([f"Under this noise a label is right with probability {found.ceiling:.4f} at most."])
    blocks.append(
        [
            f"Labels are composed {found.composition}. Figures of vectors are upper bounds.",
            "The owner is trusted with all data. Public nodes and edges are not protected.",
            *(f"[yellow]note: {line}[/yellow]" for line in notes),
        ]
    )
    spaced = [part for block in blocks for part in (*block, "")]
    return Group(*spaced[:-1])


def _holding(found: Account) -> list[Any]:
    asked = found.release
    if found.votes:
        heading = f"[bold]Holds[/bold] at delta {asked.delta:g}, when this changes in the owner's data:"
        rows = {"a person or an edge; labels released": found.label, "... noisy counts released": found.vector}
    else:
        way = {"fresh": "a fresh sample for every query", "once": "one sample for all queries"}[asked.sampling]
        heading = (
            f"[bold]Holds[/bold] at delta {asked.delta:g}, people drawn with probability {asked.gamma:g}, {way}, when "
            "this changes in the owner's data:"
        )
        attained = " (exact)" * (asked.classes is not None and asked.classes > 2)  # two classes: an upper bound
        rows = {
            "a person; labels released (exact)": found.label,
            f"an edge; labels released{attained}": found.label_edge,
            "a person; noisy vectors released": found.vector,
        }
    table = text_table("", ">epsilon")
    for words, value in rows.items():
        table.add_row(words, f"[bold]{shown(value)}[/bold]")
    return [heading, table]


def _printed(found: Account) -> str:
    if found.votes:
        how = f"The moments bound at delta {found.delta_printed:g}, whatever the votes."
    else:
        how = (
            f"Rényi divergences at sensitivity 1, fresh samples, and delta {found.delta_printed:g}: ten times the one "
            "given, as in its tables."
        )
    cut = math.floor(100 * found.printed) / 100
    return (
        f"[bold]Printed[/bold], by the PrivGnn paper's analysis: [bold]{cut:.2f}[/bold] "
        f"({found.printed:.6f}, cut at two decimals). {how} Not a guarantee."
    )
