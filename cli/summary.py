"""Summary of a run, 80 columns wide or less: a first screen, and below it the tables where they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from ldpsim.cli.output import text_table
from ldpsim.cli.titled_rows import TitledRows
from ldpsim.cli.verdict import ShellCommand, verdict
from ldpsim.cli.words import GUESS, TONES, best_guess, count, epsilon, percent, points, share, size
from ldpsim.cli.words import seconds as in_words
from ldpsim.curator.methods.spec import NO_NETWORK
from ldpsim.curator.privacy.levels import level_spec
from ldpsim.strategies.outputs.sums import really_asked
from ldpsim.strategies.results.in_words import claimed, density_of
from ldpsim.strategies.results.shown_nulls import NOT_TAKEN, NULLS, STANDINGS, shown_nulls_of, shown_verdict


def summary(record: Mapping[str, Any], *, folder: Path | None, next_command: str | None = None) -> Group:
    """Return the first screen and the tables of a result.

    Args:
        record: result.json's content.
        folder: Folder of the result, None if it was not written.
        next_command: Shell command to go on with, None to name none.
    """
    tables = _framed(Group(*_tables(record)), "In detail")
    return Group(first_screen(record, folder=folder, next_command=next_command), tables)


def first_screen(
    record: Mapping[str, Any], *, folder: Path | None, next_command: str | None = None, more: bool = False
) -> Group:
    """Return the verdict, the next command and the place of the result: 16 lines at most on 80 columns.

    Args:
        record, folder, next_command: As for :func:`summary`.
        more: Whether to name the option that shows the tables.
    """
    title = Rule(f"[bold]{escape(_title(record))}[/bold]", align="left")
    parts: list[RenderableType] = [title, verdict(record)]
    notes = [f"[yellow]{_SIMULATED}[/yellow]"] if record["simulation_seeded"] and _local(record) else []
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


def _framed(content: RenderableType, title: str) -> Panel:
    return Panel(content, title=f"[bold]{escape(title)}[/bold]", title_align="left")


def _tables(record: Mapping[str, Any]) -> list[RenderableType]:
    sections = [
        ("Accuracy", _accuracy(record)),
        ("Privacy", _privacy(record)),
        ("Cost", _cost(record)),
    ]
    if record.get("teachers"):
        sections.insert(1, ("Teachers", _teachers(record["teachers"])))
    if _local(record) and _has_graph(record):
        sections.append(("Graph against the truth", _reconstruction(record)))
    parts: list[RenderableType] = [_population(record)]
    for title, content in sections:
        parts += [Rule(f"[bold]{title}[/bold]", align="left", style="dim"), content]
    return parts


def _local(record: Mapping[str, Any]) -> bool:
    """Return whether the curator had only reports, not the data."""
    return bool(record["privacy"]["trust"] == "untrusted curator")


def _has_graph(record: Mapping[str, Any]) -> bool:
    """Return whether the curator built a graph; a method without a network may build none."""
    edges = record["reconstruction"]["edges"]
    return edges is not None and (edges > 0 or record["gnn"] != NO_NETWORK)


def _title(record: Mapping[str, Any]) -> str:
    return f"{record['method']} on {record['dataset']['name']}"


def _population(record: Mapping[str, Any]) -> RenderableType:
    data = record["dataset"]
    split = data["split"]
    text = (
        f"{data['nodes']:,} people, {data['edges']:,} edges, {data['features']:,} features, {data['classes']} classes; "
        f"{split['train']:,} train, {split['val']:,} validation, {split['test']:,} test"
    )
    network = "no network" if record["gnn"] == NO_NETWORK else f"{record['gnn']} on {record['device']}"
    return f"{text}\n{network}, engine {record['engine']}"


def _grid() -> TitledRows:
    return TitledRows(width=15)


def _accuracy(record: Mapping[str, Any]) -> RenderableType:
    accuracy, reference, found = record["accuracy"], record["reference"], shown_verdict(record)
    repeats = len(accuracy["per_repeat"])
    over = f" over {repeats} repeats" if accuracy["std"] is not None else ""
    f1 = f", macro F1 {accuracy['macro_f1']:.3f}" if accuracy["macro_f1"] is not None else ""
    grid = _grid()
    validation = f"(validation {percent(accuracy['val'])}{f1})"
    grid.add_row("test", f"[bold]{share(accuracy)}[/bold]{over} {validation}")
    if found is not None:
        style = TONES[STANDINGS[found["standing"]][1]]
        grid.add_row("compared", f"[{style}]{escape(found['text'])}[/{style}]")
    if reference["nonprivate_test"] is None:
        grid.add_row("without noise", "not trained")
    else:
        own = reference.get("nonprivate_test_own_settings")
        same = "same graph, same network" if own is None else f"same settings; {percent(own)} with its own best"
        grid.add_row("without noise", f"[bold]{percent(reference['nonprivate_test'])}[/bold] ({same})")
    for title, said in _nulls(record):
        grid.add_row(title, said)
    return grid


def _nulls(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield title and text of each null model; one that is above the method says so."""
    nulls, test, shuffled = shown_nulls_of(record), record["accuracy"]["test"], False
    if not nulls:
        yield "null models", NOT_TAKEN
    for name, entry in nulls.items():
        spec, said = NULLS[name], share(entry)
        if entry["test"] > test:
            style = TONES["bad"]
            said = f"[bold {style}]{said}, {points(entry['test'] - test)} points above the method[/bold {style}]"
        if spec.shuffled is None:
            yield spec.heading, f"{said} ({spec.words})"
            continue
        if not shuffled:
            yield "shuffled", "the same run with data of somebody else:"
            shuffled = True
        yield "", f"{spec.shuffled} {said}"


