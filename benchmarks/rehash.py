"""Put config hashes of today in the place of those that hold the program's version (format 1).

    python -m benchmarks.rehash runs docs/results        (LDPSIM_DATA names the data sets)

Runs are found by their config.toml, rows of tables by their command. A stored hash is replaced where it is that of
format 1 for these options; every other one stays and is named. A folder gets the name of its new hash, and tables and
lists beside it name it so. Runs without a result stay, too: what devices answered belongs to the old hash.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from ldpsim.cli.options import with_run_options
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population
from ldpsim.strategies.experiments.compare import shown_options
from ldpsim.strategies.results.folder import COMPARISON, is_name_of
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.setup.fingerprint import config_hash, hashed_parameters
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import FACTS, RunOptions
from ldpsim.strategies.setup.run_setup import Setup, load_population

VERSION = "0.1.0"  # of all results of format 1
# Constants of options that had left, and fields that were left out at their defaults.
_LEFT = {
    "ldpgcn": {"pairs": "mean"}, "privgnn": {"basis": "given"}, "sbp": {"sources": "train", "answer": "pool"},
}  # fmt: skip
_LATE = {"label_target": "own", "loss_floor": 0.0, "selection": "accuracy", "gat_loops": True, "gat_weights": "once",
         "gat_joined": False, "activation": "relu"}  # fmt: skip
_LATE_BUDGETS = {"label_mechanism": "grr", "volunteers": False}


def hash_of_format_1(setup: Setup) -> str:
    """Return the hash that version 0.1.0 gave a run."""
    values = hashed_parameters(setup.options, setup.population, setup.settings, setup.budget)
    del values["format"]
    training, gnn = asdict(setup.settings.training), setup.settings.training.gnn
    late = {**training, **values["parameters"]}  # those without an effect, too
    parameters = {name: value for name, value in late.items()
                  if (name not in _LATE or value != _LATE[name]) and (gnn == "gat" or name[:4] != "gat_")
                  and (name != "gnn_dropout" or "network" not in values)}  # fmt: skip
    values["budget"] = {name: value for name, value in values["budget"].items()
                        if name not in _LATE_BUDGETS or value != _LATE_BUDGETS[name]}  # fmt: skip
    values["parameters"] = parameters | _LEFT.get(setup.options.method, {})
    return config_hash({**values, "sampler": 1, "ldpsim": VERSION, "schema": 1})


class Hashes:
    """The hash of format 1 and that of today of runs; people of runs that follow each other are loaded once."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._people: Population | None = None

    def of(self, options: RunOptions) -> tuple[str, str]:
        """Return both hashes; ValueError where the run cannot be set up."""
        options = replace(options, out=None, state=None, from_reports=None, collector_key=None, engine="local")
        facts = tuple(getattr(options, name) for name in FACTS)
        key = options.dataset, options.data_dir, options.clients, facts, options.seeds_of(0).population
        if key != self._key:
            self._people, self._key = load_population(options), key
        setup = prepare(options, population=self._people)
        return hash_of_format_1(setup), setup.digest


@cache
def _reader() -> tuple[typer.Typer, list[RunOptions]]:
    """Return a command with the options of a run, and the list that its options come to."""
    read, app = list[RunOptions](), typer.Typer()

    @app.command()
    @with_run_options()
    def run(*, options: RunOptions) -> None:
        read.append(options)

    return app, read


def options_of_command(command: str) -> RunOptions:
    """Return the options of a line ``ldpsim run ...``; ValueError for one that is refused."""
    app, read = _reader()
    read.clear()
    done = CliRunner().invoke(app, shlex.split(command)[2:])
    if not read:
        raise ValueError(f"{command}: {done.exception or done.output}")
    return read[0]


def options_of_folder(folder: Path) -> RunOptions:
    """Return the options of a run's config.toml."""
    values = tomllib.loads((folder / "config.toml").read_text())
    values["seeds"] = {name: None if seed == "os" else seed for name, seed in values.get("seeds", {}).items()}
    beside = folder / values["dataset"]
    if beside.suffix and beside.is_file():
        values["dataset"] = str(beside)
    data = os.environ.get("LDPSIM_DATA")
    return RunOptions(**{**values, "data_dir": None if data is None else Path(data)})


