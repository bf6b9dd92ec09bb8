"""Results on the terminal: the first screen of a run, its tables, and the table of several results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ldpsim.cli.output import WIDTH, console, show_sums, text_table
from ldpsim.cli.screen import ShellCommand, TitledRows
from ldpsim.cli.words import (
    ABOVE,
    GUESS,
    NONE,
    TONES,
    best_guess,
    bytes_,
    count,
    epsilon,
    level_in_column,
    null_points,
    percent,
    plus_minus,
    points,
    share,
    size,
)
from ldpsim.cli.words import seconds as in_words
from ldpsim.curator.methods.spec import NO_NETWORK
from ldpsim.curator.privacy.levels import level_spec
from ldpsim.strategies.outputs.run_lines import lines_of, title_of
from ldpsim.strategies.outputs.sums import AskedInAll, really_asked
from ldpsim.strategies.results.in_words import claimed, density_of, in_short, level_term, shown_levels
from ldpsim.strategies.results.verdict import NOT_TAKEN, NULLS, STANDINGS, shown_nulls_of, shown_verdict

if TYPE_CHECKING:
    from ldpsim.strategies.outputs.groups import Group as ResultGroup

_SIMULATED = "Simulated from a seed: not private."
_SHOWN, _EXPLAINED = 40, 12  # rows of several results, and those with a verdict in words


def summary(record: Mapping[str, Any], *, folder: Path | None, next_command: str | None = None) -> Group:
    """Return the first screen and the tables of a result.

    Args:
        record: result.json's content.
        folder: Folder of the result, None if it was not written.
        next_command: Shell command to go on with, None to name none.
    """
    details = Panel(Group(*_details(record)), title="[bold]In detail[/bold]", title_align="left")
    return Group(first_screen(record, folder=folder, next_command=next_command), details)


def first_screen(
    record: Mapping[str, Any], *, folder: Path | None, next_command: str | None = None, more: bool = False
) -> Group:
    """Return the verdict, the next command and the place of the result: 16 lines at most on 80 columns.

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
        parts.append(ShellCommand(next_command, before="Next: "))
    if folder is not None:  # below the frame: a path stays in one line, to be copied
        parts.append(Text(f"Result: {folder / 'result.json'}", no_wrap=True, overflow="ignore"))
    return Group(*parts)


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
    data, split = record["dataset"], record["dataset"]["split"]
    network = "no network" if record["gnn"] == NO_NETWORK else f"{record['gnn']} on {record['device']}"
    yield (
        f"{data['nodes']:,} people, {data['edges']:,} edges, {data['features']:,} features, {data['classes']} classes; "
        f"{split['train']:,} train, {split['val']:,} validation, {split['test']:,} test\n"
        f"{network}, engine {record['engine']}"
    )
    sections = {"Accuracy": _accuracy(record), "Privacy": _privacy(record), "Cost": _cost(record)}
    if record["reconstruction"]["edges"] and record["privacy"]["trust"] == "untrusted curator":
        sections["Graph against the truth"] = _graph(record)
    for title, content in sections.items():
        yield Rule(f"[bold]{title}[/bold]", align="left", style="dim")
        yield content


def _grid() -> TitledRows:
    return TitledRows(width=15)


def _accuracy(record: Mapping[str, Any]) -> RenderableType:
    accuracy, reference, found = record["accuracy"], record["reference"], shown_verdict(record)
    over = f" over {len(accuracy['per_repeat'])} repeats" if accuracy["std"] is not None else ""
    f1 = f", macro F1 {accuracy['macro_f1']:.3f}" if accuracy["macro_f1"] is not None else ""
    grid = _grid()
    grid.add_row("test", f"[bold]{share(accuracy)}[/bold]{over} (validation {percent(accuracy['val'])}{f1})")
    if found is not None:
        grid.add_row("compared", _toned(found["text"], found["text"], STANDINGS[found["standing"]][1]))
    own = reference.get("nonprivate_test_own_settings")
    same = "same graph, same network" if own is None else f"same settings; {percent(own)} with its own best"
    clean = reference["nonprivate_test"]
    grid.add_row("without noise", "not trained" if clean is None else f"[bold]{percent(clean)}[/bold] ({same})")
    nulls = shown_nulls_of(record)
    for name, entry in nulls.items():
        words = share(entry)
        if entry["test"] > accuracy["test"]:
            words = f"[bold red]{words}, {points(entry['test'] - accuracy['test'])} points above the method[/]"
        grid.add_row(NULLS[name].heading, f"{words} ({NULLS[name].words})")
    if not nulls:
        grid.add_row("null models", f"[yellow]{NOT_TAKEN}[/yellow]")
    return grid


