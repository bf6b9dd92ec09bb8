"""Methods of a comparison that ask the same question: one collection, paired differences.

    cells -> name of each one's collection -> cells with one name share it -> differences to the first of them

A method that can take over the question of another one (``Method.asks_questions_of``) takes that of the
first method that has its own. A method whose question no other method asks runs as without sharing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from curator.methods import find
from devices.data.population import Population
from strategies.experiments.sweep_file import Cell
from strategies.results.paired import paired_gain, read_scores
from strategies.runs.same_reports import collection_name
from strategies.runs.set_up import set_up

_ALONE = "it runs by itself, and no difference to it is paired"


@dataclass(frozen=True)
class Sharing:
    """Methods that share reports.

    Args:
        groups: Methods that read the same reports, in the order of display; two or more each.
        alone: Method -> reason why it shares no reports.
    """

    groups: Sequence[Sequence[str]]
    alone: Mapping[str, str]


def questions_of_others(methods: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return, for each method that can take over a question, the parameter that names the first other method."""
    kinds = {name: find(name) for name in methods}
    able = [name for name, kind in kinds.items() if kind.asks_questions_of]
    asking = [name for name, kind in kinds.items() if kind.trained_by == "curator" and not kind.reads]
    own = next((name for name in asking if name not in able), None)
    return {} if own is None else {name: {kinds[name].asks_questions_of: own} for name in able}


def share(cells: Sequence[Cell], population: Population) -> tuple[list[Cell], Sharing]:
    """Let the cells that ask the same share a collection.

    Args:
        cells: One for each method; the label is the method's name.
        population: Their people.

    Raises:
        ValueError: one line, if no two of them ask the same.
    """
    names, alone = dict[str, str](), dict[str, str]()
    for cell in cells:
        try:
            setup = set_up(cell.options, population=population)
        except ValueError:  # its run fails later with the same line
            continue
        try:
            names[cell.label] = collection_name(setup)
        except ValueError as error:
            alone[cell.label] = f"{error}: {_ALONE}"
    together: dict[str, list[str]] = {}
    for method, name in names.items():
        together.setdefault(name, []).append(method)
    groups = [methods for methods in together.values() if len(methods) > 1]
    if not groups:
        listed = ", ".join(cell.label for cell in cells)
        raise ValueError(f"--same-reports: no two of {listed} ask the same question of the same people")
    first = groups[0][0]
    for methods in together.values():
        if len(methods) == 1:
            alone[methods[0]] = f"{methods[0]} asks another question than {first}: {_ALONE}"
    shared = {method for methods in groups for method in methods}
    made = [replace(cell, shares=names[cell.label]) if cell.label in shared else cell for cell in cells]
    return made, Sharing(groups, {cell.label: alone[cell.label] for cell in cells if cell.label in alone})


def differences(sharing: Sharing, folders: Mapping[str, Path]) -> dict[str, Any]:
    """Return the section ``same_reports``: paired differences of test accuracy to the first method of each group.

    Args:
        sharing: The groups.
        folders: Method -> folder of its result; methods that failed are left out.
    """
    groups = []
    for methods in sharing.groups:
        done = [name for name in methods if name in folders]
        scores = {name: kept for name in done if (kept := read_scores(folders[name])) is not None}
        found = dict[str, Any]()
        for name in done[1:]:
            interval = paired_gain(scores[name], scores[done[0]])
            found[name] = None if interval is None else asdict(interval)
        groups.append({"methods": list(methods), "to": done[0] if done else None, "differences": found})
    return {"groups": groups, "alone": dict(sharing.alone)}
