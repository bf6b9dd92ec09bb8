"""Results in a notebook: one small table of HTML, without scripts or anything to load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ldpsim.strategies.outputs.sums import AskedInAll, of_repeats
from ldpsim.strategies.results.in_words import claimed, privacy_in_words
from ldpsim.strategies.results.numbers import bytes_, count, percent, plus_minus, seconds
from ldpsim.strategies.results.shown_nulls import (
    NULLS,
    STANDINGS,
    asking_nobody,
    best_null,
    shown_nulls_of,
    shown_verdict,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ldpsim.strategies.outputs.graph_arrays import GraphArrays


_ABOUT = {"dataset": "data set", "edges": "the edges are", "config_hash": "config hash", "reports_sha256": "reports"}
_ALIGNED = ' style="text-align:left;vertical-align:top"'  # a notebook's own style aligns at the right


def html_table(title: str, rows: Iterable[Sequence[str]], headings: Sequence[str] = ()) -> str:
    """Return a table; every text is escaped, and a line end in a cell is kept.

    Args:
        title: Its caption.
        rows: Texts of the cells; the first of a row is its heading.
        headings: Texts above the columns; none by default.

    >>> html_table("a<b", [("x", "1")]).replace(_ALIGNED, "")
    '<table><caption>a&lt;b</caption><tbody><tr><th scope="row">x</th><td>1</td></tr></tbody></table>'
    """
    above = "".join(f'<th scope="col"{_ALIGNED}>{escape(text)}</th>' for text in headings)
    head = f"<thead><tr>{above}</tr></thead>" if headings else ""
    body = "".join(
        f'<tr><th scope="row"{_ALIGNED}>{escape(first)}</th>{"".join(map(_cell, rest))}</tr>' for first, *rest in rows
    )
    return f"<table><caption>{escape(title)}</caption>{head}<tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    return f"<td{_ALIGNED}>{escape(text).replace(chr(10), '<br>').replace(' %', '&nbsp;%')}</td>"


def html_of_run(record: Mapping[str, Any], folder: Path | None) -> str:
    """Return a result: verdict, accuracy beside simpler models, the claim, privacy in words, cost."""
    return html_table(_title(record), rows_of_run(record, folder))


def text_of_run(record: Mapping[str, Any], folder: Path | None) -> str:
    """Return a result as at most ten lines of text: those of :func:`html_of_run`, one a row."""
    rows = [(first, text.replace("\n", "; ")) for first, text in rows_of_run(record, folder)]
    return "\n".join([_title(record), *(f"{first:<9}{text}" for first, text in rows)])


def _title(record: Mapping[str, Any]) -> str:
    return f"{record['method']} on {record['dataset']['name']}"


def rows_of_run(record: Mapping[str, Any], folder: Path | None) -> list[tuple[str, str]]:
    """Return heading and text of what a reader of a result needs first; a text may have several lines."""
    verdict, reference = shown_verdict(record), record["reference"]["nonprivate_test"]
    said = [f"{_test(record)} of the test people are right", *_beside(record)]
    if reference is not None:
        said.append(f"without noise: {percent(reference)}")
    rows = [] if verdict is None else [("verdict", verdict["text"])]
    rows += [
        ("accuracy", "\n".join(said)),
        ("claimed", claimed(record)),
        (
            "privacy",
            "\n".join(
                [
                    *(finding.text for finding in privacy_in_words(record)),
                    *(asked.text for asked in filter(None, (of_repeats(record),))),
                ]
            ),
        ),
        ("cost", _cost(record)),
    ]
    if folder is not None:
        rows.append(("folder", str(folder)))
    return rows


def html_of_comparison(
    records: Sequence[Mapping[str, Any]], failed: Mapping[str, str], sums: Sequence[AskedInAll] = ()
) -> str:
    """Return a comparison: one row a method; ``failed`` has the reasons of methods without a result."""
    rows = [
        (record["method"], _test(record), "\n".join(_beside(record)), _standing(record),
         "\n".join(f"{finding.subject}: {finding.word}" for finding in privacy_in_words(record)), _cost(record))
        for record in records
    ]  # fmt: skip
    rows += [(name, "failed", "", line, "", "") for name, line in failed.items()]
    rows += [("all", "", "", "", asked.text, "") for asked in sums]
    headings = ("method", "test", "beside it", "among null models", "privacy", "cost")
    return html_table(f"{count(len(records), 'method')} on the same people", rows, headings)


def html_of_graph(graph: GraphArrays) -> str:
    """Return a reconstructed graph: its sizes, and what it was made of."""
    n, d = graph.features.shape
    weights = "" if graph.weights is None else ", with weights"
    known = int((graph.trained.labels >= 0).sum())
    rows = [
        ("edges", f"{graph.edges.shape[1]:,} {'directed' if graph.directed else 'undirected'}{weights}"),
        ("people", f"{n:,}, with {count(d, 'feature')}; {count(known, 'label')} known, {graph.classes} classes"),
        *((_ABOUT[name], str(value)) for name, value in graph.about.items() if name in _ABOUT),
    ]
    return html_table(f"the curator's graph, {graph.about.get('method', '')}", rows)


def _test(record: Mapping[str, Any]) -> str:
    accuracy = record["accuracy"]
    return percent(accuracy["test"]) + plus_minus(accuracy["std"])


def _standing(record: Mapping[str, Any]) -> str:
    verdict = shown_verdict(record)
    return STANDINGS["" if verdict is None else verdict["standing"]][0]


def _beside(record: Mapping[str, Any]) -> list[str]:
    nulls, free = shown_nulls_of(record), asking_nobody(record)
    first = [] if free is None else [f"asking nobody gives {percent(nulls[free]['test'])} ({NULLS[free].heading})"]
    shown = dict.fromkeys(name for name in ("chance", best_null(nulls)) if name in nulls)
    return first + [f"{NULLS[name].heading}: {percent(nulls[name]['test'])}"
                    for name in shown if name is not None and name != free]  # fmt: skip


def _cost(record: Mapping[str, Any]) -> str:
    traffic, took = record["communication"], f"{seconds(record['seconds']['total'])} s"
    if not record["devices"]["asked"]:
        return f"nobody was asked; {took}"
    down, up = (bytes_(traffic[f"{way}link_bytes_per_device"]) for way in ("down", "up"))
    return f"{down} down and {up} up a device, {count(traffic['rounds'], 'round')}; {took}"