def _privacy(record: Mapping[str, Any]) -> RenderableType:
    privacy, holds, grid = record["privacy"], record["privacy"]["holds"], _grid()
    grid.add_row("trust", privacy["trust"])
    grid.add_row("claimed", escape(claimed(record)))
    source = record["config"].get("provenance", {}).get("feature_share")
    if source is not None:
        part = record["config"]["budget"]["feature_share"]
        grid.add_row("features", f"{part:g} of epsilon, {source}" if part else f"not asked, {source}")
    searched = privacy.get("searched")
    beside = f" (the {count(searched, 'collection')} of a search for the settings not counted)" if searched else ""
    grid.add_row("holds", f"over one collection{beside}, when this changes:")
    parts: list[RenderableType] = [grid, Padding(_holds(holds), (0, 0, 0, 2))]
    if any(entry["status"] == "bounded" for entry in holds.values()):
        parts.append(Padding(GUESS, (0, 0, 0, 2), style="dim"))
    clear = [entry["detail"] for name, entry in holds.items()
             if name not in ("user", "node") and entry["status"] == "unprotected" and entry["detail"]]  # fmt: skip
    why = _grid()
    for title, reasons in (("why they differ", privacy["why_they_differ"]), ("in clear", dict.fromkeys(clear))):
        for at, reason in enumerate(reasons):
            why.add_row("" if at else title, escape(reason))
    life = privacy["lifetime_per_device"]["user"]
    if life["max"] != 0:
        delta = f", at delta {life['delta']:g}" if life.get("delta") else ""
        words = "unprotected"
        if life["max"] is not None:
            words = f"{epsilon(life['max'])} at most a device, {epsilon(life['mean'])} on average{delta}"
        known = "" if privacy["lifetime_per_device"]["complete"] else "; not all of it is known"
        why.add_row("in the ledgers", words + known)
    return Group(*parts, why)


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
            loss = f"[{'yellow' if entry['status'] == 'unprotected' else 'dim'}]{entry['status']}[/]"
            rest, guess = one.get("private_value") if one is entry else one["value"], ""
            notes += [f"the rest {epsilon(rest)}"] if rest is not None else []
        if entry.get("own") is not None and entry.get("per_list") is not None and (bounded or notes):
            every = "" if one is entry else f"all {of}: "
            notes.append(f"{every}{epsilon(entry['own'])} + {epsilon(entry['per_list'])} D in D lists")
        notes += [entry["relation"]] if bounded and entry.get("relation") else []
        shown.add_row(level_spec(level).words, loss, *whole, guess, ", ".join(notes))
    return shown


def _cost(record: Mapping[str, Any]) -> RenderableType:
    devices, sent, seconds, grid = record["devices"], record["communication"], record["seconds"], _grid()
    if devices["asked"]:
        counts = ", ".join(f"{devices[key]:,} {key}" for key in ("reported", "replayed", "refused", "silent", "failed"))
        codes = ", ".join(f"{code} {number:,}" for code, number in devices.get("refused_by_code", {}).items())
        grid.add_row("devices", f"{devices['asked']:,} asked: {counts}" + (f" ({escape(codes)})" if codes else ""))
        down, up = sent["downlink_bytes_per_device"], sent["uplink_bytes_per_device"]
        total = size(sent["downlink_bytes"] + sent["uplink_bytes"])
        rounds = count(sent["rounds"], "round")
        grid.add_row("bytes", f"{down:,.0f} down, {up:,.0f} up a device; {total} in all, {rounds}")
    else:
        grid.add_row("devices", "nobody was asked")
    named = {name: value for name, value in seconds.items() if name not in ("total", "cpu")}
    named["the rest"] = max(seconds["total"] - sum(named.values()), 0.0)  # the reference, reading, writing
    phases = ", ".join(f"{name} {in_words(value)}" for name, value in named.items())
    cpu = f"; {in_words(seconds['cpu'])} of CPU, in all processes" if "cpu" in seconds else ""
    grid.add_row("seconds", f"[bold]{in_words(seconds['total'])}[/bold]: {phases}{cpu}")
    grid.add_row("memory", f"{size(record['memory']['peak_rss_bytes'])} at the peak")
    return grid


