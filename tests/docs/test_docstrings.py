"""Docstrings as Sphinx reads them: formulas stay as they stand, and a wrong reference is seen."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from docs.docstrings import _exists, structured
from docs.layers import ROOT, modules
from ldpsim.curator.methods.local import blink, hogs


@pytest.mark.parametrize("module", [hogs, blink], ids=lambda module: module.__name__)
def test_a_formula_is_not_changed(module: object) -> None:
    """Each indented line of the docstring stands in a block of its own, letter by letter."""
    lines = inspect.cleandoc(module.__doc__ or "").splitlines()
    made = structured(lines)
    formulas = [line for line in lines if line.startswith("    ")]
    assert formulas and set(formulas) <= set(made)
    before = [made[number - 2] for number, line in enumerate(made) if line == formulas[0]]
    assert before == [".. code-block:: text"]


_REFERENCE = re.compile(r":(?:mod|class|func|meth|attr|data|exc):`~?([^`]+)`")
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def documented(node: _Documented, owner: str = "") -> Iterator[tuple[str, str]]:
    """Yield each docstring of a module, with the dotted name in the module; that of the module itself is empty."""
    yield owner, ast.get_docstring(node) or ""
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from documented(child, f"{owner}.{child.name}".lstrip("."))


def wrong_references(name: str, text: str) -> list[str]:
    """Return the references of a module's docstrings that name nothing, or what they stand in themselves."""
    package, module, wrong = name.rpartition(".")[0], name.removesuffix(".__init__"), []
    for owner, docstring in documented(ast.parse(text)):
        around = [module, *([f"{module}.{owner.partition('.')[0]}"] if owner else [])]
        for target in _REFERENCE.findall(docstring):
            starts = [f"{package}{target}"] if target.startswith(".") else [target]
            starts += [f"{start}.{target}" for start in around if not target.startswith(".")]
            if target in (owner, module, f"{module}.{owner}") or not any(map(_exists, starts)):
                wrong.append(f"{module} {owner}: {target}")
    return wrong


@pytest.mark.parametrize("package", ["devices", "curator", "strategies", "cli"])
def test_every_reference_of_a_docstring_leads_somewhere_else(package: str) -> None:
    """Pages show a part of the modules, so Sphinx reads a part of the references."""
    assert [wrong for name, path in modules(ROOT, package).items()
            for wrong in wrong_references(name, path.read_text())] == []  # fmt: skip


def test_stale_references_and_references_to_oneself_are_seen() -> None:
    text = '"""About :mod:`ldpsim.curator.shown`."""\ndef f():\n    """:func:`f`, :func:`gone`, :mod:`.names`."""\n'
    found = wrong_references("ldpsim.curator.shown", text)
    assert found == [
        "ldpsim.curator.shown : ldpsim.curator.shown", "ldpsim.curator.shown f: f", "ldpsim.curator.shown f: gone"
    ]  # fmt: skip
