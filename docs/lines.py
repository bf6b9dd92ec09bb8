"""Lines of code by package: ``python -m docs.lines`` prints them beside their targets.

A line counts if a token of code stands in it: blank lines, comments and docstrings do not. The targets are goals of
size for a house that one person can hold in the head; none of them is worth a line that is harder to read.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {"devices": 8_000, "curator": 9_600, "strategies": 12_300, "cli": 4_400, "benchmarks": 4_500, "tests": 37_000}
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING,
}  # fmt: skip


def code_lines(text: str) -> int:
    """Return the number of lines of a module that hold code.

    >>> code_lines('''"Words."
    ...
    ... x = 1  # a comment
    ... y = (x,
    ...      2)
    ... ''')
    3
    """
    words = {line for first, last in _docstrings(ast.parse(text)) for line in range(first, last + 1)}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - words)


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first.lineno, first.end_lineno or first.lineno


def main() -> None:
    """Print a line for each package."""
    total = 0
    for package, target in TARGETS.items():
        count = sum(code_lines(path.read_text()) for path in (ROOT / package).rglob("*.py"))
        total += count if package != "tests" else 0
        print(f"{package:<12}{count:>8,} lines of code (target {target:,})")
    print(f"{'without tests':<12}{total:>7,}")


if __name__ == "__main__":
    main()
