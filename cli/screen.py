"""Console that breaks no line inside a figure, and that writes no foreign sign that does something to a terminal.

``100.0 %`` and ``-2.0 ± 10.0 points`` stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from ldpsim.strategies.foreign_text import printable

_GLUE = "\ue000"  # stands for a blank while lines are broken; Rich also breaks at no-break spaces
_INSIDE = re.compile(r"(?<=\d) (?=(?:%|points\b|[kMGT]?B\b|s\b|±|▲))|(?<=±) (?=\d)")


class Screen(Console):
    """Rich console whose texts are printable and keep a number and its unit on one line, where the width allows it."""

    def render_str(self, text: str, **given: Any) -> Text:
        """Return the text with its figures glued."""
        return super().render_str(_INSIDE.sub(_GLUE, printable(text)), **given)

    def render(self, *given: Any, **named: Any) -> Iterable[Segment]:
        """Yield the segments, with blanks again."""
        for segment in super().render(*given, **named):
            yield segment if segment.control else segment._replace(text=printable(segment.text.replace(_GLUE, " ")))
