"""Command that runs a result again, from the configuration in the result."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from cli.report.rows import number, text
from strategies.setup.option_spec import OptionSpec, declared
from strategies.setup.options import RunOptions, Seeds


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
    return text(value) if found is None else repr(int(found) if isinstance(value, int) else found)
