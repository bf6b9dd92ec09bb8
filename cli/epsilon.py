"""``ldpsim epsilon METHOD``: privacy loss of an owner's answers or of votes, without any data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.output import console, echo, print_json, text_table
from ldpsim.cli.words import epsilon as shown

if TYPE_CHECKING:
    from ldpsim.curator.owner.privacy.accountant import Account, Figure

_METHODS = "privgnn|pate-g|pate-m|vote"
_NAMES = {"privgnn": "PrivGnn", "pate-g": "PATE-G", "pate-m": "PATE-M"}
_TARGETS = {
    "label": "the labels, a person",
    "vector": "the noisy vectors, a person",
    "label_edge": "the labels, an edge",
    "printed": "the printed figure",
}
_GAMMA, _SAMPLING = (o.OF_AN_OWNER[name][1] for name in ("gamma", "sampling"))


def epsilon(
    method: Annotated[
        str, typer.Argument(metavar=_METHODS, help="The method.", autocompletion=completion.from_metavar(_METHODS))
    ],
    queries: Annotated[
        int | None, o.plain_option("--queries", "Questions that the owner, or each voter (default 1), answers.", "N")
    ] = None,
    delta: Annotated[
        float | None, o.plain_option("--delta", "Delta of the guarantee, below 1 / n for n people.", "D")
    ] = None,
    lambda_: Annotated[
        float | None, o.plain_option("--lambda", "1 / scale of the Laplace noise on each class.", "X")
    ] = None,
    target_epsilon: Annotated[
        float | None, o.plain_option("--target-epsilon", "Find the largest lambda within E instead.", "E")
    ] = None,
    target_level: Annotated[
        str | None,
        o.plain_option(
            "--target-level", "The figure that E is about.", "label|vector|label_edge|printed", show_default="label"
        ),
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
    nodes: Annotated[int | None, o.plain_option("--nodes", "People in the owner's data, or voters.", "N")] = None,
    epsilon_: Annotated[float | None, o.plain_option("--epsilon", "Loss of one answer (vote).", "E")] = None,
    eps_labels: Annotated[float | None, o.plain_option("--eps-labels", "Loss of a reported label (vote).", "E")] = None,
    lists: Annotated[int | None, o.plain_option("--lists", "Most lists that hold one person (vote).", "D")] = None,
    reporting: Annotated[
        str | None,
        o.plain_option("--reporting", "Ends of a pair that are asked (vote).", "both|one-end", show_default="both"),
    ] = None,
    as_printed: Annotated[
        bool, o.plain_option("--as-printed", "Show the paper's figure first; privgnn: at ten times delta.")
    ] = False,
    as_json: o.PlainJson = False,
    debug: o.PlainDebug = False,
) -> None:
    """Account for PrivGnn, PATE or votes: the loss that holds for a person and for an edge, and what a paper prints.

    ldpsim epsilon privgnn --queries 1000 --lambda .2 --classes 10 --delta 1e-4

    ldpsim epsilon vote --epsilon 4 --lists 10
    """
    of_votes = {"--epsilon": epsilon_, "--eps-labels": eps_labels, "--lists": lists, "--reporting": reporting}
    of_owners = {
        "--delta": delta, "--lambda": lambda_, "--target-epsilon": target_epsilon, "--target-level": target_level,
        "--classes": classes, "--gamma": gamma, "--sampling": sampling, "--as-printed": as_printed or None,
    }  # fmt: skip
    foreign = [option for option, value in (of_owners if method == "vote" else of_votes).items() if value is not None]
    if foreign:
        raise ValueError(f"{foreign[0]}: {method} has no such option")
    if method == "vote":
        from ldpsim.cli.epsilon_vote import show

        show(epsilon_, eps_labels=eps_labels, times=queries, lists=lists, people=nodes, reporting=reporting,
             as_json=as_json)  # fmt: skip
        return
    from ldpsim.curator.names import nearest
    from ldpsim.curator.owner.privacy.accountant import FIGURES, METHODS, LabelRelease, account, largest_lambda

    if method not in METHODS:
        raise ValueError(
            f"{method}: must be one of {', '.join(METHODS)}, vote{nearest(method, METHODS)}; "
            "`ldpsim plan METHOD --no-worth` shows the losses of any other method"
        )
    if queries is None or delta is None:
        raise ValueError(f"{'--delta' if delta is None else '--queries'}: {method} needs this option")
    if (lambda_ is None) == (target_epsilon is None):
        raise ValueError("one of --lambda and --target-epsilon is needed, and not both")
    if target_level is not None and target_epsilon is None:
        raise ValueError(f"--target-level {target_level}: goes with --target-epsilon")
    figure: Any = target_level or ("printed" if as_printed else "label")
    if figure not in FIGURES:
        raise ValueError(f"--target-level {figure}: must be one of {', '.join(FIGURES)}{nearest(figure, FIGURES)}")
    if method == "privgnn" and classes is None and not as_printed:
        raise ValueError("--classes: the loss of a label depends on the number of classes (--as-printed needs none)")

    start = 0.1 if lambda_ is None else lambda_
    asked = LabelRelease(
        queries=queries, lambda_=start, delta=delta, classes=classes, gamma=0.3 if gamma is None else gamma,
        sampling=sampling or "fresh", nodes=nodes,  # type: ignore[arg-type]
    )  # fmt: skip
    if target_epsilon is not None:
        from dataclasses import replace

        asked = replace(asked, lambda_=largest_lambda(method, asked, target=target_epsilon, figure=figure))
    found = account(method, asked)
    unused = [
        f"{_NAMES[method]} draws no sample: {option} has no effect"
        for option, given in (("--gamma", gamma), ("--sampling", sampling))
        if given is not None and found.sampling == "all"
    ]
    if as_json:
        document = {**found.to_dict(), "as_printed": as_printed}
        document["warnings"] += unused
        if target_epsilon is not None:
            document |= {"target_epsilon": target_epsilon, "target_level": figure}
        for line in document["warnings"]:
            echo(f"warning: {line}", err=True)
        print_json(document)
        return

    target = None if target_epsilon is None else (figure, target_epsilon)
    console().print(view(found, target=target, table_first=as_printed, notes=unused))


def view(
    found: Account, *, target: tuple[Figure, float] | None = None, table_first: bool = False, notes: list[str]
) -> Any:
    """Return the text to print.

    Args:
        found: The figures.
        target: Figure and value for which lambda was found, None if lambda was given.
        table_first: Whether the paper's figure comes first.
        notes: Additional warnings.
    """
    from rich.console import Group

    asked = found.release
    setting = f"{asked.queries:,} queries, lambda {asked.lambda_:g} (noise Lap({1 / asked.lambda_:.4g})), "
    setting += f"delta {asked.delta:g}"
    if asked.classes is not None and found.ceiling is not None:
        setting += f", {asked.classes} classes"
    blocks: list[list[Any]] = [[f"[bold]{_NAMES[found.method]}[/bold]: {setting}"]]
    if target is not None:
        words = f"the largest whose epsilon, for {_TARGETS[target[0]]}, is at most {target[1]:g}"
        blocks[0].append(f"[bold]lambda {asked.lambda_:g}[/bold] is {words}")
    blocks += [[_printed(found)], _holding(found)] if table_first else [_holding(found), [_printed(found)]]
    if found.query_label is not None:
        one = f"One query alone, on everybody's data: its label {shown(found.query_label)}, "
        one += f"its vector {shown(found.query_vector)}."
        if found.ceiling is not None:
            one += f" Under this noise a label is right with probability {found.ceiling:.4f} at most."
        blocks.append([one])
    blocks.append(
        [
            f"Labels are composed {found.composition}. Figures of vectors are upper bounds.",
            "The owner is trusted with all data. Public nodes and edges are not protected.",
            *(f"[yellow]note: {line}[/yellow]" for line in (*found.warnings, *notes)),
        ]
    )
    spaced = [part for block in blocks for part in (*block, "")]
    return Group(*spaced[:-1])


def _holding(found: Account) -> list[Any]:

    names = list(found.bounds)
    title = {"fresh": ">fresh samples", "once": ">one sample", "all": ">epsilon"}
    if found.sampling == "all":
        heading = f"[bold]Holds[/bold] at delta {found.release.delta:g}, when this changes in the owner's data:"
        rows = {
            "a person or an edge; labels released": "label",
            "... noisy counts released": "vector",
            "... if one count could change by 2, as in a posterior": "one_coordinate",
            "... and that by Rényi divergences": "vector_rdp",
        }
    else:
        way = {"fresh": "a fresh sample for every query", "once": "one sample for all queries"}[found.sampling]
        heading = (
            f"[bold]Holds[/bold] at delta {found.release.delta:g}, people drawn with probability "
            f"{found.release.gamma:g}; asked for: {way}"
        )
        attained = found.release.classes is not None and found.release.classes > 2  # two classes: an upper bound
        rows = {
            "a person; labels released (exact)": "label",
            f"an edge; labels released{' (exact)' if attained else ''}": "label_edge",
            "a person; noisy vectors released": "vector",
            "... the same by Rényi divergences": "vector_rdp",
            "an edge; noisy vectors released": "vector_edge",
        }
    shown_rows = text_table("", *(title[name] for name in names))
    for words, key in rows.items():
        figures = [(name, shown(getattr(found.bounds[name], key))) for name in names]
        marked = [f"[bold]{text}[/bold]" if name == found.sampling else text for name, text in figures]
        shown_rows.add_row(words, *marked)
    return [heading, shown_rows]


def _printed(found: Account) -> str:
    printed = found.printed
    if found.method == "privgnn":
        how = (
            f"Rényi divergences at sensitivity 1, fresh samples, and delta {printed.delta_used:g}: ten times the one "
            f"given, as in its tables. The same formula at delta {found.release.delta:g}: "
            f"{shown(printed.at_delta_given)}."
        )
    else:
        how = f"The moments bound at delta {printed.delta_used:g}, whatever the votes."
    return (
        f"[bold]Printed[/bold], by the PrivGnn paper's analysis: [bold]{printed.in_the_table:.2f}[/bold] "
        f"({printed.epsilon:.6f}, cut at two decimals). {how} Not a guarantee."
    )
