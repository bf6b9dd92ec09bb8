"""Find the results below some folders, and the reasons why some cannot be shown.

A result is an untrusted file. It is read once, and every figure and word that the page shows of it is made here for
a trial: a record that does not have them is left out, with one line. Templates escape all texts.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ldpsim.cli.report.gathered import Gathered, Problem
from ldpsim.cli.report.page import WHOLE, as_json, chart, differently_scored, row_of
from ldpsim.cli.words import plus_minus
from ldpsim.curator.privacy.levels import level_words
from ldpsim.devices.atomic_files import read_file
from ldpsim.strategies.experiments.compare import Comparison
from ldpsim.strategies.foreign_text import from_csv_cell, number, text
from ldpsim.strategies.outputs.comparison import finding
from ldpsim.strategies.outputs.groups import groups_of, shown_cells
from ldpsim.strategies.outputs.result_view import view_of
from ldpsim.strategies.outputs.sums import in_all, of_repeats
from ldpsim.strategies.results.folder import COMPARISON
from ldpsim.strategies.results.levels_of_results import shown_levels
from ldpsim.strategies.results.rows import row_of as flat_row
from ldpsim.strategies.setup.fingerprint import SCHEMA

TABLE = "table.csv"
_TOO_LARGE = 64 << 20  # bytes of a result.json; a real one has some ten thousand
_TOO_MUCH = 1 << 63  # no column of whole numbers holds it
_OF_A_RUN = ("state", "reports")  # folders inside a run's, with no results below
_OTHERS = {"poison": "poison", "rows": "stress"}  # a part of a result.json that no run has, and its command
_BROKEN = (KeyError, TypeError, AttributeError, ValueError, IndexError, StopIteration, RecursionError, OverflowError)


def gather(folders: Sequence[Path]) -> Gathered:
    """Read all results below folders of runs, sweeps or comparisons, or folders above them.

    Of a comparison's folder the results of its last command are read: one without a method leaves its result there.

    Raises:
        ValueError: one line: a missing folder, no result, or no result that can be read.
    """
    gathered, runs = Gathered(), dict[Path, None]()
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder}: there is no such folder")
        inside = dict[Path, None]()
        for here, files in _below(folder):
            if TABLE in files:
                _read_failed_cells(here / TABLE, gathered)
            if "result.json" in files:
                inside[here] = None
            elif "config.toml" in files:
                gathered.left_out.append(Problem(text(here.name), "no result: interrupted, or still running"))
        compared = _read_comparison(folder, gathered)
        runs |= inside if compared is None else dict.fromkeys(run for run in compared if run in inside)
    if not runs:
        names = ", ".join(str(folder) for folder in folders)
        raise ValueError(f"{names}: no result.json there (a run's, a sweep's or a comparison's folder has them)")
    for run in runs:
        try:
            gathered.records[run] = read_record(run / "result.json")
        except ValueError as error:
            gathered.left_out.append(Problem(text(run.name or run), text(error)))
    if not gathered.records:
        first = gathered.left_out[-1]
        raise ValueError(f"none of {len(runs)} result.json can be shown ({first.what}: {first.why})")
    return gathered


def gathered_from(comparison: Comparison) -> Gathered:
    """Return the content of the page of a comparison that has just run; its results are in memory already."""
    gathered = Gathered(failed=[Problem(text(name), text(failed.line)) for name, failed in comparison.failures])
    for name, record in zip(comparison.folders, comparison.records, strict=True):
        try:
            gathered.records[comparison.folder / name] = checked(record)
        except ValueError as error:
            gathered.left_out.append(Problem(text(name), text(error)))
    if comparison.match is not None:
        gathered.match = asdict(comparison.match)
    return gathered


def read_record(path: Path) -> Mapping[str, Any]:
    """Return the content of a result.json that has all that the page shows.

    Raises:
        ValueError: one line, for another file.
    """
    try:
        if path.stat().st_size > _TOO_LARGE:
            raise ValueError(f"result.json has more than {_TOO_LARGE >> 20} MiB")
        record = json.loads(read_file(path, _TOO_LARGE), parse_constant=_finite, parse_float=_finite)
    except OSError as error:
        raise ValueError(f"result.json: {error.strerror}") from None
    except RecursionError:
        raise ValueError("result.json is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"result.json cannot be read ({error})") from None
    return checked(record)


def checked(record: Any) -> Mapping[str, Any]:
    """Return the content of a result.json if it has all that the page shows.

    Raises:
        ValueError: one line, for another document.
    """
    if not isinstance(record, Mapping):
        raise ValueError("result.json is no JSON object")
    other = next((command for key, command in _OTHERS.items() if key in record), None)
    if other is not None:
        raise ValueError(f"a result of `ldpsim {other}`; the page shows runs, sweeps and comparisons")
    if "deployment" in record:
        raise ValueError("a result of a deployment, whose accuracy nobody knows; the page shows runs")
    if record.get("schema") != SCHEMA or isinstance(record.get("schema"), bool):
        raise ValueError(f"schema {text(record.get('schema'))}, this version reads schema {SCHEMA}")
    try:
        _try(record)
    except _BROKEN as error:
        raise ValueError(f"result.json lacks a part of a result, or has another kind there ({text(error)})") from None
    return record


def _try(record: Mapping[str, Any]) -> None:
    """Make everything that the page shows of one result."""
    people = record["dataset"]
    figures = [record["accuracy"]["test"], *(people[name] for name in ("nodes", "edges", "features", "classes"))]
    if any(number(figure) is None or figure < 0 for figure in figures):
        raise ValueError("a figure that is no number of 0 or more")
    for value in (record["method"], record["gnn"], record["ldpsim_version"], people["name"], people["digest"]):
        if not isinstance(value, str) or not value.strip():
            raise ValueError("a name that is no text")
    (group,) = groups_of([record])
    if any(isinstance(figure, int) and abs(figure) >= _TOO_MUCH for figure in group.row.values()):
        raise ValueError("a whole number that is too large")
    (
        [plus_minus(null.get("std")) for null in group.nulls.values()],
        row_of(group, shown_cells(group, shown_levels(2))),
        as_json(chart([group], group.data, "privacy", WHOLE)),
        differently_scored([group]),
        finding([group], None),
        finding([group, group], None),
    )
    flat_row(record, "")
    view_of(record), of_repeats(record), in_all([record, record])


def _finite(value: str) -> float:
    if not math.isfinite(float(value)):
        raise json.JSONDecodeError(f"{value[:20]} is no number", "", 0)
    return float(value)


def _below(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folders and the names of their files, sorted; links to folders are not followed."""
    for here, inside, files in os.walk(folder):
        own = _OF_A_RUN if "config.toml" in files else ()
        inside[:] = sorted(name for name in inside if name[0] != "." and name.partition("-")[0] not in own)
        yield Path(here), files


