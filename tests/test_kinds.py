"""Nobody asks a method or a strategy for its class. Read from the source, without imports.

A method says what it does. So one of another package works where that allows it. A mechanism has a small interface; who
reads what one kind of report alone has asks for that kind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("ldpsim.devices", "ldpsim.curator", "ldpsim.strategies", "ldpsim.cli", "benchmarks")
METHOD = "ldpsim.curator.methods.base.Method"
STRATEGY = "flwr.serverapp.strategy.Strategy"
# Base classes below which the strategies ask for no class. A test for the base class itself is allowed: what another
# package made may be no method at all.
WALLS = (METHOD, STRATEGY)
_READ = (ast.ClassDef, ast.Assign, ast.Import, ast.ImportFrom, ast.Call, ast.MatchClass, ast.Compare)


class Classes:
    """The names of the modules: what each imports, and the bases of each class, as dotted names."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.nodes = {module: [node for node in ast.walk(ast.parse(text)) if isinstance(node, _READ)]
                      for module, text in sources.items()}  # fmt: skip
        self.names = {module: dict(_names(nodes, module)) for module, nodes in self.nodes.items()}
        own = {f"{module}.{name}": node for module, nodes in self.nodes.items() for name, node in _made(nodes)}
        # Class by its name alone, for packages that import a class on first use.
        self._by_last = {name.rpartition(".")[2]: name for name, node in own.items() if isinstance(node, ast.ClassDef)}
        self._own = own.keys()
        self.bases = {
            name: [self.resolved(base, name.rpartition(".")[0]) for base in _bases(node)] for name, node in own.items()
        }

    def resolved(self, node: ast.expr, module: str) -> str:
        """Return the dotted name of a class where it is defined, as far as the imports tell it."""
        if isinstance(node, ast.Subscript):
            return self.resolved(node.value, module)
        first, _, rest = ast.unparse(node).partition(".")
        name = self.names[module].get(first, first) + (f".{rest}" if rest else "")
        for _ in range(9):  # names that a module imports from another one
            home, _, last = name.rpartition(".")
            onward = self.names.get(home, {}).get(last)
            if onward is None or onward == name:
                break
            name = onward
        return name if name in self._own else self._by_last.get(name.rpartition(".")[2], name)

    def descends(self, name: str, root: str, seen: frozenset[str] = frozenset()) -> bool:
        """Return whether a name is a class below this one, or stands for such a class."""
        return name not in seen and any(
            base == root or self.descends(base, root, seen | {name}) for base in self.bases.get(name, [])
        )


def _made(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.ClassDef | ast.Assign]]:
    """Yield the classes of a module, and its names for classes or for tuples of them."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple | ast.BinOp | ast.Name | ast.Attribute):
            yield from ((target.id, node) for target in node.targets if isinstance(target, ast.Name))


def _bases(node: ast.ClassDef | ast.Assign) -> list[ast.expr]:
    return node.bases if isinstance(node, ast.ClassDef) else list(_members(node.value))


def _names(nodes: Sequence[ast.AST], module: str) -> Iterator[tuple[str, str]]:
    yield from ((name, f"{module}.{name}") for name, _ in _made(nodes))
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                yield alias.asname or top, alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _members(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple):
        for element in node.elts:
            yield from _members(element)
    elif isinstance(node, ast.BinOp):
        yield from _members(node.left)
        yield from _members(node.right)
    else:
        yield node


def _calls(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _asked(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.expr, int]]:
    """Yield (class, line) of every test of a class: isinstance, issubclass, ``type(x) is``, ``case``."""
    for node in nodes:
        if isinstance(node, ast.Call) and _calls(node, "isinstance", "issubclass"):
            yield from ((cls, node.lineno) for cls in _members(node.args[1]))
        elif isinstance(node, ast.MatchClass):
            yield node.cls, node.lineno
        elif isinstance(node, ast.Compare) and _calls(node.left, "type"):
            yield from ((cls, node.lineno) for right in node.comparators for cls in _members(right))


@cache
def _product() -> Classes:
    roots = {package: ROOT / package.removeprefix("ldpsim.") for package in PACKAGES}
    paths = [(package, path) for package, root in roots.items() for path in sorted(root.rglob("*.py"))]
    modules = [".".join((package, *path.relative_to(roots[package]).with_suffix("").parts)).removesuffix(".__init__")
               for package, path in paths]  # fmt: skip
    return Classes(
        {module: path.read_text() for module, path in zip(modules, (path for _, path in paths), strict=True)}
    )


def _places(classes: Classes, root: str) -> list[str]:
    return [
        f"{module}:{line} asks for {ast.unparse(kind)}"
        for module, nodes in classes.nodes.items()
        if module.startswith("ldpsim.strategies.")
        for kind, line in _asked(nodes)
        if classes.descends(classes.resolved(kind, module), root)
    ]


@pytest.mark.parametrize("root", WALLS)
def test_nobody_asks_for_a_class(root: str) -> None:
    product = _product()
    assert any(product.descends(name, root) for name in product.bases)  # the base class is still found under this name
    places = _places(product, root)
    assert not places, "\n".join([f"{len(places)} tests of a class:", *places])


def test_each_kind_of_violation_is_seen() -> None:
    """Power: a class below the base, under another name, from a package that imports it late, or in a tuple."""
    bits = "from ldpsim.curator.methods.base import Method as M\nclass Bits(M): pass\nclass Few(Bits): pass\n"
    reader = """
from ldpsim.curator.methods import bits, Few
from ldpsim.curator.methods.base import Method
KINDS = (bits.Bits, int)
def f(m):
    isinstance(m, bits.Bits)
    issubclass(m, (int, Few))
    isinstance(m, int | Few)
    isinstance(m, KINDS)
    type(m) is Few
    match m:
        case Few(): pass
    isinstance(m, (Method, int))
"""
    base = "class Method: pass\n"
    made = Classes(
        {
            "ldpsim.curator.methods.base": base,
            "ldpsim.curator.methods.bits": bits,
            "ldpsim.strategies.reader": reader,
        }
    )
    found = [place.split(":")[1] for place in _places(made, METHOD)]
    assert sorted(found) == sorted([
        "6 asks for bits.Bits", "7 asks for Few", "8 asks for Few", "9 asks for KINDS", "10 asks for Few",
        "12 asks for Few",
    ])  # fmt: skip
