"""A grid over the options of a run: a sweep file in TOML, or ``KEY=V1,V2`` on the command line.

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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpsim.curator.methods import find
from ldpsim.curator.names import by_field, nearest, paper_name
from ldpsim.devices import datasets
from ldpsim.devices.atomic_files import read_file
from ldpsim.strategies.setup.option_spec import declared, python_value
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone

GRID, FIXED = "[grid]", "[fixed]"
_OF_THE_COMMAND = ("engine", "workers", "ray_address", "out")  # options of the whole sweep
_OPTIONS = declared(RunOptions)
_TABLES = tuple(name for name, spec in _OPTIONS.items() if spec.is_table)
_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}


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


def read_sweep(path: Path | None, grid: Mapping[str, Sequence[Any]] | None = None) -> tuple[Cell, ...]:
    """Return the cells of a sweep file and of a grid, in canonical order; each option's ``out`` is None.

    Args:
        path: The file; None for a grid alone.
        grid: Values by key. They replace those of the file's tables ``grid`` and ``fixed``.

    Raises:
        ValueError: one line naming the file and the key: a file that cannot be read, unknown
            keys, values of the wrong type or out of range, an empty grid, a repeated cell.
    """
    before = "" if path is None else f"{path}: "
    try:
        document = {} if path is None else tomllib.loads(read_file(path, 1 << 24).decode())
        for table in (document.get("fixed"), document.get("grid"), *(document.get("cells") or ())):
            if isinstance(table, Mapping) and ":" in str(table.get("gnn")):
                raise ValueError(
                    "gnn is code of whoever wrote the file, so a file does not name it: -g gnn=package:Class"
                )
        if grid:
            values = _flat(GRID, grid)
            fixed, own = _flat(FIXED, document.get("fixed", {})), _flat(GRID, document.get("grid", {}))
            rest = {key: value for key, value in fixed.items() if key not in values}
            document = {**document, "fixed": rest, "grid": {**own, **values}}
        cells = cells_of_document(document)
        for cell, (name, spec) in itertools.product(cells, _OPTIONS.items()):
            if spec.is_path and getattr(cell.options, name) is not None:
                raise ValueError(
                    f"{name} is a place on the machine of whoever wrote the file, so a file does not name it: "
                    "--data-dir names the data, and Python's ldpsim.sweep takes the others"
                )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{before}{reason}") from None
    return cells


def cells_of_document(document: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the cells of a sweep file's content, as :func:`read_sweep`; an error does not name a file."""
    fixed = _flat(FIXED, document.get("fixed", {}))
    written = dict[str, str]()  # options as written -> label
    cells, read, reasons = dict[str, Cell](), set[str](), dict[str, str]()
    for where, own in _written(document, fixed):
        options = _options(where, fixed, own)
        label = _label(own) or where
        if (first := written.setdefault(repr(options), label)) is not label:
            raise ValueError(f"the same cell is listed twice ({first} and {label})")
        options, unread = read_alone(options)
        for key, reason in unread.items():
            if where != GRID and key in own:
                raise ValueError(f"{label}: {key}: {reason}")
            reasons.setdefault(key, reason)
        read |= (fixed.keys() | own.keys()) - unread.keys()
        label = _label({key: value for key, value in own.items() if key not in unread}) or label
        cells.setdefault(repr(options), Cell(options, label))
    for key, reason in reasons.items():
        if key not in read:
            raise ValueError(f"{key}: no cell reads it ({reason})")
    return tuple(cells.values())


