"""Find the results below some folders, and the reasons why some cannot be shown."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ldpsim.cli.report.labels import name_rows
from ldpsim.cli.report.rows import UnreadableRecord, people_of, row_of
from ldpsim.cli.report.sweep_cells import TABLE, SweepCells, cells_of
from ldpsim.cli.words import count as in_words
from ldpsim.devices.atomic_files import read_file
from ldpsim.strategies.outputs.seed_groups import run_key
from ldpsim.strategies.outputs.sums import AskedInAll, in_all
from ldpsim.strategies.outputs.untrusted import number, text
from ldpsim.strategies.results.folder import COMPARISON
from ldpsim.strategies.results.levels import compared_levels
from ldpsim.strategies.setup.fingerprint import SCHEMA

_TOO_LARGE = 64 << 20  # bytes of a result.json; a real one has some ten thousand
_OF_A_RUN = ("state", "reports")  # folders inside a run's, with no results below
_OTHERS = {"poison": "poison", "rows": "stress"}  # a part of a result.json that no run has, and its command


@dataclass(frozen=True)
class ShownResult:
    """Result that can be shown.

    Args:
        record: Content of its result.json.
        row: :func:`ldpsim.cli.report.rows.row_of`.
        people: :func:`ldpsim.cli.report.rows.people_of`.
        is_repeat: Whether it is a cell of a sweep that varies the people's seed: cells with
            other people of the same data set are repeats.
    """

    record: Mapping[str, Any]
    row: dict[str, Any]
    people: dict[str, Any]
    is_repeat: bool = False

    @property
    def dataset(self) -> tuple[str, int]:
        """Name and size of the data set; the people themselves may differ."""
        return self.people["name"], self.people["nodes"]


@dataclass(frozen=True)
class Problem:
    """Something that is not shown, and the reason, in one line each."""

    what: str
    why: str


@dataclass
class Gathered:
    """Content of the page.

    Args:
        results: Results in the order in which they were found; of each data set those of one
            population, and the repeats of a sweep.
        failed: Methods that failed.
        left_out: Files and populations that are not shown.
        methods: Order of a comparison's methods, empty without a comparison.
        match: ``level``, ``target``, ``unmatched`` and ``of_reports`` of a comparison, None without ``--match``.
    """

    results: list[ShownResult] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    match: dict[str, Any] | None = None

    @property
    def sums(self) -> list[AskedInAll]:
        """Sums of what holds over all collections of people who were really asked more than once."""
        return list(in_all(entry.record for entry in self.results).values())


def gather(folders: Sequence[Path], *, only: Sequence[Path] | None = None) -> Gathered:
    """Read all results below folders.

    Of each data set the population with the most results is shown, and the repeats of a sweep. Of a
    sweep's folder only the cells of its table are shown.

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
        _of_comparison(folder, found)
    sweeps = _sweeps([path.parent for path in paths if path.name == TABLE], found)
    if only is not None:
        paths = [folder / "result.json" for folder in only]
    runs = [path for path in paths if path.name == "result.json"]
    for path in paths:
        if path.name == "config.toml" and path.parent / "result.json" not in runs:
            found.left_out.append(Problem(text(path.parent.name), "no result: interrupted, or still running"))
    if not runs:
        named = ", ".join(str(folder) for folder in folders)
        raise ValueError(f"{named}: no result.json there (a run's, a sweep's or a comparison's folder has them)")
    read = {path: entry for path in _listed(runs, sweeps, folders, found) if (entry := _read(path, found.left_out))}
    if not read:
        first = found.left_out[-1]
        raise ValueError(f"none of {len(runs)} result.json can be shown ({first.what}: {first.why})")
    of_sweep = {path: sweeps.get(path.parent.parent) for path in read}
    results = [
        replace(entry, is_repeat=True) if (cells := of_sweep[path]) and cells.varies_people else entry
        for path, entry in read.items()
    ]
    found.results = _by_population(_without_copies(results, found), found)
    return found


def _below(folder: Path) -> Iterator[Path]:
    """Yield tables, result.json and config.toml files, folders sorted; links to folders are not followed."""
    for here, inside, files in os.walk(folder):
        own = _OF_A_RUN if "config.toml" in files else ()
        inside[:] = sorted(name for name in inside if name[0] != "." and name.partition("-")[0] not in own)
        for name in (TABLE, "result.json", "config.toml"):
            if name in files:
                yield Path(here) / name


def _read(path: Path, left_out: list[Problem]) -> ShownResult | None:
    where = path.parent.name or str(path)
    try:
        if path.stat().st_size > _TOO_LARGE:
            raise UnreadableRecord(f"result.json has more than {_TOO_LARGE >> 20} MiB")
        record = json.loads(read_file(path))
        if not isinstance(record, Mapping):
            raise UnreadableRecord("result.json is no JSON object")
        other = next((command for key, command in _OTHERS.items() if key in record), None)
        if other is not None:
            raise UnreadableRecord(f"a result of `ldpsim {other}`; the page shows runs, sweeps and comparisons")
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


