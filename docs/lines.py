"""Lines of code by package, and words of the documentation, beside their limits: ``python -m docs.lines``.

A line counts if a token of code stands in it: blank lines, comments and docstrings do not. The limits stand in
``lines.toml`` beside this module. They only go down: a commit that raises one says why.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_name("lines.toml")
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


def counted(root: Path = ROOT) -> dict[str, int]:
    """Return the lines of code of each package of ``lines.toml``, and the words of all pages."""
    packages = tomllib.loads(LIMITS.read_text()).keys() - {"words"}
    lines = {name: sum(code_lines(path.read_text()) for path in (root / name).rglob("*.py")) for name in packages}
    # `make docs` makes the site in _build, and the page of each method.
    pages = (page for page in (root / "docs").rglob("*.md")
             if "_build" not in page.parts and (page.parent.name != "methods" or page.name == "README.md"))  # fmt: skip
    return {**lines, "words": sum(len(page.read_text().split()) for page in pages)}


def main() -> int:
    """Print a line for each package; return 1 if one is above its limit."""
    counts = counted()
    too_many = False
    for name, limit in tomllib.loads(LIMITS.read_text()).items():
        above = counts[name] > limit
        too_many |= above
        what = "words of docs" if name == "words" else "lines of code"
        print(f"{name:<12}{counts[name]:>9,} {what} (limit {limit:,}){'  TOO MANY: what can leave?' * above}")
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main())
