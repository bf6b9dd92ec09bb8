"""A ``config.toml`` as the options of a run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import typer
from click.core import ParameterSource

from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions, Seeds


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a config.toml the defaults of this command (an option's callback).

    Raises:
        ValueError: for a file that cannot be read, or a key that no run has.
    """
    from ldpsim.devices.atomic_files import read_file

    if path is None:
        return None
    import tomllib

    try:
        values = tomllib.loads(read_file(path, 1 << 24).decode())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"--config {path}: {reason}") from None
    context.default_map = as_parameters(values, path)
    beside = path.parent / str(values.get("dataset", ""))  # its own path, if it is absolute
    if beside.suffix and beside.is_file():
        context.default_map["dataset"] = str(beside)
    return path


def check_places(context: click.Context | None) -> None:
    """Refuse a path, an address or a class that a config.toml alone names: it may come from somebody else.

    Raises:
        ValueError: one line that names the option.
    """
    for name, spec in declared(RunOptions).items():
        if context is None or context.get_parameter_source(name) is not ParameterSource.DEFAULT_MAP:
            continue
        value = str(context.params[name])
        what = "a place on the machine" if spec.is_path else "code" if name == "gnn" and ":" in value else ""
        if what and value != str(spec.default):
            raise ValueError(
                f"--config {context.params['config']}: {name} is {what} of whoever wrote the file; "
                f"give it yourself: {spec.option} {shlex.quote(value)}"
            )


def as_parameters(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the values of a config.toml (fields of RunOptions) by the names of ``run``'s parameters."""
    from ldpsim.curator.names import nearest

    specs = declared(RunOptions)
    parameters: dict[str, Any] = {}
    for name, value in values.items():
        if name not in specs:
            raise ValueError(f"--config {path}: a run has no {name}{nearest(name, specs)}")
        spec = specs[name]
        try:
            spec.value({**value, "noise": None} if name == "seeds" and _draws_from_os(value) else value)
        except ValueError as error:
            raise ValueError(f"--config {path}: {error}") from None
        if name == "seeds":
            if unknown := [seed for seed in value if seed not in declared(Seeds)]:
                raise ValueError(f"--config {path}: seeds has no {unknown[0]} (there are {', '.join(declared(Seeds))})")
            parameters |= {f"{seed}_seed": str(number) if seed == "noise" else number for seed, number in value.items()}
        elif spec.is_table:
            parameters[name] = [f"{key}={entry}" for key, entry in value.items()]
        elif spec.several:
            parameters[name] = [value]
        elif spec.option.startswith("--no-"):
            parameters[f"no_{name}"] = not value
        else:
            parameters[name] = value
    return parameters


def _draws_from_os(seeds: Any) -> bool:
    return isinstance(seeds, Mapping) and seeds.get("noise") == "os"
