"""Page of the audits of other libraries, from its table.

python -m benchmarks.audits.page
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.markdown import table
from benchmarks.study import Row, read_rows

NOTES = Path(__file__).parent / "notes" / "audits.md"
TABLE, PAGE = RESULTS / "audits.csv", RESULTS / "audits.md"


def verdict(row: Row) -> str:
    """Return what a row says, in words."""
    if row["law"] not in ("", "fits"):
        return "**draws contradict the definition**"
    if row["passed"] == "False":
        return "**above the claim**"
    return "definition holds, draws fit it" if row["law"] else "not contradicted"


def page() -> str:
    """Return the text of the page."""
    found = read_rows(TABLE)
    wrong = [row for row in found if verdict(row).startswith("**")]
    words = {"rows": len(found), "wrong": len(wrong), "laws": sum(bool(row["law"]) for row in found),
             "trials": f"{int(found[0]['trials']):,}", "confidence": found[0]["confidence"],
             "tables": "\n\n".join(_tables(found))}  # fmt: skip
    return NOTES.read_text().format(**words)


def _tables(found: Sequence[Row]) -> Iterator[str]:
    heads = ("mechanism", "claimed", "exact, of the definition", "trials show", "verdict")
    for library, version in dict.fromkeys((row["library"], row["version"]) for row in found):
        lines = [(row["mechanism"], row["claimed"], row["exact"], row["lower_bound"], verdict(row))
                 for row in found if (row["library"], row["version"]) == (library, version)]  # fmt: skip
        yield f"## {library} {version}\n\n{table(heads, lines)}"


def write() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    write()
