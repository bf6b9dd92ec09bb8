"""Shell commands to go on with: run a result again, compare its method with others, write a page of a sweep."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldpsim.curator.methods import find
from ldpsim.strategies.foreign_text import number, text
from ldpsim.strategies.setup.fingerprint import configuration
from ldpsim.strategies.setup.option_spec import DEVICES, OptionSpec, declared
from ldpsim.strategies.setup.options import RunOptions, Seeds

_COMPARED = {
    "curator": "hogs sbp vote raw",
    "devices": "fedavg-mlp dp-fedavg hogs raw",
    "alone": "fedavg-mlp dp-fedavg hogs raw",
    "silos": "silo-fedavg-gcn silo-fedgcn raw",
    "owner": "privgnn pate-m b1",
    "graph owner": "gap progap vote raw",
}  # methods to compare a run with, by its method's ``trained_by``
_PLACES = ("data_dir", "out")  # folders without which a command of the same reader would do something else


def command_of(record: Mapping[str, Any]) -> str:
    """Return ``ldpsim run ...``, quoted for a shell; options that have their default are left out."""
    config = record.get("config")
    given: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
    words = ["ldpsim", "run", "--method", text(record.get("method", "")), "--dataset", _dataset(given, record)]
    for name, spec in declared(RunOptions).items():
        value = given.get(name)
        if not (spec.personal or name in ("method", "dataset") or value is None or value == spec.default):
            words += _said(spec, value)
    return " ".join(shlex.quote(word) for word in words)


def comparison_of(options: RunOptions) -> str:
    """Return ``ldpsim compare METHOD...`` on the same people, quoted for a shell; the run's own method comes first.

    It has the options of the run that are not at their default. Options about the reader's own devices are
    left out, since a comparison enrols its own. The folder of the data is left out where the environment names it.
    """
    others = _COMPARED[find(options.method).spec.trained_by].split()
    words = ["ldpsim", "compare", *dict.fromkeys([options.method, *others])]
    for name, spec in declared(RunOptions).items():
        value = configuration(options)[name]
        known = value is None or value == spec.default or str(value) == os.environ.get(spec.envvar or "")
        if not (known or name == "method" or spec.panel == DEVICES or (spec.personal and name not in _PLACES)):
            words += _said(spec, value)
    return " ".join(shlex.quote(word) for word in words)


def page_of(folder: Path) -> str:
    """Return ``ldpsim report FOLDER``, quoted for a shell."""
    return shlex.join(["ldpsim", "report", str(folder)])


def table_of(folder: Path) -> str:
    """Return ``ldpsim report FOLDER --latex FOLDER/table.tex``, the table for a paper, quoted for a shell."""
    return shlex.join(["ldpsim", "report", str(folder), "--latex", str(folder / "table.tex")])


def _said(spec: OptionSpec, value: Any) -> list[str]:
    """Return an option and its value as words of a command."""
    if spec.is_table:
        entries = list(value.items()) if isinstance(value, Mapping) else []
        if spec.name == "seeds":
            named = [(name, "os" if seed is None else _word(seed)) for name, seed in entries if name in declared(Seeds)]
            return [word for name, seed in named for word in (f"--{name}-seed", seed)]
        return [word for key, entry in entries for word in (spec.option, f"{text(key)}={_word(entry)}")]
    if spec.kind is bool:
        return [spec.option] if value is True else []
    return [spec.option, _word(value)]


def _dataset(config: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    named = config.get("dataset")
    if isinstance(named, str) and named:
        return text(named)
    dataset = record.get("dataset")
    return text(dataset.get("name", "") if isinstance(dataset, Mapping) else "")


def _word(value: Any) -> str:
    found = number(value)
    return text(value) if found is None else repr(int(found) if float(found).is_integer() else found)
