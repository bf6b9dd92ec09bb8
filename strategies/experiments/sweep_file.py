"""A sweep file: a grid over the options of a run, as TOML.

    [fixed]                       # the same in every cell
    clients = 3000
    settings.epochs = 300

    [grid]                        # every combination
    method = ["hogs", "raw"]
    epsilon = [3, 4, 5]
    settings.tau = [0.7, 0.9]     # as --set tau=0.7; seeds.noise and caps.vector likewise
    seed = [0, 1, 2]

    [[cells]]                     # and these, one by one
    method = "mlp"
    repeats = 10

Keys are the fields of :class:`strategies.RunOptions`. The order of the cells is canonical:
first the grid, with its keys in the order of the fields (the last key varies fastest, values
as listed), then ``cells`` as written. Nothing is written to disk.

A cell runs without an option of ``fixed`` or ``grid`` that its method does not read: ``raw`` above has no epsilon and
no tau, so its nine cells of a seed are one. An option that no cell reads is refused, as is one of ``cells`` that this
cell does not read.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpsim.curator.methods import find
from ldpsim.curator.names import nearest
from ldpsim.devices import datasets
from ldpsim.devices.atomic_files import read_file
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone

TABLES = ("fixed", "grid", "cells")
# Options of the whole sweep: the command line has them.
_OF_THE_COMMAND = ("engine", "workers", "ray_address", "out")
_ELSEWHERE = "so a file does not name it: --data-dir names the data, and Python's ldpsim.sweep takes the others"
_OPTIONS = declared(RunOptions)
_TABLES = tuple(name for name, spec in _OPTIONS.items() if spec.is_table)


@dataclass(frozen=True)
class Cell:
    """One run of a sweep.

    Args:
        options: Options of the run.
        label: Options that distinguish the cell, ``key=value, ...``.
        track: Trackers to which its run is logged.
    """

    options: RunOptions
    label: str
    track: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Written:
    """A cell as it is written: ``own`` are the keys that distinguish it, ``given`` all, ``alone`` one of [[cells]]."""

    options: RunOptions
    label: str
    own: Mapping[str, Any]
    given: frozenset[str]
    alone: bool


def read_sweep(path: Path) -> tuple[Cell, ...]:
    """Return the cells of a sweep file, in canonical order; each option's ``out`` is None.

    Raises:
        ValueError: one line naming the file and the key: a file that cannot be read, unknown
            keys, values of the wrong type or out of range, an empty grid, a repeated cell.
    """
    try:
        document = tomllib.loads(read_file(path, 1 << 24).decode())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{path}: {reason}") from None
    try:
        cells = cells_of_document(document)
        for cell, (name, spec) in itertools.product(cells, _OPTIONS.items()):
            if spec.place and getattr(cell.options, name) is not None:
                raise ValueError(f"{name} is a place on the machine of whoever wrote the file, {_ELSEWHERE}")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return cells


def cells_of_document(document: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the cells of a sweep file's content, as :func:`read_sweep`; an error does not name a file."""
    return tuple(_read_by_some(list(_distinct(_cells(document)))))


def _cells(document: Mapping[str, Any]) -> Iterator[_Written]:
    for key in document:
        if key not in TABLES:
            raise ValueError(f"{key}: a sweep file has the tables [fixed], [grid] and [[cells]]{nearest(key, TABLES)}")
    fixed = _flat("[fixed]", document.get("fixed", {}))
    grid = _flat("[grid]", document.get("grid", {}))
    single = document.get("cells", [])
    if not isinstance(single, list):
        raise ValueError("[cells]: write [[cells]], once for each cell")
    if not grid and not single:
        raise ValueError("nothing to run: [grid] and [[cells]] are both empty")
    for key, values in grid.items():
        if not isinstance(values, list):
            raise ValueError(f"[grid] {key} = {_shown(values)}: must be a list of values (one value: [fixed])")
        if not values:
            raise ValueError(f"[grid] {key} = []: an empty list leaves nothing to run")
        if key in fixed:
            raise ValueError(f"[grid] {key}: is in [fixed] too")
    keys = sorted(grid, key=_place)
    if keys:
        for values in itertools.product(*(grid[key] for key in keys)):
            yield _cell("[grid]", fixed, dict(zip(keys, values, strict=True)))
    for number, entry in enumerate(single, 1):
        yield _cell(f"[[cells]] {number}", fixed, _flat(f"[[cells]] {number}", entry))