def _read_failed_cells(path: Path, gathered: Gathered) -> None:
    """Read the cells of a sweep or a comparison that failed."""
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            rows = [row for row in csv.DictReader(lines) if row.get("status") == "failed"]
    except (OSError, csv.Error, UnicodeDecodeError):
        gathered.left_out.append(Problem(TABLE, "cannot be read: the cells that failed are not known"))
        return
    gathered.failed += [Problem(text(row.get("method")), text(from_csv_cell(str(row.get("error"))))) for row in rows]


def _read_comparison(folder: Path, gathered: Gathered) -> list[Path] | None:
    """Return the runs of a comparison in its order, and note what was to be equal; None for another folder."""
    try:
        document = json.loads(read_file(folder / COMPARISON, _TOO_LARGE))
        runs = [folder / name for name in document["folders"] if name is not None]
        if (match := document["match"]) is not None:
            gathered.match = {
                "level": {name: name for name in level_words().values()}[match["level"]],
                "target": float(match["target"]),
                "unmatched": {text(name): text(reason) for name, reason in match["unmatched"].items()},
            }
    except FileNotFoundError:
        return None
    except (OSError, *_BROKEN):
        gathered.left_out.append(Problem(COMPARISON, "cannot be read: its methods and their order are not known"))
        return None
    return runs
