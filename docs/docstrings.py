"""Docstrings for Sphinx: plain text with indented formulas becomes reStructuredText, and references are checked.

A reference is right if the name exists, in a documented module or in any other.
"""

from __future__ import annotations

import builtins
import re
from functools import cache
from importlib import import_module
from typing import Any

from docs.layers import ROOT
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions

_CODE = re.compile(r"(:[\w:]+:`[^`]*`|``.*?``|`[^`]*`_*|(?<![\w*])\*\w[^*\n]*\w\*(?![\w*]))", re.DOTALL)
_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Attributes|Example|Examples):$")
_ITEM = re.compile(r"\s*([-*]|\d+\.) ")


def _escaped(line: str) -> str:
    """Return a line whose signs outside code marks are plain text."""
    parts = _CODE.split(line)
    parts[::2] = [re.sub(r"([*|])|(?<=\w)(_)(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def _blocks(lines: list[str]) -> list[list[str]]:
    """Return the blocks between empty lines."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [block for block in found if block]


def structured(lines: list[str]) -> list[str]:
    """Return a docstring as reStructuredText: an indented block is kept as it stands.

    >>> structured(["The law:", "", "    p = 1 / (1 + e^eps)", "", "for |x| of a*b."])
    ['The law:', '', '.. code-block:: text', '', '    p = 1 / (1 + e^eps)', '', 'for \\\\|x\\\\| of a\\\\*b.', '']
    """
    out: list[str] = []
    literal = False  # the text before ends with two colons
    before = ""  # first line of the last block that is not indented
    for block in _blocks(lines):
        first = block[0]
        indented = first.startswith("    ")
        if indented and not (literal or before == "section" or before == "item" or ">>>" in first):
            out += [".. code-block:: text", ""]
        if not indented:
            before = "section" if _SECTION.match(first) else "item" if _ITEM.match(first) else "text"
        example = ">>>" in first
        table = first.startswith("===")
        if not (indented and before == "text") and not example and not table:
            block = [_escaped(line) if not line.startswith("- ") else "- " + _escaped(line[2:]) for line in block]
        literal = block[-1].endswith("::") or (literal and indented)
        out += [*block, ""]
    return out


def named(name: str, module: str | None, owner: str | None) -> bool:
    """Return True if a dotted name exists, by itself or seen from a module or a class.

    >>> named("ldpsim.curator.privacy.levels.LEVELS", None, None)
    True
    >>> named("LEVELS", "ldpsim.curator.privacy.levels", None)
    True
    >>> named("ldpsim.curator.privacy.levels.FLOORS", None, None)
    False
    """
    name = name.partition("[")[0]
    if hasattr(builtins, name.split(".")[0]):
        return True
    starts = [name, *(f"{start}.{name}" for start in (owner and f"{module}.{owner}", module) if start)]
    return any(_exists(start) for start in starts) or name in _imported_for_types()


@cache
def _imported_for_types() -> set[str]:
    """Return names that a module may lack when it runs.

    These are classes, functions and types of the four packages, of which some are imported for the type checker alone
    or stand in the module of a base class; and classes of other packages that are imported for the type checker.
    """
    found = set()
    for package in ("devices", "curator", "strategies", "cli"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            found |= set(re.findall(r"^(?:class|def) (\w+)|^([A-Z]\w+) = ", text, re.MULTILINE))
            found |= {(name, "") for name in re.findall(r"^    from [\w.]+ import (\w+)$", text, re.MULTILINE)}
    return {name for pair in found for name in pair if name}


def _exists(path: str) -> bool:
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            fields = getattr(found, "__annotations__", {})
            if not hasattr(found, part) and part not in fields:
                return False
            found = getattr(found, part, None)
        return True
    return False


def setup(app: Any) -> None:
    """Connect to Sphinx, before Google's sections are read."""

    def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
        if obj is RunOptions:
            help = {name: spec.help.replace("`", "``") for name, spec in declared(obj).items()}
            lines += ["Args:", *(f"    {name}: {text}" for name, text in help.items()), ""]
        # The empty comment keeps "int64 (n,): the labels" of a property from being read as a type.
        lines[:] = ["..", "", *structured(lines)] if what == "property" else structured(lines)

    def missing(app: Any, env: Any, node: Any, contnode: Any) -> Any:
        if node.get("refdomain") != "py":
            return None
        return contnode if named(node["reftarget"], node.get("py:module"), node.get("py:class")) else None

    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("missing-reference", missing)
