"""Lines of code are counted without words, and only go down."""

from __future__ import annotations

import tomllib

from docs.lines import LIMITS, ROOT, code_lines


def test_docstrings_comments_and_blanks_do_not_count() -> None:
    assigned = 'x = """a\nb"""  # text\n'
    function = 'def f(\n    y: int,\n) -> int:\n    """Words."""\n    return y\n'
    text = f'"""One.\n\nTwo."""\n\n# three\n{assigned}\n\n{function}'
    assert code_lines(text) == 2 + 4
    assert code_lines("") == code_lines("# nothing\n") == 0


def test_every_package_has_a_limit() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"tests", "words"}
    assert packages == tomllib.loads(LIMITS.read_text()).keys()