def _teachers(found: Mapping[str, Any]) -> RenderableType:
    grid = _grid()
    grid.add_row("people", f"{found['private']:,} private ({found['division']})")
    right = f"{percent(found['pseudo_label_accuracy'])} right"
    if found["pseudo_label_ceiling"] is not None:
        right += f" (at most {percent(found['pseudo_label_ceiling'])} under this noise)"
    clean = percent(found["teacher_accuracy"])
    grid.add_row("labels", f"{found['queries']:,} released, {right}; {clean} without noise")
    cost = found["epsilon"]
    holds = f"labels {epsilon(cost['label'])}, noisy vectors {epsilon(cost['vector'])}"
    grid.add_row("epsilon", f"printed: {epsilon(cost['printed'])} (at delta {found['delta_printed']:g})")
    grid.add_row("", f"holds at delta {found['delta']:g}: {holds}")
    more = found["labels_released_in_all"] - found["queries"]
    if more > 0:
        together = found["epsilon_in_all"]
        cost_of_all = "nothing bounds it" if together is None else f"at most {epsilon(together)} together"
        grid.add_row("", f"these teachers gave {more:,} more labels in other runs; for all of them: {cost_of_all}")
    return grid


def _divided(config: Mapping[str, Any]) -> str:
    """Return the feature share that the run chose, in words; empty where it was given or has its default."""
    source = config.get("provenance", {}).get("feature_share")
    if source is None:
        return ""
    part = config["budget"]["feature_share"]
    return f"{part:g} of epsilon, {source}" if part else f"not asked, {source}"


def _privacy(record: Mapping[str, Any]) -> RenderableType:
    privacy, features = record["privacy"], _divided(record["config"])
    over, grid = "one collection", _grid()
    grid.add_row("trust", privacy["trust"])
    grid.add_row("claimed", escape(claimed(record)))
    if features:
        grid.add_row("features", features)
    if searched := privacy.get("searched"):
        over += f" (the {count(searched, 'collection')} of a search for the settings not counted)"
    grid.add_row("holds", f"over {over}, when this changes:" if privacy["trust"] != "none" else "when this changes:")
    parts: list[RenderableType] = [grid, Padding(_holds(privacy["holds"]), (0, 0, 0, 2))]
    if any(entry["status"] == "bounded" for entry in privacy["holds"].values()):
        parts.append(Padding(GUESS, (0, 0, 0, 2), style="dim"))
    why = _grid()
    for title, reasons in (("why they differ", privacy["why_they_differ"]), ("in clear", _in_clear(privacy["holds"]))):
        for at, reason in enumerate(reasons):
            why.add_row("" if at else title, escape(reason))
    parts.append(why)
    if privacy["lifetime_per_device"]["user"]["max"] != 0:
        parts.append(_lifetime(privacy["lifetime_per_device"]))
    return Group(*parts)


_SIMULATED = "Simulated from a seed: not private."


def _in_clear(holds: Mapping[str, Mapping[str, Any]]) -> list[str]:
    levels = [entry for name, entry in holds.items() if name not in ("user", "node")]  # these follow from the others
    details = [entry["detail"] for entry in levels if entry["status"] == "unprotected" and entry["detail"]]
    return list(dict.fromkeys(details))


