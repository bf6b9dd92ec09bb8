"""Picture of the packages: it is committed as the script draws it, and it shows today's imports."""

from __future__ import annotations

import json
import re
from html import unescape

from docs.draw_packages import PICTURE, drawn, svg


def test_the_committed_picture_shows_todays_imports() -> None:
    """`python -m docs.draw_packages` draws it again."""
    text = PICTURE.read_text()
    (embedded,) = re.findall(r"<metadata>(.*)</metadata>", text)
    today = json.loads(json.dumps(drawn()))
    assert json.loads(unescape(embedded)) == today
    assert text == svg(today)
