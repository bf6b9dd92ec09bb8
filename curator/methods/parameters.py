"""Parameters of a method: their ranges, and those that are read beside some values of others alone, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any

from ldpsim.curator.setting_error import LEAST, MOST, MOST_STEPS, SettingError

ABOVE_0 = object()  # every number above 0, in :func:`parameter`


def parameter(default: Any, *, hashed: str = "always", **beside: Any) -> Any:
    """Declare a parameter of a method that is read beside some values of other parameters alone.

    Args:
        default: Its default.
        hashed: ``unless default`` for a parameter that stored hashes do not have.
        beside: Name of a parameter, or of an option of the run -> its values beside which this one is read,
            :data:`ABOVE_0` for every number above 0.
    """
    return field(default=default, metadata={"hashed": hashed, "beside": beside})


def unused(default: Any) -> Any:
    """Declare a parameter that a base class has and this method does not read."""
    return field(default=default, metadata={"unused": True})


def read_value(key: str, given: Any, kind: str) -> Any:
    """Return the value of a parameter that is given as text; values of other types stay.

    Raises:
        ValueError: for text that is no value of the type.
    """
    if not isinstance(given, str):
        return given
    try:
        if kind == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[given.lower()]
        return {"int": int, "float": float}.get(kind, str)(given)
    except (KeyError, ValueError):
        raise SettingError(f"{key}={given}", f"not a value of type {kind}") from None


def unread_parameters(method: Any, options: Mapping[str, Any]) -> dict[str, str]:
    """Return why nothing reads a parameter of a method, for each that nothing reads beside the others.

    Args:
        method: The method with its parameters.
        options: Options of the run by name.
    """
    found = {}
    for entry in fields(method):
        if entry.metadata.get("unused"):
            found[entry.name] = f"{method.spec.name} does not read it"
        for name, values in entry.metadata.get("beside", {}).items():
            value = getattr(method, name) if hasattr(method, name) and name not in options else options[name]
            if not ((value or 0) > 0 if values is ABOVE_0 else value in values):
                found[entry.name] = f"it is read beside {beside_words((name, values))} alone"
    return found


def beside_words(needed: tuple[str, Any]) -> str:
    """Return in words the values of another parameter, or option, beside which a parameter is read.

    >>> beside_words(("topology", ("and", "or"))), beside_words(("alpha", ABOVE_0))
    ('topology=and or topology=or', 'alpha above 0')
    """
    name, values = needed
    return f"{name} above 0" if values is ABOVE_0 else " or ".join(f"{name}={str(one).lower()}" for one in values)


def check_choices(method: Any, **allowed: Sequence[str]) -> None:
    """Refuse a parameter that is none of its choices (ValueError)."""
    for name, choices in allowed.items():
        value = getattr(method, name)
        if value not in choices:
            raise SettingError(f"{name}={value}", f"must be one of {', '.join(choices)}")


def check_shares(method: Any, *names: str) -> None:
    """Refuse a parameter outside (0, 1), or at its very ends (ValueError)."""
    for name in names:
        value = getattr(method, name)
        if not LEAST <= value <= 1 - LEAST:
            raise SettingError(f"{name}={value}", "must lie between 0 and 1, both excluded")


def check_range(method: Any, *names: str, least: int, most: int = MOST_STEPS) -> None:
    """Refuse a whole number outside ``least`` .. ``most`` (ValueError)."""
    for name in names:
        value = getattr(method, name)
        if not least <= value <= most:
            raise SettingError(f"{name}={value}", f"must be {least}..{most}")


def check_numbers(method: Any, *names: str, positive: bool = False) -> None:
    """Refuse a number below 0, with ``positive`` also 0, or one that is too small or too large (ValueError)."""
    for name in names:
        value = getattr(method, name)
        if not (LEAST <= value <= MOST or (value == 0 and not positive)):
            raise SettingError(f"{name}={value:g}", f"must be {'' if positive else '0, or '}{LEAST:g} to {MOST:g}")
