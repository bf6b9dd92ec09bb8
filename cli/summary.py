"""Results on the terminal: the first screen of a run, its tables, and the table of several results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ldpsim.cli.output import console, show_sums, text_table
from ldpsim.cli.screen import FittingTable, TitledRows
from ldpsim.cli.words import GUESS, IN_CLEAR, TONES, best_guess, count, epsilon, word_of
from ldpsim.curator.methods.spec import NO_NETWORK
from ldpsim.curator.privacy.levels import level_spec
from ldpsim.strategies.outputs.groups import ABOVE, Group, shown_cells
from ldpsim.strategies.outputs.run_lines import lines_of, title_of
from ldpsim.strategies.outputs.sums import AskedInAll, really_asked
from ldpsim.strategies.results.in_words import shown_levels
from ldpsim.strategies.results.verdict import NOT_TAKEN, STANDINGS, null_lines, shown_verdict

_SIMULATED = "Simulated from a seed: not private."
_ON_NARROW = ({"no noise"}, {"no noise", "asking nobody"})  # columns that leave a table that is too wide
_SHOWN, _EXPLAINED = 40, 12  # rows of several results, and those with a verdict in words


def summary(record: Mapping[str, Any], *, folder: Path | None, next_command: str | None = None) -> Lines:
    """Return the first screen and the tables of a result.

    Args:
        record: result.json's content.
        folder: Folder of the result, None if it was not written.
        next_command: Shell command to go on with, None to name none.
    """
    details = Panel(Lines(*_details(record)), title="[bold]In detail[/bold]", title_align="left")
    return Lines(first_screen(record, folder=folder, next_command=next_command), details)


def first_screen(
    record: Mapping[str, Any], *, folder: Path | None, next_command: str | None = None, more: bool = False
) -> Lines:
    """Return the verdict, the next command and the place of the result: 18 lines at most on 80 columns.

    Args:
        record, folder, next_command: As for :func:`summary`.
        more: Whether to name the option that shows the tables.
    """
    parts: list[RenderableType] = [Rule(f"[bold]{escape(title_of(record))}[/bold]", align="left"), verdict(record)]
    simulated = record["simulation_seeded"] and record["privacy"]["trust"] == "untrusted curator"
    notes = [f"[yellow]{_SIMULATED}[/yellow]"] if simulated else []
    notes += ["All tables: --details"] if more else []
    if notes:
        parts.append(" ".join(notes))
    if next_command is not None:
        if really_asked(record):
            parts.append(Text("The next command asks these people again, and losses add.", style="yellow"))
        parts.append(in_one_line(f"Next: {next_command}"))
    if folder is not None:
        parts.append(in_one_line(f"Result: {folder / 'result.json'}"))
    return Lines(*parts)


def in_one_line(words: str) -> Text:
    """Return a command or a path that the terminal breaks, not Rich: it can be copied."""
    return Text(words, no_wrap=True, overflow="ignore")


def verdict(record: Mapping[str, Any]) -> TitledRows:
    """Return accuracy, claim, privacy and cost, each line in the colour of its tone."""
    shown, findings = TitledRows(width=8, gap=1), Table.grid(padding=(0, 1))
    findings.add_column(width=1)  # a wrapped finding stays apart from the next one, also without colours
    findings.add_column(overflow="fold")
    title = ""
    for line in lines_of(record):
        words = _toned(line.text, line.strong or line.text, line.tone)
        if line.title == "privacy":
            findings.add_row("-", words)
        if line.title != title:
            shown.add_row(line.title, findings if line.title == "privacy" else words)
        elif line.title != "privacy":
            shown.add_row("", words)
        title = line.title
    return shown


def _toned(words: str, strong: str, tone: str) -> str:
    """Return words with markup: a part of them in the colour of a tone."""
    if not tone:
        return escape(words)
    before, part, after = words.partition(strong)
    return f"{escape(before)}[bold {TONES[tone]}]{escape(part)}[/]{escape(after)}"


def _details(record: Mapping[str, Any]) -> Iterator[RenderableType]:
    data, split, privacy = record["dataset"], record["dataset"]["split"], record["privacy"]
    grid, judgement = TitledRows(width=15), shown_verdict(record)
    sizes = ", ".join(f"{data[name]:,} {name}" for name in ("edges", "features", "classes"))
    parts = ", ".join(f"{number:,} {name}" for name, number in split.items())
    grid.add_row("people", f"{data['nodes']:,}, {sizes}; {parts}")
    network = "no network" if record["gnn"] == NO_NETWORK else f"{record['gnn']} on {record['device']}"
    grid.add_row("network", f"{network}, engine {record['engine']}")
    words, standing = (NOT_TAKEN, "") if judgement is None else (judgement["text"], judgement["standing"])
    grid.add_row("null models", _toned(words, words, STANDINGS[standing][1]))
    for heading, line in null_lines(record):
        grid.add_row(heading, line)
    grid.add_row("trust", privacy["trust"])
    source = record["config"].get("provenance", {}).get("feature_share")
    if source is not None:
        part = record["config"]["budget"]["feature_share"]
        grid.add_row("features", f"{part:g} of epsilon, {source}" if part else f"not asked, {source}")
    yield grid
    searched = privacy["searched"]
    beside = f" (the {count(searched, 'collection')} of a search for the settings not counted)" if searched else ""
    yield Rule("[bold]What holds[/bold]", align="left", style="dim")
    yield Text(f"over one collection{beside}, when this changes:")
    yield _holds(privacy["holds"])
    yield Text(GUESS, style="dim")
    why = TitledRows(width=15)
    clear = {entry["detail"]: None for entry in privacy["holds"].values() if entry["status"] == "unprotected"}
    for title, reasons in (("why they differ", privacy["why_they_differ"]), (IN_CLEAR, filter(None, clear))):
        for place, reason in enumerate(reasons):
            why.add_row("" if place else title, escape(reason))
    life = privacy["lifetime_per_device"]["user"]
    if life["max"] != 0:
        words = IN_CLEAR if life["max"] is None else f"{epsilon(life['max'])} at most a device"
        gap = "" if privacy["lifetime_per_device"]["complete"] else "; not all of it is known"
        why.add_row("in the ledgers", words + gap)
    yield why
    yield Rule("[bold]Figures[/bold]", align="left", style="dim")
    figures = TitledRows(width=15)
    for name in ("accuracy", "reference", "devices", "communication", "seconds", "memory", "reconstruction"):
        figures.add_row(name, escape(", ".join(_numbers(record[name]))))
    yield figures


def _numbers(section: Mapping[str, Any]) -> Iterator[str]:
    """Yield name and value of the numbers of a section of a result, and of the tables inside it."""
    for name, value in section.items():
        words = name.replace("_", " ")
        if isinstance(value, Mapping) and name != "by_phase":
            yield from (f"{words} {inner}" for inner in _numbers(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield f"{words} {value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{words} {value:.3g}"


def _holds(holds: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    of = next((entry["of_one"]["of"] for entry in holds.values() if entry.get("of_one")), None)
    shown = text_table("~", ">epsilon", *([] if of is None else [f">all {of}"]), ">best guess", "", gap=1)
    for level, entry in holds.items():
        one = entry.get("of_one") or entry
        bounded = entry["status"] == "bounded"
        together = entry["value"] if bounded else entry.get("private_value")
        whole = [] if of is None else [epsilon(together) if entry.get("of_one") else ""]
        notes = list[str]()
        if bounded:
            delta = one["delta"] or 0.0
            loss, guess = f"[bold]{epsilon(one['value'])}[/bold]", best_guess(one["value"], delta)
            notes += [f"delta {delta:.0e}"] if delta else []
        else:
            loss = f"[{'yellow' if entry['status'] == 'unprotected' else 'dim'}]{word_of(entry['status'])}[/]"
            rest, guess = one.get("private_value") if one is entry else one["value"], ""
            notes += [f"the rest {epsilon(rest)}"] if rest is not None else []
        if entry.get("own") is not None and entry.get("per_list") is not None and (bounded or notes):
            every = "" if one is entry else f"all {of}: "
            notes.append(f"{every}{epsilon(entry['own'])} + {epsilon(entry['per_list'])} D in D lists")
        notes += [entry["relation"]] if bounded and entry.get("relation") else []
        shown.add_row(level_spec(level).words, loss, *whole, guess, ", ".join(notes))
    return shown


def _table(rows: Sequence[Mapping[str, str]], left_out: Set[str]) -> FittingTable:
    """Return the table of these cells without some columns."""
    first, *others = (heading for heading in rows[0] if heading not in left_out)
    table = text_table(f"~{first}", *(f">{heading}".replace(" ", "\n", 1) for heading in others), gap=1)
    for row in rows:
        cells = (f"[bold red]{cell}[/]" if ABOVE in cell else escape(cell) for cell in map(row.__getitem__, others))
        table.add_row(escape(row[first]), *cells)
    return table


def show_groups(groups: Sequence[Group], sums: Sequence[AskedInAll], *, level: str | None = None) -> None:
    """Print several results, one row for those that differ in their seeds alone, and what is said of them.

    Args:
        groups: The results.
        sums: What holds over all collections of people who were really asked more than once.
        level: A level that has the first column of losses, None for the usual ones.
    """
    screen, levels = console(), list(shown_levels(2))
    if level is not None and level not in levels:
        levels[0] = level
    rows = [shown_cells(group, levels) for group in groups[:_SHOWN]]
    left_out = {"n"} if all(row["n"] == "1" for row in rows) else set[str]()
    tables = [_table(rows, left_out | less) for less in (set[str](), *_ON_NARROW)]
    screen.print(next((table for table in tables if table.least(screen, screen.options) <= screen.width), tables[0]))
    over = "" if left_out else " ±: over the n scores."
    screen.print(
        f"[dim]device: its own figure for its own person (alone: if nobody is asked). {ABOVE}: a null model above the "
        "method. claim: the paper's epsilon; beside it the epsilon of one collection that holds at a level. "
        f"bytes: a device, both ways, with what it predicts from.{over}[/dim]"
    )
    verdicts = TitledRows(width=8, gap=1)
    for group in groups[:_EXPLAINED]:
        words, standing = f"null models: {NOT_TAKEN}", ""
        if group.verdict and group.verdict["text"]:  # a device that trains alone has chance beside it, and no verdict
            words, standing = group.verdict["text"], group.verdict["standing"]
        verdicts.add_row(escape(group.label), _toned(words, words, STANDINGS[standing][1]))
    screen.print(verdicts)
    if len(groups) > _EXPLAINED:
        screen.print(f"[dim]The page (`ldpsim report`) has the verdicts on all {len(groups)}.[/dim]")
    show_sums(screen, sums)
    records = [record for group in groups for record in group.records]
    if any(record["simulation_seeded"] and record["privacy"]["trust"] == "untrusted curator" for record in records):
        times = max(record["privacy"]["collections"] for record in records)
        would = "" if times == 1 else f" {times} repeats on the same people would lose {times} times as much."
        screen.print(f"[yellow]{_SIMULATED}{would}[/yellow]")
