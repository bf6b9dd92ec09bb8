"""Verdict on a run, before its tables: accuracy, the claim, privacy in words, cost, and the next command.

The words about privacy are those of :mod:`ldpsim.strategies.results.in_words`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ldpsim.cli.titled_rows import TitledRows
from ldpsim.cli.words import TONES, count, difference, percent, seconds, share, size
from ldpsim.strategies.group_accuracy.shown import group_rows, words_of_groups
from ldpsim.strategies.outputs.sums import of_repeats
from ldpsim.strategies.outputs.untrusted import text
from ldpsim.strategies.results.in_words import claimed, privacy_in_words
from ldpsim.strategies.results.shown_nulls import (
    CHANCE,
    NOT_TAKEN,
    NULLS,
    STANDINGS,
    UNJUDGED,
    asking_nobody,
    shown_nulls_of,
    shown_verdict,
)

_CONTINUED = " \\"


def verdict(record: Mapping[str, Any]) -> TitledRows:
    """Return the verdict: accuracy, claim, privacy and cost."""
    shown = TitledRows(width=8, gap=1)
    for line in _accuracy(record):
        shown.add_row("" if shown.rows else "accuracy", line)
    findings = Table.grid(padding=(0, 1))  # a wrapped finding stays apart from the next one, also without colours
    findings.add_column(width=1)
    findings.add_column(overflow="fold")
    for line in _privacy(record):
        findings.add_row("-", line)
    shown.add_row("claimed", escape(claimed(record)))
    shown.add_row("privacy", findings)
    shown.add_row("cost", _cost(record))
    return shown


def _accuracy(record: Mapping[str, Any]) -> Iterator[str]:
    accuracy, nulls, free = record["accuracy"], shown_nulls_of(record), asking_nobody(record)
    repeats = len(accuracy["per_repeat"])
    over = f" over {repeats} repeats" if accuracy["std"] is not None else ""
    clean = record["reference"]["nonprivate_test"]
    beside = [f"[bold]{share(accuracy)}[/bold]{over}"]
    if free is not None:
        beside.append(f"asking nobody {percent(nulls[free]['test'])} ({NULLS[free].heading})")
    elif CHANCE in nulls:
        beside.append(f"chance {percent(nulls[CHANCE]['test'])}")
    yield "; ".join([*beside, "without noise not trained" if clean is None else f"without noise {percent(clean)}"])
    standing, words = _standing(record)
    style = TONES[STANDINGS[standing][1]]
    yield f"[bold {style}]{escape(words)}[/bold {style}]"
    served = words_of_groups(group_rows(record))
    if served:
        yield f"[{TONES['open']}]{escape(served)}[/{TONES['open']}]"


def _standing(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the standing among the null models, a key of STANDINGS, and its sentence, which names the best of them."""
    found = shown_verdict(record)
    if found is None or not found["standing"]:
        return "", f"null models: {NOT_TAKEN}"
    standing, name, over = found["standing"], found["best_null"], found["over_chance"]
    best = f"{NULLS[name].heading}, {percent(shown_nulls_of(record)[name]['test'])}"
    if standing in ("alone", "chance"):
        below = over is not None and over["high"] < 0
        how = "above" if standing == "alone" else "below" if below else "not measurably above"
        return standing, f"{how} chance{_by(over, found['interval_of'])}; the best null model is {best}"
    said = {
        "above": "beats the best null model",
        "unjudged": UNJUDGED,
        "even": "does not measurably beat the best null model",
        "below": "is below the best null model",
    }
    return standing, f"{said[standing]} ({best}){_by(found['margin'], found['interval_of'])}"


def _by(interval: Mapping[str, float] | None, of: str | None) -> str:
    return "" if interval is None else f": {difference(interval, of)} points"


def _privacy(record: Mapping[str, Any]) -> Iterator[str]:
    for found in privacy_in_words(record):
        style = f"bold {TONES[found.tone]}" if found.tone else "dim"
        detail = f" ({escape(found.detail)})" if found.detail else ""
        yield f"{escape(found.subject)}: [{style}]{escape(found.word)}[/{style}]{detail}"
    if (asked := of_repeats(record)) is not None:
        yield f"[bold {TONES['open']}]{escape(text(asked.text))}[/]"


def _cost(record: Mapping[str, Any]) -> str:
    sent = record["communication"]
    took = f"{seconds(record['seconds']['total'])} s"
    if not record["devices"]["asked"]:
        return f"nobody was asked; {took}"
    down, up = size(sent["downlink_bytes_per_device"]), size(sent["uplink_bytes_per_device"])
    total = size(sent["downlink_bytes"] + sent["uplink_bytes"])
    return f"{down} down, {up} up a device in {count(sent['rounds'], 'round')}; {total} in all; {took}"


@dataclass(frozen=True)
class ShellCommand:
    """Command that can be copied: lines that do not fit end in a backslash, as a shell reads them.

    Args:
        text: The command.
        before: Text before it, in its first line.
    """

    text: str
    before: str = "  "

    def lines(self, width: int) -> list[str]:
        """Return the lines, at most ``width`` long unless one word is longer."""
        room = width - len(_CONTINUED)
        found: list[str] = []
        for part in self._parts(room - max(4, len(self.before))):
            if found and len(found[-1]) + 1 + len(part) <= room:
                found[-1] += f" {part}"
            else:
                found.append(f"{'    ' if found else self.before}{part}")
        return [line + _CONTINUED for line in found[:-1]] + found[-1:]

    def _parts(self, room: int) -> list[str]:
        """Return the words; an option and its value are one part where they fit."""
        parts: list[str] = []
        option = False
        for word in (shlex.quote(word) for word in shlex.split(self.text)):
            if option and not word.startswith("--") and len(parts[-1]) + 1 + len(word) <= room:
                parts[-1] += f" {word}"
                option = False
            else:
                parts.append(word)
                option = word.startswith("--")
        return parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one unbroken line of text for each line."""
        for line in self.lines(options.max_width):
            yield Text(line, style="bold", no_wrap=True, overflow="ignore")
