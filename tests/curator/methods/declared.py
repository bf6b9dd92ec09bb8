"""Everything that a method's class declares: parameters, defaults and when they are read, options, grids, flags.

python -m tests.curator.methods.declared     write declared.json again, after a change that is meant
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from ldpsim.curator import methods
from ldpsim.curator.methods import Method
from ldpsim.curator.methods.parameters import ABOVE_0

PATH = Path(__file__).with_name("declared.json")


def declared(method: type[Method]) -> dict[str, Any]:
    """Return a class's plain values, its bases' included, as JSON holds them."""
    found: dict[str, Any] = {}
    for kind in reversed(method.__mro__):
        if kind.__module__.startswith("curator."):
            own = vars(kind).items()
            found |= {name: value for name, value in own if name[0] != "_" and name != "paper" and _plain(value)}
    for entry in fields(method):  # type: ignore[arg-type]
        if entry.default_factory is not MISSING:
            found[entry.name] = entry.default_factory()
    found["options"] = sorted(method.options)
    found["read"] = {entry.name: dict(entry.metadata) for entry in fields(method) if entry.metadata}  # type: ignore[arg-type]
    return json.loads(json.dumps(found, sort_keys=True, default=lambda value: "above 0" if value is ABOVE_0 else None))


def _plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def today() -> dict[str, dict[str, Any]]:
    """Return what every built-in method declares."""
    return {name: declared(methods.find(name)) for name in methods.BUILT_IN}


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(said)}" for name, said in sorted(today().items())]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
