"""Every adversary and fault against real devices that refuse or replay, at a thousand asks.

    python -m benchmarks.papers.stress_all [--only refuse] [--workers 2] [--pages-only]

What ``docs/threats.md`` lists as covered is asked 1 and 1,000 times, of all of Cora under ``refuse``. The faults that
are not covered are asked 1 and 25 times, which shows their real loss: each answer is a new one, to be added up.
They, and ``replay``, are measured on a sample. On all of Cora most cells take four to seven minutes of one core,
`attribute-by-attribute` (eleven million messages) an hour of a busy one; some 38 cells a protection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.markdown import table
from benchmarks.papers import NOTES
from benchmarks.papers.index import write_index
from benchmarks.study import Found, Measured, Row, Study, main
from strategies.attacks.adversaries.faults import AfterFault
from strategies.attacks.stress.campaign import StressCampaign
from strategies.attacks.stress.known import EVERY, STRIKING
from strategies.attacks.stress.options import StressOptions

AFTER = AfterFault.name
COVERED, UNCOVERED = (1, 1000), (1, 25)
SAMPLE = 400  # people, where not all of Cora are asked
COLUMNS = ("protection", "people", "adversary", "fault", "covered", "attribute", "asks", "recovered", "one_query_bound",
           "theory", "distinct_releases", "passed", "said")  # fmt: skip


@dataclass(frozen=True)
class StressCell:
    """An adversary or a fault against a protection.

    Args:
        protection: ``refuse`` or ``replay``.
        adversary, fault: What is measured: an adversary without a fault (``none``), or what strikes after a fault.
        covered: Whether it is covered (``docs/threats.md``).
        clients: Number of people; None is all of Cora.
    """

    protection: str
    adversary: str
    fault: str
    covered: bool
    clients: int | None = None

    @property
    def name(self) -> str:
        """Name of the adversary or fault."""
        return self.fault if self.adversary == AFTER else self.adversary


def cells() -> Iterator[StressCell]:
    """Yield every cell, the plain adversaries first."""
    for protection, everybody in (("refuse", None), ("replay", SAMPLE)):
        for name, curator in EVERY.items():
            if curator.covered:
                yield StressCell(protection, name, "none", True, everybody)
        for name, fault in STRIKING.items():
            yield StressCell(protection, AFTER, name, fault.covered, everybody if fault.covered else SAMPLE)


def run(cell: StressCell) -> dict[str, Any]:
    """Run a cell and return its rows, the number of people and the words of the devices."""
    result = StressCampaign(StressOptions(
        dataset="cora", clients=cell.clients, protections=(cell.protection,),
        adversaries=() if cell.adversary == AFTER else (cell.adversary,),
        faults=(cell.fault,) if cell.adversary == AFTER else (), asks=COVERED if cell.covered else UNCOVERED,
    )).run()  # fmt: skip
    (found,) = result.results.values()
    return {"people": result.settings["nodes"], "rows": result.rows, "said": found["answers"]}


def rows_of(cell: StressCell, result: Mapping[str, Any] | None) -> list[Row]:
    """Return the rows of a result, one for each attribute and number of asks."""
    if result is None:
        return []
    said = ", ".join(f"{code} {count:,}" for code, count in sorted(result["said"].items()))
    every = ({**row, "people": result["people"], "said": said} for row in result["rows"])
    return [{name: f"{row[name]:.6f}" if isinstance(row[name], float) else f"{row[name]}" for name in COLUMNS}
            for row in every]  # fmt: skip


def page(found: Found) -> str:
    """Return the page of the cells that have rows."""
    there = [(cell, rows) for cell, rows in found if rows]
    passed = [row["passed"] == "True" for _, rows in there for row in rows]
    return (NOTES / "stress-all.md").read_text().format(
        passed=sum(passed), rows=len(passed), failed=len(passed) - sum(passed),
        covered=_table([one for one in there if one[0].covered]),
        uncovered=_table([one for one in there if not one[0].covered]),
    )  # fmt: skip


def _table(found: Sequence[tuple[StressCell, Sequence[Row]]]) -> str:
    heads = ("protection", "people", "adversary or fault", "lists", "features", "labels", "bound", "theory", "answers",
             "said")  # fmt: skip
    lines = []
    for cell, rows in found:
        most = max(int(row["asks"]) for row in rows)
        last = [row for row in rows if int(row["asks"]) == most]
        shares = {key: [f"{100 * float(row[key]):.1f}" for row in last]
                  for key in ("recovered", "one_query_bound", "theory")}  # fmt: skip
        answers = max(int(row["distinct_releases"]) for row in last)
        lines.append((cell.protection, f"{int(rows[0]['people']):,}", f"`{cell.name}`", *shares["recovered"],
                      "/".join(shares["one_query_bound"]), "/".join(shares["theory"]), f"{answers:,}",
                      rows[0]["said"]))  # fmt: skip
    return table(heads, lines)


def study(home: Path) -> Study:
    """Return the study."""
    return Study(
        name="stress-all", cells=list(cells()), results=Measured(home / "rows.jsonl", run),
        keys=("protection", "adversary", "fault"), key_of=lambda cell: (cell.protection, cell.adversary, cell.fault),
        rows_of=rows_of, page=page, columns=COLUMNS, figure="recovered",
    )  # fmt: skip


if __name__ == "__main__":
    main(__doc__, "stress-all", lambda home: [study(home)], lambda found, where: write_index())
