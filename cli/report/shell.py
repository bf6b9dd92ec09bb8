"""The command that runs a result again, from the configuration that the result carries."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cli.report.rows import number, text
from strategies.setup.options import RunOptions

# Where a run happens and what is kept of it is the reader's own business.
_NOT_SAID = ("data_dir", "engine", "workers", "ray_address", "state", "out", "save_reports", "from_reports",
             "settings", "seeds", "caps", "reference", "device")  # fmt: skip
_ON = {"public_features": "--public-features", "private_labels": "--private-labels", "tuned": "--tuned"}
_DEFAULTS = {entry.name: entry.default for entry in fields(RunOptions)}


def command_of(record: Mapping[str, Any]) -> str:
    """Return ``ldpsim run ...``, quoted for a shell; options that have their default are left out."""
    config = record.get("config")
    given: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
    words = ["ldpsim", "run", "--method", text(record.get("method", "")), "--dataset", _dataset(given, record)]
    for name, default in _DEFAULTS.items():
        value = given.get(name)
        if name in _NOT_SAID or name in ("method", "dataset") or value is None or value == default:
            continue
        if name in _ON:
            words += [_ON[name]] if value is True else []
        else:
            words += [f"--{name.replace('_', '-')}", _word(value)]
    for option, table in (("--set", "settings"), ("--cap", "caps")):
        for key, value in _pairs(given.get(table)):
            words += [option, f"{text(key)}={_word(value)}"]
    for name, value in _pairs(given.get("seeds")):
        if name in ("population", "split", "noise", "training"):
            words += [f"--{name}-seed", "os" if name == "noise" and value is None else _word(value)]
    return " ".join(shlex.quote(word) for word in words)


def _pairs(found: Any) -> list[tuple[Any, Any]]:
    return list(found.items()) if isinstance(found, Mapping) else []


def _dataset(config: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    named = config.get("dataset")
    if isinstance(named, str) and named:
        return text(named)
    dataset = record.get("dataset")
    return text(dataset.get("name", "") if isinstance(dataset, Mapping) else "")


def _word(value: Any) -> str:
    found = number(value)
    return text(value) if found is None else repr(int(found) if isinstance(value, int) else found)