def _sweeps(folders: Sequence[Path], found: Gathered) -> dict[Path, SweepCells]:
    """Return the cells of the sweeps among some folders, and note those that failed."""
    sweeps: dict[Path, SweepCells] = {}
    for folder in folders:
        try:
            cells = cells_of(folder)
        except ValueError:
            found.left_out.append(Problem(TABLE, "cannot be read: the cells of the sweep are not known"))
            continue
        if cells is not None:
            sweeps[folder] = cells
            found.failed += [Problem(text(method), text(line)) for method, line in cells.failed]
    return sweeps


def _listed(
    runs: Sequence[Path], sweeps: Mapping[Path, SweepCells], given: Sequence[Path], found: Gathered
) -> list[Path]:
    """Return the results without those in a sweep's folder that its table does not list; a run named itself stays."""
    kept, old = list[Path](), dict[Path, list[Path]]()
    for path in runs:
        cells = sweeps.get(path.parent.parent)
        if cells is None or cells.folders is None or path.parent.name in cells.folders or path.parent in given:
            kept.append(path)
        else:
            old.setdefault(path.parent.parent, []).append(path)
    for folder, paths in old.items():
        found.left_out.append(Problem(
            _cells_named(paths),
            f"{in_words(len(paths), 'result')} that {text(folder.name)}/{TABLE} does not list: the sweep's file has "
            "changed since, or the sweep has not finished. The same `ldpsim sweep` again writes the table anew",
        ))  # fmt: skip
    return kept


def _cells_named(paths: Sequence[Path]) -> str:
    """Name results by method and options, once for all seeds; by their folder where they cannot be read."""
    read = {path: _read(path, []) for path in paths}
    rows = [{"method": entry.row["method"]} for entry in read.values() if entry]
    name_rows(rows, [entry.record for entry in read.values() if entry], without=("seed",))
    names = [row["label"] for row in rows] + [path.parent.name for path, entry in read.items() if not entry]
    return text(", ".join(dict.fromkeys(names)))


def _by_population(results: Sequence[ShownResult], found: Gathered) -> list[ShownResult]:
    """Keep of each data set the population with the most results (on a tie, the first), and the repeats."""
    groups: dict[tuple[str, int], Counter[str]] = {}
    for entry in results:
        groups.setdefault(entry.dataset, Counter())[entry.people["digest"]] += 1
    most = {dataset: counts.most_common(1)[0][0] for dataset, counts in groups.items()}  # the first one on a tie
    kept, others = list[ShownResult](), dict[str, list[ShownResult]]()
    for entry in results:
        if entry.people["digest"] == most[entry.dataset] or entry.is_repeat:
            kept.append(entry)
        else:
            others.setdefault(entry.people["digest"], []).append(entry)
    for entries in others.values():
        people = entries[0].people
        named = ", ".join(dict.fromkeys(entry.row["folder"] for entry in entries))
        found.left_out.append(Problem(
            text(named),
            f"{in_words(len(entries), 'result')} with a different population ({people['name']}, {people['nodes']:,} "
            "people); report them separately",
        ))  # fmt: skip
    return kept


def _without_copies(results: Sequence[ShownResult], found: Gathered) -> list[ShownResult]:
    """Leave out results of the same simulation with the same figures: they are no repeats of one another.

    Where the operating system gave the noise, two runs may have the same figures by chance; equal records, with equal
    seconds, are copies of one run.
    """
    first: dict[Any, ShownResult] = {}
    for entry in results:
        seeded = (entry.people["digest"], run_key(entry.record), entry.row["test"])
        same = first.setdefault(seeded if entry.row["seeded"] else json.dumps(entry.record), entry)
        if same is not entry:
            found.left_out.append(Problem(
                text(entry.row["folder"]), f"the same simulation as {text(same.row['folder'])}"
                f"{' in another folder' if same.row['folder'] == entry.row['folder'] else ''}, with the same figures",
            ))  # fmt: skip
    return list(first.values())


def _of_comparison(folder: Path, found: Gathered) -> None:
    """Read the file that a comparison writes beside its results."""
    try:
        document = json.loads(read_file(folder / COMPARISON))
        failed = [Problem(text(name), text(line)) for name, line in dict(document["failures"]).items()]
        methods = [text(name) for name in list(document["methods"])]
        match = None if document["match"] is None else _match(document["match"])
        found.failed, found.methods = [*found.failed, *failed], [*found.methods, *methods]
        found.match = match or found.match
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        found.left_out.append(Problem(COMPARISON, "cannot be read: the failed methods are not known"))


def _match(given: Mapping[str, Any]) -> dict[str, Any]:
    level, target = given["level"], number(given["target"])
    if level not in compared_levels() or target is None:
        raise ValueError("a level that no result has")
    unmatched = {text(k): text(v) for k, v in given["unmatched"].items()}
    of_reports = [text(name) for name in given.get("of_reports", ())]
    return {"level": level, "target": target, "unmatched": unmatched, "of_reports": of_reports}
