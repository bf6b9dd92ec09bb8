"""Results in a notebook: one small table of HTML, without scripts or anything to load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ldpsim.strategies.outputs.run_lines import cost_of, lines_of, title_of
from ldpsim.strategies.outputs.sums import AskedInAll
from ldpsim.strategies.results.in_words import privacy_in_words
from ldpsim.strategies.results.numbers import count, percent, share
from ldpsim.strategies.results.verdict import NULLS, STANDINGS, best_null, shown_nulls_of, shown_verdict

if TYPE_CHECKING:
    from pathlib import Path

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


def rows_of_run(record: Mapping[str, Any], folder: Path | None) -> list[tuple[str, str]]:
    """Return heading and text of what a reader of a result needs first; a text may have several lines."""
    lines: dict[str, list[str]] = {}
    for line in lines_of(record):
        lines.setdefault(line.title, []).append(line.text)
    rows = [(title, "\n".join(texts)) for title, texts in lines.items()]
    return rows if folder is None else [*rows, ("folder", str(folder))]


def html_of_run(record: Mapping[str, Any], folder: Path | None) -> str:
    """Return a result: accuracy beside simpler models, the claim, privacy in words, cost."""
    return html_table(title_of(record), rows_of_run(record, folder))


def text_of_run(record: Mapping[str, Any], folder: Path | None) -> str:
    """Return a result as a few lines of text: those of :func:`html_of_run`, one a row."""
    rows = [(first, text.replace("\n", "; ")) for first, text in rows_of_run(record, folder)]
    return "\n".join([title_of(record), *(f"{first:<9}{text}" for first, text in rows)])


def html_of_comparison(
    records: Sequence[Mapping[str, Any]], failed: Mapping[str, str], sums: Sequence[AskedInAll] = ()
) -> str:
    """Return a comparison: one row a method; ``failed`` has the reasons of methods without a result."""
    rows = [(record["method"], share(record["accuracy"]), *_among_nulls(record),
             "\n".join(f"{finding.subject}: {finding.word}" for finding in privacy_in_words(record)), cost_of(record))
            for record in records]  # fmt: skip
    rows += [(name, "failed", "", line, "", "") for name, line in failed.items()]
    rows += [("all", "", "", "", asked.text, "") for asked in sums]
    headings = ("method", "test", "beside it", "among null models", "privacy", "cost")
    return html_table(f"{count(len(records), 'method')} on the same people", rows, headings)


def _among_nulls(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return chance and the best null model, and the standing among all of them."""
    nulls, verdict = shown_nulls_of(record), shown_verdict(record)
    names = dict.fromkeys(name for name in ("chance", best_null(nulls)) if name in nulls)
    beside = [f"{NULLS[name].heading}: {percent(nulls[name]['test'])}" for name in names if name is not None]
    return "\n".join(beside), STANDINGS["" if verdict is None else verdict["standing"]][0]
