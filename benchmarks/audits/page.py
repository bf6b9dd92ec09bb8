"""Page of public programs' claims and of the audits of other libraries, from its tables.

python -m benchmarks.audits.page
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.markdown import table
from benchmarks.study import Row, read_rows

NOTES = Path(__file__).parent / "notes" / "audits.md"
TABLE, PAGE = RESULTS / "audits.csv", RESULTS / "audits.md"
CLAIMS = RESULTS / "claims.csv"
ABOVE = "**above the figure**"


def verdict(row: Row) -> str:
    """Return what a row says, in words."""
    if row["law"] not in ("", "fits"):
        return "**draws contradict the definition**"
    if row["passed"] == "False":
        return "**above the claim**"
    return "definition holds, draws fit it" if row["law"] else "not contradicted"


def verdict_of_claim(row: Row) -> str:
    """Return what a restated program's row says, in words."""
    if row["holds"] in ("no bound", "stops"):
        return f"**{row['holds']}**"
    return ABOVE if float(row["holds"]) > 1.001 * float(row["claimed"]) else "holds"  # searches end within .001


def page() -> str:
    """Return the text of the page."""
    found, claims = read_rows(TABLE), read_rows(CLAIMS)
    verdicts = [verdict_of_claim(row) for row in claims]
    wrong = [row for row in found if verdict(row).startswith("**")]
    words = {"rows": len(found), "wrong": len(wrong), "laws": sum(bool(row["law"]) for row in found),
             "trials": f"{int(found[0]['trials']):,}", "confidence": found[0]["confidence"],
             "tables": _randomisers(wrong), "claims": _claims(claims), "restated": len(claims),
             **{name: verdicts.count(words) for name, words in
                (("above", ABOVE), ("open", "**no bound**"), ("stops", "**stops**"))}}  # fmt: skip
    return NOTES.read_text().format(**words)


def _claims(rows: Sequence[Row]) -> str:
    """Return the table of the restated programs whose figure is not what holds."""
    heads = ("program", "version", "part", "claimed", "delta", "what changes", "holds", "how shown")
    return table(heads, [(row["program"], row["version"], row["part"], row["claimed"], row["delta"], row["changes"],
                          row["holds"], row["how"]) for row in rows if verdict_of_claim(row) != "holds"])  # fmt: skip


def _randomisers(rows: Sequence[Row]) -> str:
    """Return the table of the rows that are contradicted."""
    heads = ("library", "mechanism", "claimed", "exact", "trials show", "verdict")
    return table(heads, [(f"{row['library']} {row['version']}", row["mechanism"], row["claimed"], row["exact"],
                          row["lower_bound"], verdict(row)) for row in rows])  # fmt: skip


def write() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    write()