def _flat(where: str, table: Any) -> dict[str, Any]:
    """Return a table's values by key, ``settings.tau`` for a key of a table inside it."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{where}: must be a table")
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name in _TABLES and isinstance(value, Mapping):
            entries = {f"{name}.{inner}": entry for inner, entry in value.items()}
        else:
            entries = {name if "." not in name else key: value}
        for full, entry in entries.items():
            _check_key(where, full)
            if full in found:
                raise ValueError(f"{where} {full}: is given twice")
            found[full] = entry
    return found


def _check_key(where: str, key: str) -> None:
    name, dot, inner = key.partition(".")
    if name == "state":
        raise ValueError(f"{where} state: a sweep cannot use enrolled devices, each cell needs people of its own")
    if name in _OF_THE_COMMAND:
        raise ValueError(f"{where} {name}: belongs on the command line, --{name.replace('_', '-')}")
    if name in _TABLES and inner:
        return
    if name in _TABLES:
        raise ValueError(f"{where} {key}: is a table, write {name}.KEY")
    if dot or key not in _OPTIONS:
        known = [field for field in _OPTIONS if field != "state" and field not in _OF_THE_COMMAND]
        raise ValueError(f"{where} {key}: a run has no such option{nearest(key, known)}")


def _place(key: str) -> tuple[int, str]:
    return list(_OPTIONS).index(key.partition(".")[0]), key


def _cell(where: str, fixed: Mapping[str, Any], own: Mapping[str, Any]) -> _Written:
    given = {**fixed, **own}
    values: dict[str, Any] = {"out": None, "engine": "local"}
    for key in sorted(given, key=_place):
        name, _, inner = key.partition(".")
        value = _typed(where if key in own else "[fixed]", key, given[key])
        if inner:
            values.setdefault(name, {})[inner] = value
        else:
            values[name] = value
    label = ", ".join(f"{key}={_shown(own[key])}" for key in sorted(own, key=_place)) or where
    try:
        options = RunOptions(**values)
        find(options.method)
        if options.dataset not in datasets.names() and Path(options.dataset).suffix not in (".npz", ".pt", ".pth"):
            raise ValueError(f"unknown dataset {options.dataset!r}{nearest(options.dataset, datasets.names())}")
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    written = {key: own[key] for key in sorted(own, key=_place)}
    return _Written(options, label, written, frozenset(given), where != "[grid]")


def _read_by_some(cells: Sequence[_Written]) -> Iterator[Cell]:
    """Yield the cells with the options that they read; cells that this makes equal are one."""
    read, reasons = set[str](), dict[str, str]()
    made: dict[str, Cell] = {}
    for cell in cells:
        options, unread = read_alone(cell.options)
        for key, reason in unread.items():
            if cell.alone and key in cell.own:
                raise ValueError(f"{cell.label}: {key}: {reason}")
            reasons.setdefault(key, reason)
        read |= cell.given - unread.keys()
        label = ", ".join(f"{key}={_shown(value)}" for key, value in cell.own.items() if key not in unread)
        made.setdefault(repr(options), Cell(options, label or cell.label))
    for key, reason in reasons.items():
        if key not in read:
            raise ValueError(f"{key}: no cell reads it ({reason})")
    yield from made.values()


def _typed(where: str, key: str, given: Any) -> Any:
    """Return a value as the option's type; TOML knows types, so text is never read as a number."""
    name = key.partition(".")[0]
    value: Any = given
    wrong = f"{where} {key} = {_shown(given)}"
    if name == "settings":
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError(f"{wrong}: must be one number, text or truth value")
        return str(value).lower() if isinstance(value, bool) else str(value)
    if key == "seeds.noise" and value == "os":
        return None
    allowed = _OPTIONS[name].types
    if Path in allowed and isinstance(value, str):
        return Path(value)
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        words = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
        raise ValueError(f"{wrong}: must be {' or '.join(words[kind] for kind in allowed)}")
    return value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _distinct(cells: Iterator[_Written]) -> Iterator[_Written]:
    index: dict[str, _Written] = {}
    for cell in cells:
        # Equal values of different types (3 and 3.0) have become the same option.
        same = index.setdefault(repr(cell.options), cell)
        if same is not cell:
            raise ValueError(f"the same cell is listed twice ({same.label} and {cell.label})")
        yield cell
