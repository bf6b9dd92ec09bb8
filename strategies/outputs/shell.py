"""Shell commands to go on with: run a result again, and compare its method with others."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ldpsim.curator.methods import find
from ldpsim.curator.names import paper_name
from ldpsim.curator.privacy.levels import level_term
from ldpsim.curator.shown import shown_loss
from ldpsim.strategies.foreign_text import number, text
from ldpsim.strategies.results.levels_of_results import compared_loss
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
    "friends": "vote mlp raw",
}  # methods to compare a run with, by its method's ``trained_by``
_PLACES = ("data_dir", "out")  # folders without which a command of the same reader would do something else


def command_of(record: Mapping[str, Any]) -> str:
    """Return ``ldpsim run ...``, quoted for a shell; options that have their default are left out."""
    config = record.get("config")
    options: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
    dataset, data = options.get("dataset"), record.get("dataset")
    if not isinstance(dataset, str):
        dataset = data.get("name", "") if isinstance(data, Mapping) else ""
    words = ["ldpsim", "run", "--method", text(record.get("method", "")), "--dataset", text(dataset)]
    return _quoted(words, options, lambda spec: not spec.local and spec.name not in ("method", "dataset"))


def comparison_of(options: RunOptions, record: Mapping[str, Any] | None = None) -> str:
    """Return ``ldpsim compare METHOD...`` on the same people, quoted for a shell; the run's own method comes first.

    It has the options of the run that are not at their default. Options about the reader's own devices are
    left out, since a comparison enrols its own. The folder of the data is left out where the environment names it.
    ``--tuned`` is left out, since few methods have stored settings. Where the run protects a friendship, or else a
    person, the comparison makes that loss equal for all methods.

    Args:
        options: Of the run.
        record: Its result; None to make no loss equal.
    """
    others = _COMPARED[find(options.method).spec.trained_by].split()
    methods = list(dict.fromkeys([options.method, *others]))
    match = None if record is None else _match_of(options, record["privacy"]["holds"])
    return comparison(methods, options if match is None else replace(options, epsilon=None), match)


def _match_of(options: RunOptions, holds: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the level, and its loss, at which a comparison with a run compares like with like; None without one."""
    parts = options.eps_adjacency, options.eps_features, options.eps_labels
    if any(part is not None for part in parts):
        return None  # they set the budget in the place of --epsilon, for which a comparison would solve
    bounded = [level for level in ("relationship", "user") if holds[level]["status"] == "bounded"]
    return (bounded[0], float(shown_loss(compared_loss(holds[bounded[0]])).replace(",", ""))) if bounded else None


def comparison(methods: Sequence[str], options: RunOptions, match: tuple[str, float] | None = None) -> str:
    """Return ``ldpsim compare METHOD...``, quoted for a shell, with the options as :func:`comparison_of` has them.

    Args:
        methods: The methods.
        options: The options; that of the method is not read.
        match: Level, and the loss that shall hold there.
    """
    config = configuration(options)

    def wanted(spec: OptionSpec) -> bool:
        elsewhere = spec.name in ("method", "tuned") or str(config[spec.name]) == os.environ.get(spec.envvar or "")
        return not elsewhere and spec.panel != DEVICES and (not spec.local or spec.name in _PLACES)

    matching = [] if match is None else ["--match", _level_word(match[0]), _word(match[1])]
    return _quoted(["ldpsim", "compare", *methods, *matching], config, wanted)


def _level_word(level: str) -> str:
    """Return the name of a level on the command line: the word that people read, if it is one."""
    word = level_term(level).removeprefix("a ")
    return level if " " in word else word


def _quoted(words: list[str], config: Mapping[str, Any], wanted: Callable[[OptionSpec], bool]) -> str:
    """Return a command with the wanted options that are not at their default."""
    for name, spec in declared(RunOptions).items():
        value = config.get(name)
        if value is not None and value != spec.default and wanted(spec):
            words = [*words, *_option(spec, value)]
    return shlex.join(words)


def _option(spec: OptionSpec, value: Any) -> list[str]:
    """Return an option and its value as words of a command."""
    if spec.is_table:
        entries = list(value.items()) if isinstance(value, Mapping) else []
        if spec.name == "seeds":
            seeds = [(name, "os" if seed is None else _word(seed)) for name, seed in entries if name in declared(Seeds)]
            return [word for name, seed in seeds for word in (f"--{name}-seed", seed)]
        return [word for key, entry in entries for word in (spec.option, f"{paper_name(text(key))}={_word(entry)}")]
    if spec.kind is bool:
        return [spec.option] if value is True else []
    return [spec.option, _word(value)]


def _word(value: Any) -> str:
    figure = number(value)
    return text(value) if figure is None else repr(int(figure) if float(figure).is_integer() else figure)
