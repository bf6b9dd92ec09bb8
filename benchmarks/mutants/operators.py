"""Mutation operators: the small changes of one piece of code that change what it does.

An operator gets a node of the syntax tree and yields replacements of pieces of source text.
Nothing else of the file changes, comments and layout included.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

# (start, end, new text), as positions in the file's bytes.
Piece = tuple[int, int, str]
Operator = Callable[["Text", ast.AST], Iterator[Piece]]

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_TWINS = (
    ("min", "max"),
    ("any", "all"),
    ("argmin", "argmax"),
    ("minimum", "maximum"),
    ("amin", "amax"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("expm1", "exp"),
    ("log1p", "log"),
    ("startswith", "endswith"),
    ("union", "intersection"),
    ("clamp_min", "clamp_max"),
)
TWINS = dict(_TWINS) | {b: a for a, b in _TWINS}
PARTS = {"train": "val", "val": "test", "test": "train"}
WRAPPERS = frozenset({"abs", "clip", "reversed", "round_up", "sqrt", "unique"})
CHECKED_LENGTHS = "strict"  # of zip: it raises where a caller made a mistake, and changes no result


class Text:
    """Source text of one module, by positions of the syntax tree."""

    def __init__(self, source: str) -> None:
        self.bytes = source.encode()
        self._starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the start and the end of a node."""
        start = self._starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def of(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.bytes[start:end].decode()

    def between(self, before: ast.AST, after: ast.AST, pattern: str) -> tuple[int, int] | None:
        """Return where a pattern stands between two nodes."""
        start, end = self.span(before)[1], self.span(after)[0]
        found = re.search(pattern.encode(), self.bytes[start:end])
        return None if found is None else (start + found.start(), start + found.end())

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """Return the bounds of the whole lines that a piece lies in."""
        first = self.bytes.rfind(b"\n", 0, start) + 1
        last = self.bytes.find(b"\n", end)
        return first, len(self.bytes) if last < 0 else last


def comparison(text: Text, node: ast.AST) -> Iterator[Piece]:
    if not isinstance(node, ast.Compare):
        return
    sides = [node.left, *node.comparators]
    for left, right, sign in zip(sides[:-1], sides[1:], node.ops, strict=True):
        pattern, others = COMPARISONS[type(sign)]
        place = text.between(left, right, rf"\b{pattern}\b" if pattern[0].isalpha() else pattern)
        if place is not None:
            yield from ((*place, other) for other in others)


def arithmetic(text: Text, node: ast.AST) -> Iterator[Piece]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        sign, other = ARITHMETIC[type(node.op)]
        place = text.between(node.left, node.right, re.escape(sign))
    elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        sign, other = (f"{part}=" for part in ARITHMETIC[type(node.op)])
        place = text.between(node.target, node.value, re.escape(sign))
    else:
        return
    if place is not None:
        yield (*place, other)


def boolean(text: Text, node: ast.AST) -> Iterator[Piece]:
    """Exchange ``and`` and ``or``, or leave one of their sides out."""
    if not isinstance(node, ast.BoolOp):
        return
    sign, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        place = text.between(left, right, rf"\b{sign}\b")
        if place is not None and len(node.values) == 2:
            yield (*place, other)
    for side in node.values:
        yield (*text.span(side), "True" if sign == "and" else "False")


def condition(text: Text, node: ast.AST) -> Iterator[Piece]:
    """Turn a condition around that has no sign of its own to change; leave a filter out."""
    if isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield (*text.span(node.test), f"(not {text.of(node.test)})")
    if isinstance(node, ast.comprehension):
        yield from ((*text.span(test), "True") for test in node.ifs)


def sign_removed(text: Text, node: ast.AST) -> Iterator[Piece]:
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield (*text.span(node), f"({text.of(node.operand)})")


def constant(text: Text, node: ast.AST) -> Iterator[Piece]:
    if not isinstance(node, ast.Constant) or isinstance(node.value, complex):
        return
    value = node.value
    if isinstance(value, bool):
        yield (*text.span(node), str(not value))
    elif isinstance(value, int | float):
        yield (*text.span(node), f"{value + 1}")
        if value == 1:
            yield (*text.span(node), f"{value - 1}")


def twin(text: Text, node: ast.AST) -> Iterator[Piece]:
    """Exchange a function with its twin, such as ``min`` with ``max``."""
    if not isinstance(node, ast.Call):
        return
    end = text.span(node.func)[1]
    name = _called(node)
    if name in TWINS:
        yield end - len(name), end, TWINS[name]


def part(text: Text, node: ast.AST) -> Iterator[Piece]:
    """Exchange the training, validation and test people."""
    if isinstance(node, ast.Attribute) and node.attr in PARTS:
        end = text.span(node)[1]
        yield end - len(node.attr), end, PARTS[node.attr]


def order(text: Text, node: ast.AST) -> Iterator[Piece]:
    if isinstance(node, ast.Call) and _called(node) == "sorted":
        if not any(keyword.arg == "reverse" for keyword in node.keywords):
            place = text.span(node)[1] - 1
            yield place, place, ", reverse=True"


def wrapper(text: Text, node: ast.AST) -> Iterator[Piece]:
    """Put the first argument in the place of a function's result, such as of ``abs``."""
    if isinstance(node, ast.Call) and _called(node) in WRAPPERS and node.args:
        yield (*text.span(node), f"({text.of(node.args[0])})")


def keyword(text: Text, node: ast.AST) -> Iterator[Piece]:
    """Leave a named argument out."""
    if not isinstance(node, ast.Call):
        return
    for given in node.keywords:
        if given.arg is None or given.arg == CHECKED_LENGTHS or _said(given.value):
            continue
        start, end = text.span(given)
        comma = text.bytes.rfind(b",", text.span(node.func)[1], start)
        first = given is node.keywords[0] and not node.args
        if not first and comma >= 0:
            yield comma, end, ""
        else:
            following = re.match(rb"\s*,\s*", text.bytes[end:])
            yield start, end + (following.end() if following else 0), ""


def slice_bound(text: Text, node: ast.AST) -> Iterator[Piece]:
    if isinstance(node, ast.Slice):
        yield from ((*text.span(bound), "") for bound in (node.lower, node.upper) if bound is not None)


def returned(text: Text, node: ast.AST) -> Iterator[Piece]:
    if isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield (*text.span(node), "return None")


def statement(text: Text, node: ast.AST) -> Iterator[Piece]:
    """Leave a statement out, or exchange ``break`` and ``continue``."""
    if isinstance(node, ast.Break | ast.Continue):
        yield (*text.span(node), "continue" if isinstance(node, ast.Break) else "break")
    elif isinstance(node, ast.Raise | ast.AugAssign | ast.Delete) or _effect(node):
        yield (*text.span(node), "pass")


def default(text: Text, node: ast.AST) -> Iterator[Piece]:
    """Change a default that is a word; numbers are changed by :func:`constant`."""
    if isinstance(node, ast.arguments):
        values = [*node.defaults, *(value for value in node.kw_defaults if value is not None)]
    elif isinstance(node, ast.AnnAssign) and "ClassVar" not in text.of(node.annotation) and node.value is not None:
        values = [node.value]
    else:
        return
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.isidentifier():
            yield (*text.span(value), repr(value.value + "x"))


def _called(node: ast.Call) -> str:
    """Return the last name of the function that is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _said(value: ast.expr) -> bool:
    """Return whether an argument is a text for people: it is put together, or has a blank."""
    blank = isinstance(value, ast.Constant) and isinstance(value.value, str) and " " in value.value
    return blank or isinstance(value, ast.JoinedStr)


def _effect(node: ast.AST) -> bool:
    """Return whether a node is a call for its effect, or gives a new value to what has one."""
    if isinstance(node, ast.Assign):
        return all(_stays_defined(target, node.value) for target in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _stays_defined(target: ast.expr, value: ast.expr) -> bool:
    """Return whether a target has a value without the assignment too, as far as one sees."""
    if isinstance(target, ast.Attribute | ast.Subscript):
        return True
    return isinstance(target, ast.Name) and any(
        isinstance(inner, ast.Name) and inner.id == target.id for inner in ast.walk(value)
    )


OPERATORS: dict[str, Operator] = {
    "comparison": comparison,
    "arithmetic": arithmetic,
    "boolean": boolean,
    "condition": condition,
    "sign removed": sign_removed,
    "constant": constant,
    "twin function": twin,
    "train/val/test": part,
    "order": order,
    "wrapper removed": wrapper,
    "keyword dropped": keyword,
    "slice bound": slice_bound,
    "return None": returned,
    "statement removed": statement,
    "default": default,
}
