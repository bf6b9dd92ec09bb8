"""Lines of code are counted without words, and only go down."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from docs import lines
from docs.lines import LIMITS, ROOT, code_lines, counted


def test_docstrings_comments_and_blanks_do_not_count() -> None:
    assigned = 'x = """a\nb"""  # text\n'
    function = 'def f(\n    y: int,\n) -> int:\n    """Words."""\n    return y\n'
    text = f'"""One.\n\nTwo."""\n\n# three\n{assigned}\n\n{function}'
    assert code_lines(text) == 2 + 4
    assert code_lines("") == code_lines("# nothing\n") == 0


def test_every_package_has_a_limit() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"tests", "words"}
    assert packages == tomllib.loads(LIMITS.read_text()).keys()


def test_one_line_too_many_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: the limit itself passes."""
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "a.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("three short words\n")
    monkeypatch.setattr(lines, "LIMITS", tmp_path / "lines.toml")
    monkeypatch.setattr(lines, "counted", lambda: counted(tmp_path))
    for limit, status in (
        ("devices = 2\nwords = 3\n", 0),
        ("devices = 1\nwords = 3\n", 1),
        ("devices = 2\nwords = 2\n", 1),
    ):
        (tmp_path / "lines.toml").write_text(limit)
        assert lines.main() == status
