"""Mutants of a module: each is the module's text with one small change."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.mutants.operators import OPERATORS, PARTS, Text

# Their arguments are texts for people, or types.
SAID = frozenset({"print", "warn", "debug", "info", "warning", "error", "exception", "cast", "TypeVar", "NewType"})
LISTS_OF_NAMES = frozenset({"__all__", "__slots__"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one module.

    Attributes:
        module: Path of the module from the root of the checkout.
        function: Function or class that the change is in; empty for the module itself.
        operator: Name of the mutation operator.
        line: Number of the first changed line. It is shown, and no part of the mutant's name.
        before, after: The changed lines.
        number: Counts equal changes of one function, from 0.
        site: Position of the change in the module: the mutants of one site and operator are alternatives.
        original, new: The whole module as it is, and the text that stands at the site instead.
    """

    module: str
    function: str
    operator: str
    line: int
    before: str
    after: str
    number: int
    site: tuple[int, int]
    original: str
    new: str

    @property
    def source(self) -> str:
        """The whole changed module."""
        start, end = self.site
        old = self.original.encode()
        return (old[:start] + self.new.encode() + old[end:]).decode()

    @property
    def name(self) -> str:
        """A name that stays when other lines of the module move."""
        return "|".join((self.module, self.function, self.operator, self.before, self.after, str(self.number)))

    def is_python(self) -> bool:
        """Return whether the changed module can be read, and is another program than the module."""
        try:
            return ast.dump(ast.parse(self.source)) != ast.dump(ast.parse(self.original))
        except SyntaxError:
            return False


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return all mutants of a module; those that :meth:`Mutant.is_python` rejects are among them.

    >>> [mutant.after for mutant in mutants_of("m.py", "def f(a):\\n    return a < 1\\n")]
    ['return None', 'return a <= 1', 'return a >= 1', 'return a < 2', 'return a < 0']
    """
    text = Text(source)
    found: list[Mutant] = []
    equal: Counter[tuple[str, ...]] = Counter()
    for function, node, skipped in _nodes(ast.parse(source), ""):
        for operator, pieces in OPERATORS.items():
            if operator in skipped:
                continue
            for start, end, new in pieces(text, node):
                first, last = text.lines(start, end)
                before = _strip(text.bytes[first:last].decode())
                after = _strip((text.bytes[first:start] + new.encode() + text.bytes[end:last]).decode())
                key = (function, operator, before, after)
                line = text.bytes.count(b"\n", 0, start) + 1
                number, site = equal[key], (start, end)
                found.append(Mutant(module, function, operator, line, before, after, number, site, source, new))
                equal[key] += 1
    return found


def _strip(lines: str) -> str:
    return "\n".join(line.strip() for line in lines.strip().splitlines())


def _nodes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, frozenset[str]]]:
    """Yield every node whose change counts, the function it is in, and the operators that do not apply."""
    if _says(node):
        return
    if isinstance(node, ast.Raise):
        yield function, node, frozenset()
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".strip(".")
    skipped: frozenset[str] = frozenset()
    if isinstance(node, ast.BinOp) and not function and isinstance(node.op, ast.BitOr):
        skipped = frozenset({"arithmetic"})  # a type with two forms
    yield function, node, skipped
    for child in _children(node):
        if isinstance(child, ast.Attribute) and child.attr in PARTS and isinstance(node, ast.Call):
            if child is node.func:  # a method of that name, such as a network's train()
                yield from _nodes(child.value, function)
                continue
        yield from _nodes(child, function)


def _says(node: ast.AST) -> bool:
    """Return whether a node is for people or for type checkers: it is left as it is."""
    if isinstance(node, ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Raise):
        return node.exc is not None and ast.unparse(node.exc) == "NotImplementedError"  # a method of a base class
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or (isinstance(node.value, ast.Call) and _says(node.value))
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'")
    if isinstance(node, ast.BinOp):
        return any(_text(side) for side in (node.left, node.right))
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in SAID
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in LISTS_OF_NAMES for target in node.targets)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and node.value.id == "Literal"
    if isinstance(node, ast.FunctionDef):
        return any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node without annotations, decorators and base classes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.args
        yield from node.body
    elif isinstance(node, ast.ClassDef):
        yield from node.body
    elif isinstance(node, ast.arguments):
        yield from (value for value in [*node.defaults, *node.kw_defaults] if value is not None)
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield node.value
    elif isinstance(node, ast.ExceptHandler):
        yield from node.body
    else:
        yield from ast.iter_child_nodes(node)
