"""Callables and domains that a person names for an audit: ``mine:function``, ``0:7``, ``a,b,c``.

The current folder comes first in the search for modules, as for ``python -m``.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

FORMS = "0:7, a,b,c, a JSON list, bits:8, floats:0,1,11 or module:function"
MOST_LISTED = 100_000
_BITS = 16
_NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def is_named(text: str) -> bool:
    """Whether a text has the form module:function."""
    return bool(_NAMED.fullmatch(text))


def callable_named(text: str, option: str = "") -> Callable[..., Any]:
    """Return the callable that ``module:function`` names.

    Raises:
        ValueError: for a module that cannot be imported, or no callable of that name in it.
    """
    said = f"{option} {text}".strip()
    if not is_named(text):
        raise ValueError(f"{said}: the form is module:function")
    module, _, path = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"{said}: there is no module {error.name}") from error
    except Exception as error:
        raise ValueError(f"{said}: importing {module} raised {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{said}: {module} has no {path}")
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"{said}: {path} is not callable")
    return found


def domain_of(text: str) -> list[Any]:
    """Return the values of ``--domain``, two or more, each once.

    Raises:
        ValueError: for a text of no known form, one value, or a value twice.

    >>> domain_of("1:3"), domain_of("yes,no"), domain_of("floats:0,1,3")
    ([1, 2, 3], ['yes', 'no'], [0.0, 0.5, 1.0])
    """
    try:
        values = _values(text.strip())
    except (TypeError, ValueError) as error:
        raise ValueError(f"--domain {text}: {error}") from error
    if len(values) < 2:
        raise ValueError(
            f"--domain {text}: {len(values)} value{'' if len(values) == 1 else 's'}; at least two are "
            "needed, because they are compared"
        )
    if len({repr(value) for value in values}) < len(values):
        raise ValueError(f"--domain {text}: a value is given twice")
    return values


def _values(text: str) -> list[Any]:
    if found := re.fullmatch(r"(-?\d+):(-?\d+)", text):
        low, high = map(int, found.groups())
        return list(islice(range(low, high + 1), MOST_LISTED))
    if found := re.fullmatch(r"bits:(\d+)", text):
        size = int(found[1])
        if not 1 <= size <= _BITS:
            raise ValueError(f"1 to {_BITS} bits can be listed; give module:function for others")
        return list(product((0, 1), repeat=size))
    if text.startswith("floats:"):
        parts = text.removeprefix("floats:").split(",")
        if len(parts) != 3:
            raise ValueError("the form is floats:LOW,HIGH,NUMBER")
        start, end, number = float(parts[0]), float(parts[1]), int(parts[2])
        if number > MOST_LISTED or not math.isfinite(end - start):
            raise ValueError(f"at most {MOST_LISTED:,} values between two finite numbers can be listed")
        return [float(value) for value in np.linspace(start, end, number)]
    if text.startswith("["):
        return list(json.loads(text))
    if is_named(text):
        given = callable_named(text)()
        if not isinstance(given, Iterable):
            raise ValueError("the function yields no values")
        return list(islice(given, MOST_LISTED))
    if ":" in text or not text:
        raise ValueError(f"the forms are {FORMS}")
    return _words([word.strip() for word in text.split(",")])


def _words(words: list[str]) -> list[Any]:
    """Return words as numbers where all of them are numbers."""
    for kind in (int, float):
        try:
            return [kind(word) for word in words]
        except ValueError:
            continue
    return words


def takes_rng(function: Callable[..., Any]) -> bool:
    """Whether a callable has a parameter ``rng``."""
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
