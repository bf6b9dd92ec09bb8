"""Keys of result.json: programs read them, so none leaves or comes without a change of ``result_keys.txt``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ldpsim.strategies import RunOptions, simulate

LISTED = Path(__file__).with_name("result_keys.txt")
# Kinds of run that have different parts, each with all that it can have.
RUNS: dict[str, dict[str, Any]] = {
    "one report": {"method": "hogs", "defence": "degree", "private_labels": True, "eps_labels": 1.0},
    "a vote": {"method": "vote", "volunteers": 0.3},
    "an owner": {"method": "privgnn", "clients": 200, "settings": {"epochs": "2", "queries": "10", "K": "5"}},
    "an owner of the graph": {"method": "gap"},
    "in rounds": {"method": "dp-fedavg", "settings": {"rounds": "2"}},
    "silos": {"method": "silo-fedgcn", "settings": {"rounds": "2", "silos": "3"}},
}
# Parts whose keys are data: names of methods' parameters, of groups, levels, refusals and phases.
OPEN = {"config.parameters", "config.provenance", "config.caps", "config.seeds", "config.budget", "config.settings",
        "devices.refused_by_code", "communication.by_phase", "privacy.holds", "privacy.lifetime_per_device", "seconds",
        "nulls", "verdict.bought", "verdict.over", "groups", "reconstruction"}  # fmt: skip


def keys_of(value: Any, name: str = "") -> Iterator[str]:
    """Yield the dotted names of all values."""
    if isinstance(value, Mapping) and value and name not in OPEN:
        for key, entry in value.items():
            yield from keys_of(entry, f"{name}.{key}" if name else key)
    else:
        yield name


def test_the_keys_are_those_that_are_listed() -> None:
    found: dict[str, set[str]] = {}
    for kind, given in RUNS.items():
        settings = given.get("settings", {"epochs": "2"} if given["method"] != "vote" else {})
        record = simulate(RunOptions(**{"clients": 60, "out": None, **given, "settings": settings})).record
        for key in keys_of(record):
            found.setdefault(key, set()).add(kind)
    lines = [f"{key}: {'all' if len(kinds) == len(RUNS) else ', '.join(kind for kind in RUNS if kind in kinds)}"
             for key, kinds in sorted(found.items())]  # fmt: skip
    assert lines == LISTED.read_text().splitlines(), "\n".join(lines)
