"""Parameters of a method: their ranges, and those that are read beside some values of others alone, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any

from ldpsim.curator.names import paper_name
from ldpsim.curator.setting_error import LEAST, MOST, MOST_STEPS, SettingError

UNREAD = "does not read it"  # after the name of a method: why it refuses a parameter or an option
ABOVE_0 = object()  # every number above 0, in :func:`parameter`
Range = tuple[Callable[[Any], bool], str]  # whether a value is in it, and what a value must be


def one_of(*choices: str) -> Range:
    """Return the range of these words."""
    return lambda value: value in choices, f"must be one of {', '.join(choices)}"


def whole(least: int, most: int = MOST_STEPS) -> Range:
    """Return the range of whole numbers from ``least`` to ``most``."""
    return lambda value: least <= value <= most, f"must be {least}..{most}"


def between(low: float, high: float) -> Range:
    """Return the range of numbers from ``low`` to below ``high``."""
    return lambda value: low <= value < high, f"must be {low:g} or more and below {high:g}"


SHARE: Range = (lambda value: LEAST <= value <= 1 - LEAST), "must lie between 0 and 1, both excluded"
POSITIVE: Range = (lambda value: LEAST <= value <= MOST), f"must be {LEAST:g} to {MOST:g}"
NUMBER: Range = (lambda value: value == 0 or LEAST <= value <= MOST), f"must be 0, or {LEAST:g} to {MOST:g}"
FRACTION: Range = (lambda value: 0 < value <= 1), "must be above 0 and at most 1"


def parameter(default: Any, values: Range | None = None, /, *, hashed: str = "always", **beside: Any) -> Any:
    """Declare a parameter of a method: the values that it may have, and the values of others beside which it is read.

    Args:
        default: Its default.
        values: Its range; None: any value of the type.
        hashed: ``unless default`` for a new parameter: stored hashes do not have it.
        beside: Name of a parameter, or of an option of the run -> its values beside which this one is read,
            :data:`ABOVE_0` for every number above 0.
    """
    return field(default=default, metadata={"values": values, "hashed": hashed, "beside": beside})


def check_values(method: Any) -> None:
    """Refuse a parameter outside its range (ValueError)."""
    for entry in fields(method):
        allowed, value = entry.metadata.get("values"), getattr(method, entry.name)
        if allowed is not None and not allowed[0](value):
            text = f"{value:g}" if isinstance(value, float) else value
            raise SettingError(f"{paper_name(entry.name)}={text}", allowed[1])


def unused(default: Any, /, *, hashed: str = "always") -> Any:
    """Declare a parameter that a base class has and this method does not read; ``hashed`` as in :func:`parameter`."""
    return field(default=default, metadata={"unused": True, "hashed": hashed})


def read_value(key: str, value: Any, kind: str) -> Any:
    """Return the value of a parameter that is given as text; values of other types stay.

    Raises:
        ValueError: for text that is no value of the type.
    """
    if not isinstance(value, str):
        return value
    try:
        if kind == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        return {"int": int, "float": float}.get(kind, str)(value)
    except (KeyError, ValueError):
        raise SettingError(f"{key}={value}", f"not a value of type {kind}") from None


def unread_parameters(method: Any, options: Mapping[str, Any]) -> dict[str, str]:
    """Return why nothing reads a parameter of a method, for each that nothing reads beside the others.

    Args:
        method: The method with its parameters.
        options: Options of the run by name. A parameter of the method comes before an option of its name: ``features``
            of RGNN, and ``--number-of-features``.
    """
    reasons, own = {}, {entry.name for entry in fields(method)}
    for entry in fields(method):
        if entry.metadata.get("unused"):
            reasons[entry.name] = f"{method.spec.name} {UNREAD}"
        for name, values in entry.metadata.get("beside", {}).items():
            value = getattr(method, name) if name in own else options[name]
            if not ((value or 0) > 0 if values is ABOVE_0 else value in values):
                reasons[entry.name] = f"it is read beside {beside_words((name, values))} alone"
    return reasons


def beside_words(needed: tuple[str, Any]) -> str:
    """Return in words the values of another parameter, or option, beside which a parameter is read.

    >>> beside_words(("topology", ("and", "or"))), beside_words(("alpha", ABOVE_0))
    ('topology=and or topology=or', 'alpha above 0')
    """
    name, values = needed
    return f"{name} above 0" if values is ABOVE_0 else " or ".join(f"{name}={str(one).lower()}" for one in values)
