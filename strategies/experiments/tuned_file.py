"""Best setting of a search, stored in the form of ``curator/tuned``."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.atomic_files import read_file, write_atomically
from ldpsim.strategies.experiments.tune import SearchResult, ValueGrid
from ldpsim.strategies.setup.options import AUTO, RunOptions

Setting = dict[str, Any]
_VALUE_KEYS = ("feature_share", "provenance", "source", "collections", "values")  # not conditions


def setting_of(options: RunOptions, found: SearchResult, stages: Sequence[ValueGrid]) -> Setting:
    """Return the stored form of a search: conditions, values and source.

    The parameters of ``--set`` are among the values, since the search compared with them.
    """
    in_force, share = found.settings.in_force(), options.feature_share
    finer = {name: getattr(options, name) for name in ("eps_adjacency", "eps_features", "eps_labels")}
    finer = {name: value for name, value in finer.items() if value is not None}
    total = Budget().epsilon if options.epsilon is None else options.epsilon
    over = "one collection" if options.repeats == 1 else f"{options.repeats} collections"
    grids = "; then ".join(
        ", ".join(f"{key} {' '.join(map(str, values))}" for key, values in stage.items()) or "defaults"
        for stage in stages
    )
    return {
        "method": options.method,
        "dataset": options.dataset,
        "gnn": found.settings.training.gnn,
        "split": options.split,
        **({} if finer and options.epsilon is None else {"epsilon": total}),
        **finer,
        "public_features": options.public_features or find(options.method).spec.public_features,
        **({} if share in (None, AUTO) else {"feature_share": float(share)}),
        "provenance": "ours",
        "source": f"validation accuracy over {over}, seed {options.seed}, ldpsim tune; {grids}",
        "collections": found.collections,
        "values": {key: in_force[key] for key in dict.fromkeys((*options.settings, *found.best.values))},
    }


def as_toml(setting: Mapping[str, Any]) -> str:
    """Return a setting as a ``[[setting]]`` table, its values in one line."""
    lines = [(key, value) for key, value in setting.items() if key != "values"]
    values = ", ".join(_line(key, value) for key, value in setting.get("values", {}).items())
    return "\n".join(["[[setting]]", *(_line(key, value) for key, value in lines), f"values = {{ {values} }}"]) + "\n"


def _line(key: str, value: Any) -> str:
    return tomli_w.dumps({key: value}).rstrip("\n")


def read_settings(path: Path) -> tuple[str, list[Setting]]:
    """Return a file's leading comment and its settings; both empty if there is no file.

    Raises:
        ValueError: one line, for a file with other content.
    """
    if not path.exists():
        return "", []
    try:
        text = read_file(path, 1 << 24).decode()
        document = tomllib.loads(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"--out {path}: {reason}") from None
    settings = document.pop("setting", [])
    if document or not isinstance(settings, list) or not all(isinstance(entry, dict) for entry in settings):
        raise ValueError(f"--out {path}: is no file of stored settings ([[setting]] tables and nothing else)")
    head = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return "".join(f"{line}\n" for line in head), settings


def store(path: Path, setting: Mapping[str, Any]) -> None:
    """Write a setting to a file. It replaces a setting for the same runs, or comes last.

    A setting that names no method, as in ``curator/tuned``, is that of the file's method: it counts as the same one.

    Raises:
        ValueError: one line, for a file that cannot be used.
    """
    head, settings = read_settings(path)

    def runs(entry: Mapping[str, Any]) -> dict[str, Any]:
        own = {key: value for key, value in entry.items() if key not in _VALUE_KEYS}
        return {"method": setting.get("method"), **own}

    place = next((at for at, entry in enumerate(settings) if runs(entry) == runs(setting)), len(settings))
    settings[place : place + 1] = [dict(setting)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "\n".join([*([head] if head else []), *(as_toml(entry) for entry in settings)]))
    except OSError as error:
        raise ValueError(f"--out {path}: cannot be written ({error.strerror})") from None
