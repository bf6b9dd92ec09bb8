"""Final figures of a result as plain numbers, by dotted name (``accuracy.test``, ``privacy.holds.node``)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ldpsim.strategies.results.verdict import shown_nulls_of

_WHOLE = ("devices", "seconds", "memory", "reconstruction", "reference")  # sections whose numbers are all figures
_TRAFFIC = ("rounds", "messages", "downlink_bytes", "uplink_bytes", "downlink_bytes_per_device",
            "uplink_bytes_per_device")  # fmt: skip


def figures(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield name and value of every final figure; what was not measured, or is not bounded, is left out.

    Args:
        record: result.json's content.

    >>> dict(figures({"accuracy": {"test": 0.5, "val": None}, "nulls": {"chance": {"test": 0.25}}}))
    {'accuracy.test': 0.5, 'nulls.chance': 0.25}
    """
    yield from _numbers("accuracy", record.get("accuracy"))
    for name, entry in shown_nulls_of(record).items():
        yield f"nulls.{name}", float(entry["test"])
    margin = (record.get("verdict") or {}).get("margin")
    if margin:
        yield "verdict.margin", float(margin["value"])
    privacy = record.get("privacy") or {}
    for level, entry in privacy.get("holds", {}).items():
        yield from _numbers(f"privacy.holds.{level}", entry, ("value", "delta") if entry.get("delta") else ("value",))
    yield from _numbers("privacy.claimed", privacy.get("claimed"), ("value",))
    yield from _numbers("communication", record.get("communication"), _TRAFFIC)
    for section in _WHOLE:
        yield from _numbers(section, record.get(section))


def _numbers(name: str, section: Mapping[str, Any] | None, wanted: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """Yield the finite numbers of a section; ``value`` has the name of the section itself."""
    for key, value in (section or {}).items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if number and (not wanted or key in wanted):
            yield name if key == "value" else f"{name}.{key}", float(value)
