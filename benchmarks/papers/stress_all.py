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
from benchmarks.papers.index import write_index
from benchmarks.study import Found, Measured, Row, Study, main
from strategies.stress.options import StressOptions, adversaries
from strategies.stress.registered import STRIKING, covered
from strategies.stress.repeating import PLAIN
from strategies.stress.running import AFTER, stress

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
        for name in adversaries():
            if name in PLAIN or covered(name, "none"):
                yield StressCell(protection, name, "none", True, everybody)
        for name in STRIKING:
            is_covered = covered("", name)
            yield StressCell(protection, AFTER, name, is_covered, everybody if is_covered else SAMPLE)


def run(cell: StressCell) -> dict[str, Any]:
    """Run a cell and return its rows, the number of people and the words of the devices."""
    result = stress(StressOptions(
        dataset="cora", clients=cell.clients, protections=(cell.protection,),
        adversaries=() if cell.adversary == AFTER else (cell.adversary,),
        faults=(cell.fault,) if cell.adversary == AFTER else (), asks=COVERED if cell.covered else UNCOVERED, out=None,
    ))  # fmt: skip
    (said,) = result.answers.values()
    return {"people": result.settings["nodes"], "rows": result.rows, "said": said}


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
    parts = [HEAD, f"{sum(passed)} of {len(passed)} rows are what theory says, {len(passed) - sum(passed)} are not."]
    for title, is_covered, text in ((_COVERED, True, COVERED_TEXT), (_UNCOVERED, False, UNCOVERED_TEXT)):
        parts += [title, text, _table([one for one in there if one[0].covered is is_covered])]
    return "\n\n".join(parts) + "\n"


HEAD = """# A thousand asks: every adversary, every fault

Cora; randomised response, 1-bit and GRR at epsilon 1 for every bit of a list, every feature and the label; seed 0.
Shares that maximum likelihood gets right, in %, after the last of the asks. *bound* is what one answer is worth
(lists/features/labels), *theory* what as many independent answers as asks would be. Written by
`benchmarks/papers/stress_all.py`; the rows, with those of one ask, are in [stress-all.csv](stress-all.csv). Who is who:
[threats.md](../threats.md)."""
_COVERED, _UNCOVERED = "## Covered: 1,000 asks", "## Not covered: 25 asks, the real loss"
COVERED_TEXT = """*Answers* is the most different answers that any person gave about one attribute; *said* what the
devices said, with the run of one ask. An adversary may get less than one answer is worth: who begins with a small
budget (`growing-budgets`) has had that one answer. `parallel`, `two-supernodes`, `greedy-first`, `other-mechanisms`,
`train-and-evaluate` and `huge-parameters` have questions of their own and no number of asks. The policy of these
devices refuses `broken-plans` whole; devices that agreed to a plan meet it in
`tests/strategies/adversaries/test_adversaries.py`."""
UNCOVERED_TEXT = """Each strike of the fault gives the curator one more answer. It asks at falling budgets (the same
question on the same data would get the same bytes): 1, 25/26, 24/26 ... of epsilon 1 in 25 asks, which add up to 13.5
times the loss of one answer. *theory* is that of 25 answers at the full budget."""


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
