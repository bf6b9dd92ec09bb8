"""``ldpsim epsilon METHOD``: privacy loss of an owner's labels, without any data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.output import console, echo, print_json, text_table
from ldpsim.cli.words import epsilon as loss

if TYPE_CHECKING:
    from ldpsim.curator.owner.privacy.account import Account

_METHODS = "privgnn|pate-g|pate-m"
_NAMES = {"privgnn": "PrivGnn", "pate-g": "PATE-G", "pate-m": "PATE-M"}


def epsilon(
    method: Annotated[
        str, typer.Argument(metavar=_METHODS, help="The method.", autocompletion=completion.from_metavar(_METHODS))
    ],
    queries: Annotated[int, o.plain_option("--queries", "Questions that the owner answers.", "N")],
    delta: Annotated[float, o.plain_option("--delta", "Delta of the guarantee, below 1 / n for n people.", "D")],
    lambda_: Annotated[float, o.plain_option("--lambda", "1 / scale of the Laplace noise on each class.", "X")],
    classes: Annotated[int | None, o.plain_option("--classes", "Number of labels (privgnn needs it).", "C")] = None,
    gamma: Annotated[
        float | None, o.plain_option("--gamma", "Probability that a person is drawn.", "G", show_default="0.3")
    ] = None,
    sampling: Annotated[
        str | None,
        o.plain_option("--sampling", "A sample for each query, or one.", "fresh|once", show_default="fresh"),
    ] = None,
    nodes: Annotated[int | None, o.plain_option("--nodes", "People in the owner's data.", "N")] = None,
    as_json: o.PlainJson = False,
    debug: o.Debug = False,
) -> None:
    """Account for PrivGnn or PATE: the loss that holds for a person and for an edge, and what its paper prints.

    ldpsim epsilon privgnn --queries 1000 --lambda .2 --classes 10 --delta 1e-4
    """
    from ldpsim.curator.names import nearest
    from ldpsim.curator.owner.privacy.account import METHODS, LabelRelease, account

    if method not in METHODS:
        raise ValueError(
            f"{method}: must be one of {', '.join(METHODS)}{nearest(method, METHODS)}; "
            "`ldpsim plan METHOD` shows the losses of any other method"
        )
    sample: dict[str, Any] = {
        name: value for name, value in (("gamma", gamma), ("sampling", sampling)) if value is not None
    }
    release = LabelRelease(queries=queries, lambda_=lambda_, delta=delta, classes=classes, nodes=nodes, **sample)
    result = account(method, release)
    warnings = list(result.warnings)
    if result.votes:
        warnings += [f"{_NAMES[method]} draws no sample: --{name} has no effect" for name in sample]
    if as_json:
        for line in warnings:
            echo(f"warning: {line}", err=True)
        print_json({**_document(result), "warnings": warnings})
        return
    _show(result, warnings)


def _document(result: Account) -> dict[str, Any]:
    release = result.release
    return {
        "method": result.method,
        "queries": release.queries,
        "gamma": None if result.votes else release.gamma,
        "lambda": release.lambda_,
        "classes": release.classes,
        "delta": release.delta,
        "sampling": None if result.votes else release.sampling,
        "printed": {"epsilon": result.printed, "delta_used": result.delta_printed},
        "holds": {"label": result.label, "vector": result.vector, "label_edge": result.label_edge},
        "nodes": release.nodes,
        "label_accuracy_at_most": result.ceiling,
    }


def _show(result: Account, warnings: list[str]) -> None:
    release = result.release
    screen = console()
    screen.print(
        f"[bold]{_NAMES[result.method]}[/bold]: {release.queries:,} queries, lambda {release.lambda_:g} "
        f"(noise Lap({1 / release.lambda_:.4g})), delta {release.delta:g}"
    )
    table = text_table("when this changes in the owner's data", ">epsilon that holds")
    if result.votes:
        table.add_row("a person or an edge; labels released", loss(result.label))
        table.add_row("... noisy counts released", loss(result.vector))
    else:
        exact = " (exact)" * (release.classes is not None and release.classes > 2)  # two classes: an upper bound
        table.add_row("a person; labels released (exact)", loss(result.label))
        table.add_row(f"an edge; labels released{exact}", loss(result.label_edge))
        table.add_row("a person; noisy vectors released", loss(result.vector))
    table.add_row(f"the paper's figure, at delta {result.delta_printed:g}; no guarantee", f"{result.printed:.6f}")
    screen.print(table)
    if not result.votes:
        way = {"fresh": "a fresh sample for every query", "once": "one sample for all queries"}[release.sampling]
        screen.print(f"People are drawn with probability {release.gamma:g}, {way}.")
    if result.ceiling is not None:
        screen.print(f"Under this noise a label is right with probability {result.ceiling:.4f} at most.")
    screen.print(
        f"Labels are composed {result.composition}. Figures of vectors are upper bounds.\n"
        "The owner is trusted with all data. Public nodes and edges are not protected."
    )
    for line in warnings:
        screen.print(f"[yellow]note: {line}[/yellow]")