def _holds(holds: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    ones = [entry["of_one"] for entry in holds.values() if entry.get("of_one")]
    beside = [f">all {ones[0]['of']}"] if ones else []
    shown = text_table("~", ">epsilon", *beside, ">best guess", "", gap=1)
    for level, entry in holds.items():
        loss, *rest = _figures(entry)
        together = entry["value"] if entry["status"] == "bounded" else entry.get("private_value")
        whole = [epsilon(together) if entry.get("of_one") else ""] if ones else []
        shown.add_row(level_spec(level).words, loss, *whole, *rest)
    return shown


def _figures(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the loss of one collection, the chance of the best guess, and a note."""
    one = entry.get("of_one")
    if entry["status"] != "bounded":
        style = "yellow" if entry["status"] == "unprotected" else "dim"
        rest = entry.get("private_value") if one is None else one["value"]
        notes = [] if rest is None else [f"the rest {epsilon(rest)}", *_of_lists(entry)]
        return f"[{style}]{entry['status']}[/{style}]", "", ", ".join(notes)
    value, delta = (entry["value"], entry["delta"] or 0.0) if one is None else (one["value"], one["delta"])
    notes = [*([f"delta {delta:.0e}"] if delta else []), *_of_lists(entry)]
    note = ", ".join([*notes, entry["relation"]] if entry.get("relation") else notes)
    return f"[bold]{epsilon(value)}[/bold]", best_guess(value, delta), note


def _of_lists(entry: Mapping[str, Any]) -> list[str]:
    """Return the loss of a node that D lists hold; empty where there is no such figure."""
    own, each, one = entry.get("own"), entry.get("per_list"), entry.get("of_one")
    of = "" if one is None else f"all {one['of']}: "
    return [] if own is None or each is None else [f"{of}{epsilon(own)} + {epsilon(each)} D in D lists"]


def _lifetime(lifetime: Mapping[str, Any]) -> RenderableType:
    most, mean = lifetime["user"]["max"], lifetime["user"]["mean"]
    at = f", at delta {delta:g}" if (delta := lifetime["user"].get("delta")) else ""
    text = "unprotected" if most is None else f"{epsilon(most)} at most a device, {epsilon(mean)} on average{at}"
    grid = _grid()
    grid.add_row("in the ledgers", text if lifetime["complete"] else f"{text}; not all of it is known")
    return grid


def _cost(record: Mapping[str, Any]) -> RenderableType:
    devices, bytes_, seconds = record["devices"], record["communication"], record["seconds"]
    grid = _grid()
    if devices["asked"]:
        counts = ("asked", "reported", "replayed", "refused", "silent", "failed")
        said = {key: f"{devices[key]:,} {key}" for key in counts}
        codes = ", ".join(f"{code} {count:,}" for code, count in devices.get("refused_by_code", {}).items())
        grid.add_row("devices", "{asked}: {reported}, {replayed},".format(**said))
        grid.add_row("", "{refused}, {silent}, {failed}".format(**said) + (f" ({escape(codes)})" if codes else ""))
        down, up = bytes_["downlink_bytes_per_device"], bytes_["uplink_bytes_per_device"]
        total = bytes_["downlink_bytes"] + bytes_["uplink_bytes"]
        rounds = count(bytes_["rounds"], "round")
        grid.add_row("bytes", f"{down:,.0f} down, {up:,.0f} up a device; {size(total)} in all, {rounds}")
    else:
        grid.add_row("devices", "nobody was asked")
    named = {name: value for name, value in seconds.items() if name not in ("total", "cpu")}
    named["the rest"] = max(seconds["total"] - sum(named.values()), 0.0)  # the reference, reading, writing
    phases = ", ".join(f"{name} {in_words(value)}" for name, value in named.items())
    grid.add_row("seconds", f"[bold]{in_words(seconds['total'])}[/bold]: {phases}")
    if "cpu" in seconds:
        grid.add_row("", f"{in_words(seconds['cpu'])} of CPU, in all processes")
    grid.add_row("memory", f"{size(record['memory']['peak_rss_bytes'])} at the peak")
    return grid


def _reconstruction(record: Mapping[str, Any]) -> RenderableType:
    grid, found = _grid(), record["reconstruction"]
    if found.get("edges") is not None:
        precision, recall = percent(found["edge_precision"]), percent(found["edge_recall"])
        random = f"precision of random pairs {percent(density_of(record['dataset']))}"
        grid.add_row("edges", f"{found['edges']:,.0f}: precision {precision}, recall {recall}; {random}")
    if errors := [f"{words} {found[key]:.3f}" for key, words in _ERRORS if found.get(key) is not None]:
        grid.add_row("mean error", ", ".join(errors))
    return grid


_ERRORS: Sequence[tuple[str, str]] = (("feature_mae", "of a feature"), ("aggregate_mae", "of a neighbourhood's mean"))
