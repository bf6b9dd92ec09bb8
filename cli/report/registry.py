"""Draft records for OpenDP's Deployments Registry, one for each unit of privacy with a bounded loss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldpsim.curator.privacy.levels import LEVELS, compared_levels, level_term

UNITS = ("relationship", "user", "node", "central_node")
PARTS = ("vector", "label")  # units in place of a person, where a person as a whole is not protected


def file_of(unit: str) -> str:
    """Return the name of the file with the record of a unit.

    >>> file_of("central_node")
    'registry-central-node.yaml'
    """
    return f"registry-{unit.replace('_', '-')}.yaml"


def registry_texts(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the draft of each unit of a finished run, by file name; empty if no unit has a bounded loss.

    A person as others report it is a unit of its own where its loss is another one. Where a person as a whole is not
    bounded, all features and the label are units in its place.

    Args:
        record: Content of its result.json, which may be somebody else's.

    Raises:
        ValueError: one line, for losses that are no result's, or a part that is not there.
    """
    from ldpsim.cli.report import documents
    from ldpsim.curator.methods import find
    from ldpsim.curator.privacy.level import LABEL, NOT_COUNTED
    from ldpsim.strategies.estimate.asked import mechanisms_of_run
    from ldpsim.strategies.results.in_words import privacy_in_words
    from ldpsim.strategies.results.levels_of_results import held
    from ldpsim.strategies.setup.fingerprint import ldpsim_version

    try:
        entries = {level: held(record["privacy"]["holds"], level) for level in compared_levels()}
        left_out = dict.fromkeys(name for entry in entries.values() for name in entry["not_counted"])
        if entries["label"]["status"] == "unprotected":
            left_out.pop(LABEL, None)  # it has a line of its own
        fields = {
            "record": record,
            "entries": entries,
            "method": find(record["method"]).spec,
            "mechanisms": mechanisms_of_run(record),
            "in_words": privacy_in_words(record),
            "left_out": [NOT_COUNTED[name] for name in left_out if name in NOT_COUNTED],
            "levels": LEVELS,
            "units": (*UNITS, *PARTS),
            "term": level_term,
            "number": _number,
            "version": ldpsim_version(),
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no registry record: the result lacks a part of a run ({error})") from None
    return {file_of(unit): documents.yaml("registry.yaml", unit=unit, **fields) for unit in _units(entries)}


def _number(value: float) -> str:
    """Return a number as YAML 1.1 reads it, with a point also before an exponent.

    >>> _number(8), _number(1e-05), _number(1.5e-07)
    ('8.0', '1.0e-05', '1.5e-07')
    """
    digits, exponent, power = repr(float(value)).partition("e")
    return (digits if "." in digits else f"{digits}.0") + exponent + power


def write_registry(texts: Mapping[str, str], folder: Path) -> None:
    """Write drafts, and remove those of other units, which an earlier result of this folder left."""
    from ldpsim.devices.atomic_files import write_atomically

    for unit in (*UNITS, *PARTS):
        (folder / file_of(unit)).unlink(missing_ok=True)
    for name, text in texts.items():
        write_atomically(folder / name, text)


def _units(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    bounded = {level: entries[level] for level in (*UNITS, *PARTS) if entries[level]["status"] == "bounded"}
    if {"user", "node"} <= set(bounded) and all(
        bounded["user"][part] == bounded["node"][part] for part in ("value", "delta")
    ):
        del bounded["node"]
    whole = {"user", "central_node"} & set(bounded)
    return [level for level in bounded if not (whole and level in PARTS)]
