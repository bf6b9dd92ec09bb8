"""Page of the audits of other libraries, from its table.

python -m benchmarks.audits.page
"""

from __future__ import annotations

import csv

from benchmarks import RESULTS

TABLE, PAGE = RESULTS / "audits.csv", RESULTS / "audits.md"


def rows() -> list[dict[str, str]]:
    """Return the rows of the table, none without one."""
    if not TABLE.is_file():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def page() -> str:
    """Return the text of the page."""
    return ""


def write() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    write()