def _graph(record: Mapping[str, Any]) -> RenderableType:
    found, grid = record["reconstruction"], _grid()
    precision, recall = percent(found["edge_precision"]), percent(found["edge_recall"])
    random = f"precision of random pairs {percent(density_of(record['dataset']))}"
    grid.add_row("edges", f"{found['edges']:,.0f}: precision {precision}, recall {recall}; {random}")
    errors = {"of a feature": found.get("feature_mae"), "of a neighbourhood's mean": found.get("aggregate_mae")}
    if words := [f"{name} {value:.3f}" for name, value in errors.items() if value is not None]:
        grid.add_row("mean error", ", ".join(words))
    return grid


def show_groups(groups: Sequence[ResultGroup], sums: Sequence[AskedInAll], *, level: str | None = None) -> None:
    """Print several results, one row for those that differ in their seeds alone, and what is said of them.

    Args:
        groups: The results.
        sums: What holds over all collections of people who were really asked more than once.
        level: A level that has the first column of losses, None for the usual ones.
    """
    screen, held = console(), list(shown_levels(2))
    if level is not None and level not in held:
        held[0] = level
    wide = screen.width >= WIDTH
    several = any(len(group.scores) > 1 for group in groups)
    headings = ["~method", *([">n"] if several else []), ">test %", ">asking nobody", ">best null", ">no noise",
                ">claim", *(f">{level_term(name)}" for name in held), ">bytes"]  # fmt: skip
    shown = text_table(*(heading.replace(" ", "\n", 1) for heading in headings), gap=1)
    for group in groups[:_SHOWN]:
        row, mean = group.row, group.mean
        test = f"[bold]{points(mean)}[/bold]{plus_minus(row['sd'])}"
        nulls = [null_points(group.nulls.get(name or ""), mean or 0.0)
                 for name in (row["asking_nobody"], group.best_null)]  # fmt: skip
        nulls = [f"[bold {TONES['bad']}]{words}[/]" if ABOVE in words else words for words in nulls]
        sent = (row["downlink_bytes_per_device"] or 0.0) + (row["uplink_bytes_per_device"] or 0.0)
        cells = [*([str(len(group.scores))] if several else []), test, *nulls, points(row["nonprivate_test"]),
                 NONE if row["claimed"] is None else epsilon(row["claimed"]),
                 *(level_in_column(group.levels[name]) for name in held), bytes_(sent)]  # fmt: skip
        shown.add_row(escape(group.label), *cells)
    screen.print(shown)
    over = " ±: over the n scores." if several else ""
    screen.print(
        f"[dim]{ABOVE}: a null model above the method. claim: the paper's epsilon; beside it the epsilon of one "
        f"collection that holds at a level; open: unprotected. bytes: a device, both ways.{over}[/dim]"
    )
    said = TitledRows(width=8, gap=1) if wide else TitledRows(width=4, gap=1)
    for group in groups[:_EXPLAINED]:
        found = group.verdict
        words = f"null models: {NOT_TAKEN}" if found is None else found["text"]
        standing = "" if found is None else found["standing"]
        said.add_row(escape(group.label), _toned(words, words, STANDINGS[standing][1]))
        said.add_row("", escape(in_short(group.records[0])))
    screen.print(said)
    if len(groups) > _EXPLAINED:
        screen.print(f"[dim]The page (`ldpsim report`) has the verdicts on all {len(groups)}.[/dim]")
    show_sums(screen, sums)
    records = [record for group in groups for record in group.records]
    if any(record["simulation_seeded"] and record["privacy"]["trust"] == "untrusted curator" for record in records):
        times = max(record["privacy"]["collections"] for record in records)
        would = "" if times == 1 else f" {times} repeats on the same people would lose {times} times as much."
        screen.print(f"[yellow]{_SIMULATED}{would}[/yellow]")
