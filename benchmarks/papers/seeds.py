"""Rows of tables whose runs differ in their seeds: the command of a row, its runs, and a table with new rows.

A row has the command that makes it, alone: ``ldpsim sweep -g method=vote -g dataset=cora -g seed=2000,2001``. Its
column ``commit`` is that of the checkout in which its figures were written.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.rehash import options_of_command
from benchmarks.study import checkout, read_rows, write_rows
from ldpsim.cli.report.gather import gather
from ldpsim.cli.sweep import lists
from ldpsim.strategies.experiments.sweep_file import read_sweep
from ldpsim.strategies.outputs.groups import Group
from ldpsim.strategies.outputs.shell import command_of
from ldpsim.strategies.setup.option_spec import declared, exact
from ldpsim.strategies.setup.options import RunOptions


def sweep_command(options: RunOptions, seeds: Sequence[int]) -> str:
    """Return the command line of runs with the options on a CPU, one a seed, without the reference without noise."""
    values: dict[str, Any] = {"method": options.method, "dataset": options.dataset}
    for name, spec in declared(RunOptions).items():
        value = getattr(options, name)
        kept = name == "nulls" or not spec.local
        if kept and name not in (*values, "seed") and value != spec.default:
            values |= {f"{name}.{key}": each for key, each in value.items()} if spec.is_table else {name: value}
    values |= {"device": "cpu", "reference": False, "seed": ",".join(map(str, seeds))}
    words = (word for name, value in values.items() for word in ("-g", _cell(name, value)))
    return shlex.join(["ldpsim", "sweep", *words])


def _cell(name: str, value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else exact(value) if isinstance(value, float) else str(value)
    return f"{name}={text}"


def runs_of(command: str) -> list[RunOptions]:
    """Return the runs, of one repeat each, of a row's command: of a run or of a sweep.

    Raises:
        ValueError: for a command that is refused.
    """
    words = shlex.split(command)
    if words[:2] == ["ldpsim", "sweep"] and set(words[2::2]) == {"-g"}:
        return [cell.options for cell in read_sweep(None, lists("--grid", words[3::2]))]
    options = options_of_command(command)
    return [repeat_alone(options, number) for number in range(options.repeats)]


def repeat_alone(options: RunOptions, number: int) -> RunOptions:
    """Return the run that is one repeat of another."""
    return replace(options, repeats=1, repeats_vary=RunOptions.repeats_vary, seeds=options.seeds_of(number).to_dict())


def update(
    path: Path, folders: Sequence[Path], row_of: Callable[[Group], Mapping[str, str]], keys: Sequence[str]
) -> None:
    """Put rows of the groups of finished sweeps into a table; a group replaces the row whose ``keys`` it has."""
    rows = {tuple(row[key] for key in keys): row for row in read_rows(path)}
    for group in gather(folders).groups:
        options = options_of_command(command_of(group.records[0]))
        options = replace(options, nulls=group.records[0]["nulls"] is not None)
        command = sweep_command(options, [record["config"]["seed"] for record in group.records])
        row = {**row_of(group), "commit": checkout(), "command": command}
        rows[tuple(row[key] for key in keys)] = row
    write_rows(path, rows.values())


def budget_of(record: Mapping[str, Any]) -> str:
    """Return the epsilons of a result as its options have them; an empty text where nothing is protected."""
    budget = record["config"]["budget"]
    parts = {name: budget[name] for name in ("eps_adjacency", "eps_features", "eps_labels") if budget[name] is not None}
    shown = parts or {"epsilon": budget["epsilon"]}
    protected = record["privacy"]["claimed"]["value"] is not None
    return ", ".join(f"{name} {value:g}" for name, value in shown.items()) if protected else ""