def _written(document: Mapping[str, Any], fixed: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each cell is written, and the options that distinguish it."""
    tables = ("fixed", "grid", "cells")
    for key in document:
        if key not in tables:
            raise ValueError(f"{key}: a sweep file has the tables [fixed], [grid] and [[cells]]{nearest(key, tables)}")
    grid, single = _flat(GRID, document.get("grid", {})), document.get("cells", [])
    if not isinstance(single, list):
        raise ValueError("[cells]: write [[cells]], once for each cell")
    if not grid and not single:
        raise ValueError("nothing to run: [grid] and [[cells]] are both empty")
    for key, values in grid.items():
        if not isinstance(values, (list, tuple)) or not values:
            raise ValueError(f"[grid] {key} = {_text(values)}: must be a list of values that is not empty")
        if key in fixed:
            raise ValueError(f"[grid] {key}: is in [fixed] too")
    keys = sorted(grid, key=_place)
    for values in itertools.product(*(grid[key] for key in keys)) if keys else ():
        yield GRID, dict(zip(keys, values, strict=True))
    for number, entry in enumerate(single, 1):
        where = f"[[cells]] {number}"
        yield where, dict(sorted(_flat(where, entry).items(), key=lambda item: _place(item[0])))


def _flat(where: str, table: Any) -> dict[str, Any]:
    """Return a table's values by key, ``settings.tau`` for a key of a table inside it."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{where}: must be a table")
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = key if "." in key else key.replace("-", "_")
        inside = value if name in _TABLES and isinstance(value, Mapping) else None
        for full, entry in {name: value}.items() if inside is None else ((f"{name}.{k}", v) for k, v in inside.items()):
            _check_key(where, full)
            if full in flat:
                raise ValueError(f"{where} {full}: is given twice")
            flat[full] = python_value(entry)
    return by_field(flat)


def _check_key(where: str, key: str) -> None:
    name, _, inner = key.partition(".")
    if name == "state":
        raise ValueError(f"{where} state: a sweep cannot use enrolled devices, each cell needs people of its own")
    if name in _OF_THE_COMMAND:
        raise ValueError(f"{where} {name}: belongs on the command line, --{name.replace('_', '-')}")
    if name not in _OPTIONS or bool(inner) != (name in _TABLES):
        form = (
            f"is a table, write {name}.KEY" if name in _TABLES else f"a run has no such option{nearest(key, _OPTIONS)}"
        )
        raise ValueError(f"{where} {key}: {form}")


def _place(key: str) -> tuple[int, str]:
    return list(_OPTIONS).index(key.partition(".")[0]), key


def _options(where: str, fixed: Mapping[str, Any], own: Mapping[str, Any]) -> RunOptions:
    values: dict[str, Any] = {"out": None, "engine": "local"}
    for key, entry in sorted({**fixed, **own}.items(), key=lambda item: _place(item[0])):
        name, _, inner = key.partition(".")
        value = _value(where if key in own else FIXED, key, entry)
        if inner:
            values.setdefault(name, {})[inner] = value
        else:
            values[name] = value
    try:
        options = RunOptions(**values)
        find(options.method)
        end = Path(options.dataset).suffix.lower()
        if options.dataset not in datasets.names() and end not in datasets.ARRAY_FORMS:
            raise ValueError(f"unknown dataset {options.dataset!r}{nearest(options.dataset, datasets.names())}")
    except ValueError as error:
        raise ValueError(f"{_label(own) or where}: {error}") from None
    return options


def _value(where: str, key: str, value: Any) -> Any:
    """Return a value of a file, or a text of the command line, as the option's type."""
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"{where} {key} = {_text(value)}: must be one number, text or truth value")
    name, text = key.partition(".")[0], _text(value)
    if name == "settings":
        return text if isinstance(value, bool) else str(value)
    if key == "seeds.noise" and text == "os":
        return None
    kinds = _OPTIONS[name].types
    for kind in kinds:
        with suppress(ValueError):
            if kind is bool and text in ("true", "false"):
                return text == "true"
            if kind is not bool and not isinstance(value, bool):
                return kind(value if kind is float else text)
    raise ValueError(f"{where} {key} = {text}: must be {' or '.join(_KINDS[kind] for kind in kinds)}")


def _label(own: Mapping[str, Any]) -> str:
    return ", ".join(f"{paper_name(key)}={_text(value)}" for key, value in own.items())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
