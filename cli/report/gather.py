"""Find the results below some folders, and the reasons why some cannot be shown."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.report.rows import UnreadableRecord, number, people_of, row_of, text
from cli.words import count as in_words
from strategies.results.folder import COMPARISON
from strategies.results.levels import compared_levels
from strategies.setup.fingerprint import SCHEMA

_TOO_LARGE = 64 << 20  # bytes of a result.json; a real one has some ten thousand
_OF_A_RUN = ("state", "reports")  # folders inside a run's, with no results below


@dataclass(frozen=True)
class ShownResult:
    """Result that can be shown.

    Args:
        record: Content of its result.json.
        row: :func:`cli.report.rows.row_of`.
        people: :func:`cli.report.rows.people_of`.
    """

    record: Mapping[str, Any]
    row: dict[str, Any]
    people: dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """Something that is not shown, and the reason, in one line each."""

    what: str
    why: str


@dataclass
class Gathered:
    """Content of the page.

    Args:
        results: Results of one population, in the order in which they were found.
        failed: Methods that failed.
        left_out: Files and populations that are not shown.
        methods: Order of a comparison's methods, empty without a comparison.
        match: ``level``, ``target``, ``unmatched`` and ``of_reports`` of a comparison, None without ``--match``.
        paired: (method, first method, difference or None) of methods that read the same reports.
        unpaired: Methods that shared no reports in a comparison with ``--same-reports``.
    """

    results: list[ShownResult] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    match: dict[str, Any] | None = None
    paired: list[tuple[str, str, dict[str, float] | None]] = field(default_factory=list)
    unpaired: list[Problem] = field(default_factory=list)


def gather(folders: Sequence[Path], *, only: Sequence[Path] | None = None) -> Gathered:
    """Read all results below folders; the population with the most results is shown.

    Args:
        folders: Folders of runs, sweeps or comparisons, or folders above them.
        only: Folders of the runs to show, in this order; None for all.

    Raises:
        ValueError: one line: a missing folder, no result, or no result that can be read.
    """
    found = Gathered()
    paths: list[Path] = []
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder}: there is no such folder")
        paths += [path for path in _below(folder) if path not in paths]
        _of_many(folder, found)
    if only is not None:
        paths = [folder / "result.json" for folder in only]
    runs = [path for path in paths if path.name == "result.json"]
    for path in paths:
        if path.name != "result.json" and path.parent / "result.json" not in runs:
            found.left_out.append(Problem(text(path.parent.name), "no result: interrupted, or still running"))
    if not runs:
        named = ", ".join(str(folder) for folder in folders)
        raise ValueError(f"{named}: no result.json there (a run's, a sweep's or a comparison's folder has them)")
    results = [entry for path in runs if (entry := _read(path, found.left_out)) is not None]
    if not results:
        first = found.left_out[-1]
        raise ValueError(f"none of {len(runs)} result.json can be shown ({first.what}: {first.why})")
    _one_population(results, found)
    return found


def _below(folder: Path) -> Iterator[Path]:
    """Yield result.json and config.toml files, folders sorted; links to folders are not followed."""
    for here, inside, files in os.walk(folder):
        own = _OF_A_RUN if "config.toml" in files else ()
        inside[:] = sorted(name for name in inside if name[0] != "." and name.partition("-")[0] not in own)
        for name in ("result.json", "config.toml"):
            if name in files:
                yield Path(here) / name


def _read(path: Path, left_out: list[Problem]) -> ShownResult | None:
    where = path.parent.name or str(path)
    try:
        if path.stat().st_size > _TOO_LARGE:
            raise UnreadableRecord(f"result.json has more than {_TOO_LARGE >> 20} MiB")
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record, Mapping):
            raise UnreadableRecord("result.json is no JSON object")
        if record.get("schema") != SCHEMA or isinstance(record.get("schema"), bool):
            raise UnreadableRecord(f"schema {text(record.get('schema'))}, this version reads schema {SCHEMA}")
        return ShownResult(record, row_of(record, where), people_of(record))
    except UnreadableRecord as error:
        why = str(error)
    except OSError as error:
        why = f"result.json: {error.strerror}"
    except RecursionError:
        why = "result.json is nested too deeply"
    except ValueError as error:  # JSON, or bytes that are no UTF-8
        why = f"result.json cannot be read ({error})"
    left_out.append(Problem(text(where), text(why)))
    return None


def _one_population(results: Sequence[ShownResult], found: Gathered) -> None:
    """Keep the population with the most results; on a tie, the first."""
    groups = Counter(entry.people["digest"] for entry in results)
    most = groups.most_common(1)[0][0]  # the first one on a tie
    found.results = [entry for entry in results if entry.people["digest"] == most]
    for digest, count in groups.items():
        if digest != most:
            others = [entry for entry in results if entry.people["digest"] == digest]
            people = others[0].people
            named = ", ".join(dict.fromkeys(entry.row["folder"] for entry in others))
            found.left_out.append(Problem(
                text(named),
                f"{in_words(count, 'result')} with a different population ({people['name']}, {people['nodes']:,} "
                "people); report them separately",
            ))  # fmt: skip


def _of_many(folder: Path, found: Gathered) -> None:
    """Read the files that a sweep or a comparison writes beside its results."""
    try:
        document = json.loads((folder / COMPARISON).read_text(encoding="utf-8"))
        failed = [Problem(text(name), text(line)) for name, line in dict(document["failures"]).items()]
        methods = [text(name) for name in list(document["methods"])]
        match = None if document["match"] is None else _match(document["match"])
        found.failed, found.methods = [*found.failed, *failed], [*found.methods, *methods]
        found.match = match or found.match
        if "same_reports" in document:
            _same_reports(document["same_reports"], found)
    except FileNotFoundError:
        _failed_cells(folder / "table.csv", found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        found.left_out.append(Problem(COMPARISON, "cannot be read: the failed methods are not known"))


def _match(given: Mapping[str, Any]) -> dict[str, Any]:
    level, target = given["level"], number(given["target"])
    if level not in compared_levels() or target is None:
        raise ValueError("a level that no result has")
    unmatched = {text(k): text(v) for k, v in given["unmatched"].items()}
    of_reports = [text(name) for name in given.get("of_reports", ())]
    return {"level": level, "target": target, "unmatched": unmatched, "of_reports": of_reports}


def _same_reports(given: Mapping[str, Any], found: Gathered) -> None:
    paired = list[tuple[str, str, dict[str, float] | None]]()
    for group in given["groups"]:
        for name, entry in dict(group["differences"]).items():
            figures = None if entry is None else {part: number(entry[part]) for part in ("value", "low", "high")}
            if figures is not None and None in figures.values():
                raise ValueError("a difference that is no number")
            paired.append((text(name), text(group["to"]), figures))  # type: ignore[arg-type]
    found.paired += paired
    found.unpaired += [Problem(text(name), text(why)) for name, why in dict(given["alone"]).items()]


def _failed_cells(table: Path, found: Gathered) -> None:
    try:
        with table.open(newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if row.get("status") == "failed":
                    found.failed.append(Problem(text(row.get("method")), text(row.get("error"))))
    except FileNotFoundError:
        return
    except (OSError, ValueError, csv.Error):
        found.left_out.append(Problem(table.name, "cannot be read: the failed cells are not known"))
