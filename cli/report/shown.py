"""Rows of the page in their order, the data sets that they are about, and the headline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ldpsim.cli.report.badges import badge_of
from ldpsim.cli.report.gather import Gathered
from ldpsim.cli.report.groups import Row, grouped, row_of_group
from ldpsim.cli.report.labels import name_rows
from ldpsim.cli.words import count, percent
from ldpsim.strategies.outputs.seed_groups import BUDGETS, budget_figures, group_key
from ldpsim.strategies.outputs.shell import command_of
from ldpsim.strategies.results.in_words import density_of


def shown_rows(gathered: Gathered, *, methods: Sequence[str] | None = None) -> list[Row]:
    """Return the rows of the page: one for each data set, method and configuration, sorted in this order.

    Each has, beside the fields of :func:`ldpsim.cli.report.groups.row_of_group`, its ``label``, the
    ``commands`` that run it again (``command``: the first), its ``badge``, the number of its data set
    (``panel``), its ``name`` there, and the ``series``: the line of a chart on which rows lie that differ
    in their budgets alone, with its name, ``line``.

    Args:
        gathered: Results.
        methods: Order of the methods; None for the comparison's order, or as found.
    """
    groups = grouped(gathered.results)
    datasets = _datasets(gathered)
    wanted = list(methods or gathered.methods) or sorted({entry.row["method"] for entry in gathered.results})
    place = {name: number for number, name in reversed(list(enumerate(wanted)))}
    lines = {id(group): group_key(group[0].record, without=BUDGETS) for group in groups}
    first = {key: number for number, key in reversed(list(enumerate(lines.values())))}
    groups.sort(key=lambda group: (
        datasets.index(group[0].dataset), place.get(group[0].row["method"], len(place)), first[lines[id(group)]],
        budget_figures(group[0].record),
    ))  # fmt: skip
    series = {key: number for number, key in enumerate(dict.fromkeys(lines[id(group)] for group in groups))}
    rows = [
        {
            **row_of_group(group),
            "id": number,
            "panel": datasets.index(group[0].dataset),
            "series": series[lines[id(group)]],
            "commands": [command_of(entry.record) for entry in group],
        }
        for number, group in enumerate(groups)
    ]
    records = [group[0].record for group in groups]
    name_rows(rows, records, field="line", without=BUDGETS)
    name_rows(rows, records, field="name")
    for row in rows:
        row["command"] = row["commands"][0]
        row["badge"] = badge_of(row)
        row["label"] = row["name"] if len(datasets) == 1 else f"{row['name']}, {datasets[row['panel']][0]}"
    return rows


def panels_of(gathered: Gathered) -> list[dict[str, Any]]:
    """Return the data sets in the order of the rows' ``panel``.

    Each has a ``title``, the sizes of its first population (``people``), the ``digests`` of all
    its populations and their number (``populations``), and the share of its pairs that are edges (``density``).
    """
    found: list[dict[str, Any]] = []
    for dataset in _datasets(gathered):
        entries = [entry for entry in gathered.results if entry.dataset == dataset]
        people: Mapping[str, Any] = entries[0].people
        digests = list(dict.fromkeys(entry.people["digest"] for entry in entries))
        title = f"{people['name']}, {people['nodes']:,} people"
        found.append(
            {
                "title": title,
                "people": people,
                "digests": digests,
                "populations": len(digests),
                "density": percent(density_of(people)),
            }
        )
    return found


def _datasets(gathered: Gathered) -> list[tuple[str, int]]:
    """Return the data sets, that with the most results first."""
    of_results = [entry.dataset for entry in gathered.results]
    return sorted(dict.fromkeys(of_results), key=lambda dataset: -of_results.count(dataset))


def headline(rows: Sequence[Row], panels: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the title and the first sentences: what is compared, on whom, and the mean of what."""
    methods = len({row["method"] for row in rows})
    compared = count(methods, "method")
    if len(rows) > methods * len(panels):
        compared += f", {count(len(rows), 'configuration')}"
    people = panels[0]["people"]
    if len(panels) > 1:
        names = list(dict.fromkeys(panel["people"]["name"] for panel in panels))
        title = f"{compared} on {count(len(panels), 'data set')}"
        about = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
    else:
        about = people["name"]
        drawn = panels[0]["populations"]
        size = f"{people['nodes']:,} people"
        title = f"{about}: {compared} on {f'the same {size}' if drawn == 1 else f'{drawn} populations of {size}'}"
    return {"title": title, "about": about, "repeats": _repeats(rows, panels)}


def _repeats(rows: Sequence[Row], panels: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentence about repeats and seeds."""
    seeds, repeats = {row["n"] for row in rows}, {row["repeats"] for row in rows}
    drawn = any(panel["populations"] > 1 for panel in panels)
    people = " Each seed draws other people: they are repeats." if drawn else ""
    if max(seeds) > 1:
        of = f"of {max(seeds)} seeds" if len(seeds) == 1 else "over the seeds (n beside it)"
        return f"Figures are means {of}; ± is the standard deviation.{people}"
    if max(repeats) > 1:
        of = f"of {max(repeats)} repeats" if len(repeats) == 1 else "of the repeats"
        return f"Accuracy is the mean {of}; ± is their standard deviation."
    return ""
