"""Number of features that multi-bit samples, as a parameter of a method."""

from __future__ import annotations

from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.mechanisms.feature_bits import RULES

SAMPLED = (
    (lambda m: m in RULES or m.isascii() and m.isdigit() and int(m) >= 1),
    (f"must be {', '.join(RULES)} or a whole number of at least 1"),
)


def sampled_number(m: str, d: int) -> int | str:
    """Return a rule's name, or the number of sampled features; ValueError for more than there are."""
    if m in RULES:
        return m
    if int(m) > d:
        raise SettingError(f"m={m}", f"of {d} features 1..{d} can be sampled")
    return int(m)