def rehash_run(folder: Path, hashes: Hashes) -> str:
    """Give a run's result the hash of today, and its folder the name; return why not, else an empty text."""
    stored = json.loads((folder / "result.json").read_text())["config_hash"]
    old, new = hashes.of(options_of_folder(folder))
    if stored == new:
        return ""
    if stored != old:
        return f"{folder}: {stored} is not of its config.toml"
    _replace(folder.glob("result.json"), old, new)
    if is_name_of(folder.name, old):
        name = folder.name.replace(old, new)
        _replace([*folder.parent.glob("*.csv"), *folder.parent.glob("*.json")], folder.name, name)
        _replace(folder.parent.glob("*.csv"), old, new)
        folder.rename(folder.with_name(name))
    return ""


def rehash_comparison(folder: Path) -> str:
    """Give the folder of a comparison the name that it has today; return why not, else an empty text."""
    match = json.loads((folder / COMPARISON).read_text())["match"]
    matching = None if match is None else (match["level"], match["target"])
    specs = declared(RunOptions)
    given: dict[str, Any] = {}
    for cell in sorted(folder.glob("*/config.toml")):
        options = options_of_folder(cell.parent)
        for name in specs:
            value = getattr(options, name)
            if value != specs[name].default and name not in ("method", "all_nulls"):
                given[name] = {**given.get(name, {}), **value} if specs[name].is_table else value
    if matching is not None:
        given["epsilon"] = None
    for all_nulls in (False, True):
        terms = shown_options(RunOptions(**given, all_nulls=all_nulls), matching)
        old, new = config_hash({**terms, "same_reports": False}), config_hash(terms)
        if new in folder.name:
            return ""
        if old in folder.name:
            folder.rename(folder.with_name(folder.name.replace(old, new)))
            return ""
    return f"{folder}: its name is not of the options of its runs"


def rehash_table(path: Path, hashes: Hashes) -> list[str]:
    """Give the rows of a table with commands the hashes of today; return why not, a line for each that stays."""
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row.get("config_hash") and row.get("command")]
    stay, changed = [], dict[str, str]()
    runs = [(options_of_command(row["command"]), row) for row in rows]
    for options, row in sorted(runs, key=lambda run: run[0].dataset):
        try:
            old, new = hashes.of(options)
        except ValueError as error:
            stay.append(f"{path}: {row['config_hash']}: {error}")
            continue
        if row["config_hash"] == old:
            changed[old] = new
        elif row["config_hash"] != new:
            stay.append(f"{path}: {row['config_hash']} is not of {row['command']}")
    for old, new in changed.items():
        _replace([path], old, new)
    return stay


def _replace(files: Iterable[Path], old: str, new: str) -> None:
    for file in files:
        data = file.read_bytes()
        if old.encode() in data:
            write_atomically(file, data.replace(old.encode(), new.encode()), mode=file.stat().st_mode)


def main(arguments: Sequence[str]) -> int:
    """Rewrite the hashes below the named folders and files; return how many stay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", type=Path, nargs="+", help="folders of runs, and tables or their folders")
    hashes, stay = Hashes(), list[str]()
    for place in parser.parse_args(arguments).places:
        for result in sorted(place.rglob("result.json")):
            if (result.parent / "config.toml").is_file():
                stay.append(_reason(partial(rehash_run, result.parent, hashes)))
        for comparison in sorted(place.rglob(COMPARISON)):
            stay.append(_reason(partial(rehash_comparison, comparison.parent)))
        for table in [place] if place.suffix == ".csv" else sorted(place.glob("*.csv")):
            stay += rehash_table(table, hashes)
    lines = [line for line in stay if line]
    print("\n".join(lines) or "every hash is of today")
    return len(lines)


def _reason(rehash: Callable[[], str]) -> str:
    try:
        return rehash()
    except (OSError, ValueError, KeyError, TypeError) as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
