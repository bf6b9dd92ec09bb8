"""One result as rows, for the terminal, a notebook and ``print``.

    record -> group of one (:mod:`ldpsim.strategies.outputs.groups`) -> sections of rows -> terminal, notebook, text

The sections are in the order of a reader's questions: how good is the prediction, what is private, what did it cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ldpsim.curator.privacy.level import VOLUNTEERS
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.curator.shown import rounded_up
from ldpsim.strategies.foreign_text import text
from ldpsim.strategies.group_accuracy.group_rows import group_rows, words_of_groups
from ldpsim.strategies.outputs.groups import Group, groups_of
from ldpsim.strategies.outputs.html_table import html_table
from ldpsim.strategies.outputs.sums import of_repeats
from ldpsim.strategies.results.friends_tell import FRIENDS, TRUSTED, has_friends_figure
from ldpsim.strategies.results.in_words import EVERYTHING, NOT_ASKED, Protected, claimed, protected
from ldpsim.strategies.results.numbers import IN_CLEAR, count, epsilon, percent, seconds, share, size
from ldpsim.strategies.results.verdict import (
    CHANCE,
    DEVICE_ALONE,
    DEVICE_ALONE_WITH_FRIENDS,
    DEVICE_FEATURES,
    NO_HINT,
    NOT_TAKEN,
    NULLS,
    STANDINGS,
    gains_of,
    shown_nulls_of,
)

ACCURACY, PRIVACY, COST = "Accuracy", "Privacy", "Cost"
CHANCE_OF_A_GUESS = "epsilon that holds; chance to tell two values apart (50 %: a coin flip)"
SEEDED = "simulated from a seed: these reports are not private (--noise-seed os)"
_BOTH_ENDS = "both report it"
_ATTRIBUTE_LEVELS = ("bit_feature", "relationship", "user", "label")  # --details has all levels


@dataclass(frozen=True)
class ViewRow:
    """One line of a section.

    Args:
        name: What the figures are of; empty for a sentence over the whole width.
        figures: The figures as text; each is a column of the section.
        words: What explains them; may be empty.
        tone: ``good``, ``open`` or ``bad``; empty for a plain line.
    """

    name: str
    figures: tuple[str, ...] = ()
    words: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Section:
    """Rows under a heading.

    Args:
        name: :data:`ACCURACY`, :data:`PRIVACY` or :data:`COST`.
        about: The rest of the heading.
        rows: The rows.
    """

    name: str
    about: str
    rows: tuple[ViewRow, ...]


@dataclass(frozen=True)
class ResultView:
    """The first screen of a result.

    Args:
        title: Method and data set.
        setting: People, reports, and the epsilon claimed.
        sections: Accuracy, privacy, cost.
        warning: What is not private of the simulated reports themselves; may be empty.
    """

    title: str
    setting: str
    sections: tuple[Section, ...]
    warning: str


def view_of(record: Mapping[str, Any]) -> ResultView:
    """Return the view of a result.

    Args:
        record: Content of a result.json.

    Raises:
        ValueError: for an unknown status of a level.
    """
    (group,) = groups_of([record])
    people, repeats = record["dataset"]["split"].get("test"), len(record["accuracy"]["per_repeat"])
    tested = "" if not people else f"on {people:,} test people"
    mean = f", mean of {repeats} repeats and its standard deviation" if repeats > 1 else ""
    simulated = record["simulation_seeded"] and record["privacy"]["trust"] == "untrusted curator"
    sections = (
        Section(ACCURACY, f"{tested}{mean}".strip(", "), tuple(_accuracy(record, group))),
        Section(PRIVACY, CHANCE_OF_A_GUESS, tuple(_privacy(record))),
        Section(COST, "", (ViewRow("", words=cost_of(record)),)),
    )
    title = text(f"{record['method']} on {record['dataset']['name']}")
    return ResultView(title, setting_words(record), sections, SEEDED if simulated else "")


def setting_words(record: Mapping[str, Any]) -> str:
    """Return in a few words whose data are read, how, and the epsilon that its method claims.

    >>> setting_words({"dataset": {"nodes": 3000}, "devices": {"asked": 0}, "privacy": {"trust": "none"}})
    '3,000 people, no reports and no protection: a reference on the true data'
    """
    people, privacy = f"{record['dataset']['nodes']:,} people", record["privacy"]
    if privacy.get("trusted") == FRIENDS:
        return f"{people}, no reports; friends tell values in clear"
    if not record["devices"]["asked"]:
        return f"{people}, no reports and no protection: a reference on the true data"
    trained = record["communication"]["by_phase"].get("training")
    if trained:
        how = f"{record['devices']['asked']:,} devices train in {count(trained['rounds'], 'round')}"
    elif "silos" in record.get("federated", {}):
        how = f"{count(record['federated']['silos'], 'silo')} with their members' records, each trains alone"
    elif privacy["trust"] != "untrusted curator":
        how = "an owner reads all records"
    else:
        how = "one report each"
    value = privacy["claimed"]["value"]
    return f"{people}, {how}" + ("" if value is None else f", epsilon claimed: {epsilon(value)}")


def _accuracy(record: Mapping[str, Any], group: Group) -> Iterator[ViewRow]:
    accuracy, nulls, verdict, row = record["accuracy"], shown_nulls_of(record), group.verdict, group.row
    area = accuracy.get("auc")
    yield ViewRow(group.method, (share(accuracy),), "" if area is None else f"AUC {area:.3f}")
    best, free, clean = row["best_null"], row["no_reports"], row["nonprivate_test"]
    tone = STANDINGS[verdict["standing"]][1] if verdict else "open"
    if best is None:
        yield ViewRow("best simpler model", (NOT_TAKEN,))
    else:
        yield ViewRow("best simpler model", (percent(nulls[best]["test"]),), _null_words(best), tone)
    if free is not None:
        yield ViewRow("no reports", (percent(nulls[free]["test"]),), _null_words(free))
    elif CHANCE in nulls and best != CHANCE:
        yield ViewRow(NULLS[CHANCE].heading, (percent(nulls[CHANCE]["test"]),))
    same = "the same network on the true data" if record["devices"]["asked"] else ""
    yield ViewRow("no noise", ("not run",) if clean is None else (percent(clean),), same if clean is not None else "")
    if accuracy.get("device") is not None and accuracy.get("curator") is not None:
        yield ViewRow("on each person's device", (percent(accuracy["device"]),), _device_words(record))
    if has_friends_figure(record):
        friends = percent(accuracy["device_with_friends"])
        yield ViewRow("device (friends tell)", (friends,), _words_with_friends(record))
    yield from _gains(record, group)
    if served := words_of_groups(group_rows(record)):
        yield ViewRow("", words=f"{served}.", tone="open")


def _null_words(name: str) -> str:
    """Return the heading of a null model, and what it is in short."""
    return NULLS[name].heading + (f" ({NULLS[name].short})" if NULLS[name].short else "")


def _device_words(record: Mapping[str, Any]) -> str:
    """Return what devices would predict without any reports, and their AUC."""
    nulls, area = record.get("nulls") or {}, record["accuracy"].get("device_auc")
    words = "own data" if area is None else f"own data, AUC {area:.3f}"
    if nulls.get(DEVICE_ALONE):
        words += f"; alone {percent(nulls[DEVICE_ALONE]['test'])}"
    if nulls.get(DEVICE_FEATURES):
        words += f", features {percent(nulls[DEVICE_FEATURES]['test'])}"
    return words


def _words_with_friends(record: Mapping[str, Any]) -> str:
    """Return what devices whose friends tell them a guess would predict without any reports, and who is trusted."""
    alone = (record.get("nulls") or {}).get(DEVICE_ALONE_WITH_FRIENDS)
    return f"alone {percent(alone['test'])}; trusted: {TRUSTED}" if alone else f"trusted: {TRUSTED}"


def _gains(record: Mapping[str, Any], group: Group) -> Iterator[ViewRow]:
    """Yield what asking gains, for the curator and for devices, in the sentence that the verdict defines."""
    section = record.get("verdict")
    if section and group.verdict and (words := gains_of(section, group.nulls, hint=NO_HINT)):
        yield ViewRow("", words=f"{words[0].upper()}{words[1:]}.", tone=STANDINGS[group.verdict["standing"]][1])


def _privacy(record: Mapping[str, Any]) -> Iterator[ViewRow]:
    holds = record["privacy"]["holds"]
    wanted = [name for name in LEVELS if name in _ATTRIBUTE_LEVELS]
    if holds["central_node"]["status"] != NOT_ASKED:
        wanted.append("central_node")
    levels = [(LEVELS[name].term, protected(record, name)) for name in wanted]
    if (holds["relationship"]["value"] or 0.0) > (holds["bit_adjacency"]["value"] or math.inf):
        levels = [(term, replace(level, detail="; ".join(filter(None, (_BOTH_ENDS, level.detail)))))
                  if term == LEVELS["relationship"].term else (term, level) for term, level in levels]  # fmt: skip
    alike = [(level.epsilon, level.detail) for _, level in levels if level.epsilon == IN_CLEAR]
    common = max(alike, key=alike.count, default=("", ""))
    if alike.count(common) > 2:  # said once
        levels = [(term, level) for term, level in levels if level.epsilon != NOT_ASKED]
        others = [(term, level) for term, level in levels if (level.epsilon, level.detail) != common]
        same = next(level for _, level in levels if (level.epsilon, level.detail) == common)
        levels = [*others, (f"{EVERYTHING} else" if others else EVERYTHING, same)]
    yield from (_level_row(term, level) for term, level in levels)
    if record["privacy"].get("trusted") == "sum":
        figures = holds["user"]["figures"]
        half = f"half of {figures['honest']:,} honest: epsilon {rounded_up(figures['fewer_50'], 2)}"
        yield ViewRow("volunteers, adder", (IN_CLEAR, ""), half, "bad")
    elif record["privacy"].get("trusted") == FRIENDS:
        yield ViewRow(TRUSTED, (IN_CLEAR, ""), "what devices tell, not in the epsilons", "bad")
    elif VOLUNTEERS in holds["user"].get("not_counted", ()):
        share_of_all = record["config"].get("volunteers")
        who = f"{100 * share_of_all:g} % of the people: " if share_of_all else ""
        yield ViewRow("volunteers", (IN_CLEAR, ""), f"{who}label and features", "bad")
    yield ViewRow("", words=_claim(record))
    if (total := of_repeats(record)) is not None:
        yield ViewRow("", words=text(total.text), tone="open")


def _level_row(term: str, level: Protected) -> ViewRow:
    return ViewRow(term, (level.epsilon, level.chance), text(level.detail), level.tone)


def _claim(record: Mapping[str, Any]) -> str:
    """Return what the method's paper claims, or this project of a method of its own, as a sentence."""
    return f"Claimed: {text(claimed(record))}."


