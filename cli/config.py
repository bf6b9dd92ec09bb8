"""A ``config.toml`` as the options of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make what a config.toml says the defaults of this command (an option's callback).

    Raises:
        ValueError: for a file that cannot be read, or a key that no run has.
    """
    if path is None:
        return None
    import tomllib

    try:
        values = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"--config {path}: {reason}") from None
    context.default_map = as_parameters(values, path)
    return path


def as_parameters(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the values of a config.toml (fields of RunOptions) by the names of ``run``'s parameters."""
    from dataclasses import fields

    from curator.names import nearest
    from strategies import RunOptions

    known = {entry.name for entry in fields(RunOptions)}
    for key in values:
        if key not in known:
            raise ValueError(f"--config {path}: a run has no {key}{nearest(key, known)}")
    found = dict(values)
    for key, given in (("settings", "settings"), ("caps", "cap")):
        if key in found:
            found[given] = [f"{name}={value}" for name, value in dict(found.pop(key)).items()]
    for name, value in dict(found.pop("seeds", {})).items():
        found[f"{name}_seed"] = str(value) if name == "noise" else value
    if "reference" in found:
        found["no_reference"] = not found.pop("reference")
    return found
