"""Options of a run that the configuration of the Flower app gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpsim.strategies.setup.option_spec import OptionSpec, declared
from ldpsim.strategies.setup.options import RunOptions


def options_given(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run that a configuration gives; empty text and 0 mean not given.

    Raises:
        ValueError: for settings of another form than ``KEY=VALUE,KEY=VALUE``.
    """
    flower = [spec for spec in declared(RunOptions).values() if spec.flower]
    return {spec.name: _read(spec, config[spec.key]) for spec in flower if config.get(spec.key)}


def as_config(options: RunOptions, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return these options of a run in the form of a configuration.

    >>> as_config(RunOptions(epsilon=4.0, settings={"tau": "0.7", "l": "1"}), {"epsilon": 4.0, "settings": {}})
    {'epsilon': 4.0, 'settings': 'tau=0.7,l=1'}
    """
    found = {}
    for name in names:
        spec, value = declared(RunOptions)[name], getattr(options, name)
        if spec.is_table:
            value = ",".join(f"{key}={entry}" for key, entry in value.items())
        found[spec.key] = str(value) if len(spec.types) > 1 else value
    return found


def _read(spec: OptionSpec, given: Any) -> Any:
    if spec.is_table:
        pairs = [text.partition("=") for text in str(given).split(",")]
        for key, equals, value in pairs:
            if not (key.strip() and equals and value.strip()):
                raise ValueError(f"{spec.key} {given}: must be KEY=VALUE, with commas between several")
        return {key.strip(): value.strip() for key, _, value in pairs}
    return spec.read(str(given)) if len(spec.types) > 1 else spec.types[0](given)
