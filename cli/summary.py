"""Results on the terminal: the first screen of a run, its tables, and the table of several results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.console import Group as Lines
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ldpsim.cli.output import console, show_sums, text_table
from ldpsim.cli.screen import NARROW, FittingTable, TitledRows
from ldpsim.cli.words import GUESS, IN_CLEAR, TONES, best_guess, count, epsilon, loss_at_delta, word_of
from ldpsim.curator.methods.spec import NO_NETWORK
from ldpsim.curator.privacy.levels import level_spec
from ldpsim.curator.shown import shown_delta
from ldpsim.strategies.outputs.groups import ABOVE, Group, table_of
from ldpsim.strategies.outputs.result_view import ACCURACY, COST, SEEDED, ViewRow, cost_of, view_of
from ldpsim.strategies.outputs.sums import AskedInAll, really_asked
from ldpsim.strategies.results.friends_tell import TRUSTED, learned_by_party
from ldpsim.strategies.results.levels_of_results import shown_levels
from ldpsim.strategies.results.verdict import NOT_TAKEN, STANDINGS, null_lines, shown_verdict

_SHOWN = 40  # rows of several results
_NAMES = 24  # columns of a terminal that a method takes in a table
_HEADING = "bold cyan"
# Columns that leave a table that is too wide.
_ON_NARROW = (
    {"no noise"},
    {"no noise", "trusted"},
    {"no noise", "trusted", "simpler"},
    {"no noise", "trusted", "simpler", "friends tell (alone)"},
)


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
    """Return accuracy, privacy, cost, the next command and the place of the result: 20 lines on 80 columns.

    Args:
        record, folder, next_command: As for :func:`summary`.
        more: Whether to name the option that shows the tables.
    """
    view = view_of(record)
    parts: list[RenderableType] = [Text.from_markup(f"[bold]{escape(view.title)}[/bold]: {escape(view.setting)}")]
    for section in view.sections:
        if section.name == COST:
            break
        about = f" {section.about}" if section.name == ACCURACY else f": {section.about}"
        parts.append(Text.assemble((section.name, _HEADING), about if section.about else ""))
        parts.append(FigureRows(section.rows))
    notes = TitledRows(width=8, gap=1)
    notes.add_row(COST, escape(cost_of(record)))
    if view.warning:
        notes.add_row("Warning", f"[yellow]{escape(view.warning)}[/yellow]")
    if next_command is not None and really_asked(record):
        notes.add_row("Warning", "[yellow]the next command asks these people again, and losses add[/yellow]")
    parts.append(notes)
    if next_command is not None:
        parts.append(in_one_line("Next", next_command))
    if folder is not None:
        parts.append(in_one_line("Result", f"{folder / 'result.json'}{'  (--details: all tables)' if more else ''}"))
    return Lines(*parts)


@dataclass
class FigureRows:
    """Rows of a view on a terminal: name, figures, words; on a narrow one the words stand below.

    Args:
        rows: The rows; one without a name is a sentence over the whole width.
    """

    rows: Sequence[ViewRow]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the rows."""
        narrow = options.max_width < NARROW
        columns = max((len(row.figures) for row in self.rows), default=0)
        widths = [max((len(row.figures[place]) for row in self.rows if place < len(row.figures)), default=0)
                  for place in range(columns)]  # fmt: skip
        names = max((len(row.name) for row in self.rows), default=0)
        names = min(names, options.max_width - 2 - sum(widths) - 2 * columns) if narrow else names
        for row in self.rows:
            if not row.name:
                yield Padding(Text(row.words, style=TONES.get(row.tone, "")), (0, 0, 0, 2))
                continue
            grid = Table.grid(padding=(0, 2, 0, 0), expand=False)
            grid.add_column(width=names)
            for width in widths:
                grid.add_column(width=width, justify="right", style=f"bold {TONES.get(row.tone, '')}".strip())
            cells: list[RenderableType] = [escape(row.name), *row.figures, *[""] * (columns - len(row.figures))]
            if not narrow:
                grid.add_column(overflow="fold")
                cells.append(escape(row.words))
            grid.add_row(*cells)
            yield Padding(grid, (0, 0, 0, 2))
            if narrow and row.words:
                yield Padding(console.render_str(escape(row.words)), (0, 0, 0, 4))