def cost_of(record: Mapping[str, Any]) -> str:
    """Return bytes, rounds, seconds and memory."""
    sent, took = record["communication"], f"{seconds(record['seconds']['total'])} s"
    used = f"{took}, {size(record['memory']['peak_rss_bytes'])} of memory"
    if not record["devices"]["asked"]:
        return f"no reports; {used}"
    down, up = size(sent["downlink_bytes_per_device"]), size(sent["uplink_bytes_per_device"])
    return f"{down} down, {up} up a device, {count(sent['rounds'], 'round')}, {used}"


def table_rows(view: ResultView, folder: Path | None) -> list[tuple[str, str, str]]:
    """Return section or name, figures, and words, row by row, for a table of three columns."""
    rows = [("", "", view.setting)]
    for section in view.sections:
        rows.append((section.name, "", section.about))
        rows += [(row.name, "  ".join(filter(None, row.figures)), row.words) for row in section.rows]
    rows += [("Warning", "", view.warning)] if view.warning else []
    return rows if folder is None else [*rows, ("Result", "", str(folder / "result.json"))]


def html_of_run(record: Mapping[str, Any], folder: Path | None) -> str:
    """Return a result as an HTML table."""
    view = view_of(record)
    return html_table(view.title, table_rows(view, folder))


def text_of_run(record: Mapping[str, Any], folder: Path | None) -> str:
    """Return a result as lines of text, one a row."""
    view = view_of(record)
    lines = [f"{view.title}: {view.setting}"]
    for section in view.sections:
        lines.append(f"{section.name} {section.about}".strip())
        for row in section.rows:
            figures = "  ".join(filter(None, row.figures))
            lines.append("  " + (f"{row.name:<24}  {figures:>8}  {row.words}" if row.name else row.words).rstrip())
    lines += [f"Warning: {view.warning}"] if view.warning else []
    lines += [f"Result: {folder / 'result.json'}"] if folder is not None else []
    return "\n".join(lines)
