"""Picture of the packages: it is committed as the script draws it, and it shows today's imports."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

from docs.draw_packages import PICTURE, drawn, svg


def test_the_committed_picture_shows_todays_imports() -> None:
    """`python -m docs.draw_packages` draws it again."""
    text = PICTURE.read_text()
    (embedded,) = re.findall(r"<metadata>(.*)</metadata>", text)
    today = json.loads(json.dumps(drawn()))
    assert json.loads(unescape(embedded)) == today
    assert text == svg(today)


def test_another_import_is_another_picture(tmp_path: Path) -> None:
    """Power: the data that the first test compares depend on the imports."""
    for package in ("devices", "curator", "strategies", "benchmarks", "cli"):
        (tmp_path / package).mkdir()
    (tmp_path / "devices" / "wire.py").write_text("")
    (tmp_path / "devices" / "fleet.py").write_text("from ldpsim.devices.wire import x\n")
    (tmp_path / "curator" / "graph.py").write_text("def f():\n    import ldpsim.devices.wire\n")
    data = drawn(tmp_path)
    assert data["units"]["devices"]["arrows"] == [("fleet", "wire")]
    assert data["packages"] == [("curator", "devices")]
