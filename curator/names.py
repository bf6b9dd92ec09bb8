"""Names that people type: the nearest known one and its refusal, and what ``module:name`` stands for."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from keyword import iskeyword
from operator import attrgetter
from pathlib import Path
from typing import Any

from ldpsim.devices.foreign.packages import imported

NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean a or b?`` for a name that is close to known ones, else an empty text."""
    close = get_close_matches(name.lower(), list(names), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def check_known(option: str, name: str, names: Collection[str]) -> None:
    """Raise ValueError with the known names, unless a name of an option is one of them."""
    if name not in names:
        raise ValueError(f"--{option} {name}: must be one of {', '.join(names)}{nearest(name, names)}")


def paper_name(field: str) -> str:
    """Return a parameter's name as its paper and the command line have it; a prefix with a dot stays.

    >>> paper_name("lambda_"), paper_name("settings.lambda_"), paper_name("lambda_1")
    ('lambda', 'settings.lambda', 'lambda_1')
    """
    return field.removesuffix("_") if iskeyword(field.rpartition(".")[2].removesuffix("_")) else field


def by_field(values: Mapping[str, Any], option: str = "") -> dict[str, Any]:
    """Return the values of parameters by the names of fields: a word of Python, as lambda, has ``_`` behind it there.

    Args:
        values: By name, as the paper or as Python has it; a prefix with a dot stays.
        option: The option that gave them, for the error.

    Raises:
        ValueError: one line, where a parameter has both names.

    >>> by_field({"settings.lambda": 0.4, "tau": 1})
    {'settings.lambda_': 0.4, 'tau': 1}
    """
    fields: dict[str, Any] = {}
    for name, value in values.items():
        field = f"{name}_" if iskeyword(name.rpartition(".")[2]) else name
        if field in fields:
            raise ValueError(f"{option} {paper_name(name)}={value}: it has a value already".strip())
        fields[field] = value
    return fields


def callable_named(text: str, option: str = "") -> Callable[..., Any]:
    """Return the callable that ``module:function`` names; the current folder comes first, as for ``python -m``.

    Raises:
        ValueError: for a module that cannot be imported, or no callable of that name in it, and where no code of other
            packages is imported (:mod:`ldpsim.devices.foreign.packages`).
    """
    prefix = f"{option} {text}".strip()
    if not NAMED.fullmatch(text):
        raise ValueError(f"{prefix}: the form is module:function")
    return imported(text, lambda: _callable(text, prefix))


def _callable(text: str, prefix: str) -> Callable[..., Any]:
    module, _, path = text.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        target: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"{prefix}: there is no module {error.name}") from error
    except Exception as error:
        raise ValueError(f"{prefix}: importing {module} raised {type(error).__name__}: {error}") from error
    try:
        target = attrgetter(path)(target)
    except AttributeError as error:
        raise ValueError(f"{prefix}: {module} has no {path}") from error
    if not callable(target):
        raise ValueError(f"{prefix}: {path} is not callable")
    return target
