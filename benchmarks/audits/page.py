"""Page of the audits of other libraries, from its table.

python -m benchmarks.audits.page
"""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks import RESULTS

NOTES = Path(__file__).parent / "notes.md"
TABLE, PAGE = RESULTS / "audits.csv", RESULTS / "audits.md"


def rows() -> list[dict[str, str]]:
    """Return the rows of the table, none without one."""
    if not TABLE.is_file():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def verdict(row: dict[str, str]) -> str:
    """Return what a row says, in words."""
    if row["law"] not in ("", "fits"):
        return "**draws contradict the definition**"
    if row["passed"] == "False":
        return "**above the claim**"
    return "definition holds, draws fit it" if row["law"] else "not contradicted"


def page() -> str:
    """Return the text of the page."""
    found = rows()
    wrong = [row for row in found if verdict(row).startswith("**")]
    words = {"rows": len(found), "wrong": len(wrong), "laws": sum(bool(row["law"]) for row in found),
             "trials": f"{int(found[0]['trials']):,}", "confidence": found[0]["confidence"],
             "tables": "\n\n".join(_tables(found))}  # fmt: skip
    return NOTES.read_text().format(**words)


def _tables(found: list[dict[str, str]]) -> list[str]:
    parts = []
    for library, version in dict.fromkeys((row["library"], row["version"]) for row in found):
        lines = ["| mechanism | claimed | exact, of the definition | trials show | verdict |", "|" + " --- |" * 5]
        lines += [f"| {row['mechanism']} | {row['claimed']} | {row['exact']} | {row['lower_bound']} | {verdict(row)} |"
                  for row in found if (row["library"], row["version"]) == (library, version)]  # fmt: skip
        parts.append("\n".join([f"## {library} {version}", "", *lines]))
    return parts


def write() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    write()
