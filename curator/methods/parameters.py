"""Parameters of a method that are read beside some values of others alone, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

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


def unread_parameters(method: Any, options: Mapping[str, Any]) -> dict[str, str]:
    """Return why nothing reads a parameter of a method, for each that nothing reads beside the others.

    Args:
        method: The method with its parameters.
        options: Options of the run by name.
    """
    found = {}
    for entry in fields(method):
        if entry.metadata.get("unused"):
            found[entry.name] = f"{method.name} does not read it"
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
