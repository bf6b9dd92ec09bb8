"""The built site loads nothing from a network, and a page that does is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sphinx")  # an extra of its own: ldpsim[docs]

from docs.offline import check, loaded_from_outside


def test_each_kind_of_load_is_seen(tmp_path: Path) -> None:
    """Power: a script, a style sheet, a picture, an import and a font; what a person follows is none."""
    loads = [
        '<script src="https://a.org/a.js"></script>', "<img alt='' src='//a.org/a.png'>",
        '<link rel="stylesheet" href="https://a.org/a.css">',
    ]  # fmt: skip
    assert [len(loaded_from_outside(text)) for text in loads] == [1, 1, 1]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "p.html").write_text(
        '<a href="https://a.org">a</a><img src="x.png"><link rel="next" href="q.html">'
    )
    (tmp_path / "s.css").write_text("b {background: url('data:image/svg+xml;http://www.w3.org')}")
    assert check(tmp_path) == []
    (tmp_path / "s.css").write_text('@import "https://a.org/f.css"; b {src: url(//a.org/f.woff)}')
    assert check(tmp_path) == ["s.css: https://a.org/f.css", "s.css: //a.org/f.woff"]
