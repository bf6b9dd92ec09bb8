"""A result in a few titled lines: what the terminal, a notebook and ``print`` show first of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.group_accuracy.section import group_rows, words_of_groups
from ldpsim.strategies.outputs.sums import of_repeats
from ldpsim.strategies.results.in_words import claimed, privacy_in_words
from ldpsim.strategies.results.numbers import count, difference, percent, seconds, share, size
from ldpsim.strategies.results.verdict import (
    CHANCE,
    DEVICE_ALONE,
    DEVICE_FEATURES,
    NOT_TAKEN,
    NULLS,
    STANDINGS,
    asking_nobody,
    shown_nulls_of,
    shown_verdict,
    words_of_standing,
)

_LESS = {DEVICE_FEATURES: "own features", CHANCE: "largest class"}  # what a device alone may know
_ALIGNED = ' style="text-align:left;vertical-align:top"'  # a notebook's own style aligns at the right


@dataclass(frozen=True)
class Line:
    """One line about a result.

    Args:
        title: What it is about: ``accuracy``, ``claimed``, ``privacy`` or ``cost``.
        text: The words.
        tone: ``good``, ``open`` or ``bad``; empty for a plain line.
        strong: The part of the words that has the tone; empty for all of them.
    """

    title: str
    text: str
    tone: str = ""
    strong: str = ""


def title_of(record: Mapping[str, Any]) -> str:
    """Return the method and the data set."""
    return text(f"{record['method']} on {record['dataset']['name']}")


def lines_of(record: Mapping[str, Any]) -> list[Line]:
    """Return what a reader of a result needs first: accuracy beside simpler models, the claim, privacy, the cost."""
    return [
        *_accuracy(record),
        Line("claimed", text(claimed(record))),
        *_privacy(record),
        Line("cost", cost_of(record)),
    ]


def _accuracy(record: Mapping[str, Any]) -> Iterator[Line]:
    accuracy, nulls, free = record["accuracy"], shown_nulls_of(record), asking_nobody(record)
    clean, repeats = record["reference"]["nonprivate_test"], len(accuracy["per_repeat"])
    beside = [share(accuracy) + (f" over {repeats} repeats" if accuracy["std"] is not None else "")]
    if accuracy.get("auc") is not None:
        beside[0] += f" (AUC {accuracy['auc']:.3f})"
    if free is not None:
        beside.append(f"asking nobody {percent(nulls[free]['test'])} ({NULLS[free].heading})")
    elif CHANCE in nulls:
        beside.append(f"chance {percent(nulls[CHANCE]['test'])}")
    beside.append("without noise not trained" if clean is None else f"without noise {percent(clean)}")
    yield Line("accuracy", "; ".join(beside))
    verdict = shown_verdict(record)
    words = "" if verdict is None else words_of_standing(verdict, nulls)
    standing = verdict["standing"] if verdict is not None and words else ""
    yield Line("accuracy", words or f"null models: {NOT_TAKEN}", STANDINGS[standing][1])
    if who := who_predicts(record):
        yield Line("accuracy", who, "open")
    if served := words_of_groups(group_rows(record)):
        yield Line("accuracy", served, "open")


def who_predicts(record: Mapping[str, Any]) -> str:
    """Return the curator's figure beside that of devices that predict for themselves; empty without both.

    Beside the device's figure is that of a device alone, and of a device that reads its features alone, or nothing.
    """
    accuracy, nulls = record["accuracy"], record.get("nulls") or {}
    if accuracy.get("curator") is None or accuracy.get("device") is None:
        return ""
    less = ", ".join(f"{word} {percent(nulls[name]['test'])}" for name, word in _LESS.items() if nulls.get(name))
    alone = nulls.get(DEVICE_ALONE)
    nobody = f", {percent(alone['test'])} with no reports ({less})" if alone else ""
    verdict = record.get("verdict") or {}
    over, area = verdict.get("device"), accuracy.get("device_auc")
    gain = f": {difference(over['margin'], verdict['interval']['of'])} points over the best of these" if over else ""
    device = percent(accuracy["device"]) + ("" if area is None else f" (AUC {area:.3f})")
    return f"curator {percent(accuracy['curator'])}; a device for itself {device}{nobody}{gain}"


def _privacy(record: Mapping[str, Any]) -> Iterator[Line]:
    for finding in privacy_in_words(record):
        yield Line("privacy", text(finding.text), finding.tone, finding.word)
    if (total := of_repeats(record)) is not None:
        yield Line("privacy", text(total.text), "open")


def cost_of(record: Mapping[str, Any]) -> str:
    """Return bytes, rounds and seconds."""
    sent, took = record["communication"], f"{seconds(record['seconds']['total'])} s"
    if not record["devices"]["asked"]:
        return f"nobody was asked; {took}"
    down, up = size(sent["downlink_bytes_per_device"]), size(sent["uplink_bytes_per_device"])
    total = size(sent["downlink_bytes"] + sent["uplink_bytes"])
    return f"{down} down, {up} up a device in {count(sent['rounds'], 'round')}; {total} in all; {took}"


def html_table(title: str, rows: Iterable[Sequence[str]], headings: Sequence[str] = ()) -> str:
    """Return a table; every text is escaped, and a line end in a cell is kept.

    Args:
        title: Its caption.
        rows: Texts of the cells; the first of a row is its heading.
        headings: Texts above the columns; none by default.

    >>> html_table("a<b", [("x", "1")]).replace(_ALIGNED, "")
    '<table><caption>a&lt;b</caption><tbody><tr><th scope="row">x</th><td>1</td></tr></tbody></table>'
    """
    above = "".join(f'<th scope="col"{_ALIGNED}>{escape(words)}</th>' for words in headings)
    head = f"<thead><tr>{above}</tr></thead>" if headings else ""
    body = "".join(
        f'<tr><th scope="row"{_ALIGNED}>{escape(first)}</th>{"".join(map(_cell, rest))}</tr>' for first, *rest in rows
    )
    return f"<table><caption>{escape(title)}</caption>{head}<tbody>{body}</tbody></table>"


def _cell(words: str) -> str:
    return f"<td{_ALIGNED}>{escape(words).replace(chr(10), '<br>').replace(' %', '&nbsp;%')}</td>"


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
    rows = [(first, words.replace("\n", "; ")) for first, words in rows_of_run(record, folder)]
    return "\n".join([title_of(record), *(f"{first:<9}{words}" for first, words in rows)])