def in_one_line(title: str, words: str) -> Text:
    """Return a command or a path that the terminal breaks, not Rich: it can be copied."""
    return Text.assemble((f"{title:<9}", "cyan"), words, no_wrap=True, overflow="ignore")


def _details(record: Mapping[str, Any]) -> Iterator[RenderableType]:
    data, split, privacy = record["dataset"], record["dataset"]["split"], record["privacy"]
    grid, judgement = TitledRows(width=15), shown_verdict(record)
    sizes = ", ".join(f"{data[name]:,} {name}" for name in ("edges", "features", "classes"))
    parts = ", ".join(f"{number:,} {name}" for name, number in split.items())
    grid.add_row("people", f"{data['nodes']:,}, {sizes}; {parts}")
    network = "no network" if record["gnn"] == NO_NETWORK else f"{record['gnn']} on {record['device']}"
    grid.add_row("network", f"{network}, engine {record['engine']}")
    words, standing = (NOT_TAKEN, "") if judgement is None else (judgement["text"], judgement["standing"])
    grid.add_row("simpler models", f"[{TONES[STANDINGS[standing][1]]}]{escape(words)}[/]")
    for heading, line in null_lines(record):
        grid.add_row(heading, line)
    grid.add_row("trust", privacy["trust"])
    learned = learned_by_party(record)
    if learned:
        grid.add_row("friends tell", f"not in the epsilons; trusted: {TRUSTED}")
    for party, words in learned.items():
        grid.add_row(party, words)
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
    if life["max"] != 0 or life.get("delta"):
        words = loss_at_delta(life["max"], life.get("delta")) + ("" if life["max"] is None else " at most a device")
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
            notes += [f"delta {shown_delta(delta)}"] if delta else []
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


def _table(groups: Sequence[Group], levels: Sequence[str], left_out: Set[str]) -> FittingTable:
    """Return the table of these groups without some columns; the settings of a method stand below its name."""
    rows = table_of(groups, levels)
    first, *others = (heading for heading in rows[0] if heading not in left_out)
    table = text_table(f"~{first}", *(f">{heading}".replace(" ", "\n", 1) for heading in others), gap=1)
    for group, row in zip(groups, rows, strict=True):
        cells = (f"[bold red]{cell}[/]" if ABOVE in cell else escape(cell) for cell in map(row.__getitem__, others))
        lines = [fill(words, _NAMES) for words in (group.method, group.settings) if words]
        table.add_row(escape("\n".join(lines)), *cells)
    return table


def show_groups(
    groups: Sequence[Group], sums: Sequence[AskedInAll], *, level: str | None = None, found: str = ""
) -> None:
    """Print several results, one row for those that differ in their seeds alone, and what they show.

    Args:
        groups: The results.
        sums: What holds over all collections of people who were really asked more than once.
        level: A level that has the first column of losses, None for the usual ones.
        found: What the table shows, in a sentence; may be empty.
    """
    screen, levels = console(), list(shown_levels(2))
    if level is not None and level not in levels:
        levels[0] = level
    tables = [_table(groups[:_SHOWN], levels, less) for less in (set[str](), *_ON_NARROW)]
    screen.print(next((table for table in tables if table.least(screen, screen.options) <= screen.width), tables[0]))
    if len(groups) > _SHOWN:
        screen.print(f"[dim]{len(groups) - _SHOWN} more rows: `ldpsim report`[/dim]")
    if found:
        screen.print(f"[bold]{escape(found)}[/bold]")
    screen.print(
        f"[dim]In %. {ABOVE}: the best simpler model is above the method. device (alone): without any reports. "
        "claimed: by the method's authors; beside it the epsilon that holds.[/dim]"
    )
    show_sums(screen, sums)
    show_warning(groups)


def show_warning(groups: Sequence[Group]) -> None:
    """Print that reports of a simulation with a seed are not private, where there are any."""
    records = [record for group in groups for record in group.records]
    if any(record["simulation_seeded"] and record["privacy"]["trust"] == "untrusted curator" for record in records):
        times = max(record["privacy"]["collections"] for record in records)
        would = "" if times == 1 else f"; {times} repeats on the same people would lose {times} times as much"
        console().print(f"[yellow]Warning: {SEEDED}{would}[/yellow]")
