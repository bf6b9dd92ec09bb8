"""Every adversary and fault against real devices that refuse or replay, at a thousand asks.

    python -m benchmarks.papers.stress_all [--protection refuse] [--clients N] [--home DIR] [--only-write]

What ``docs/threats.md`` lists as covered is asked 1 and 1,000 times, on all of Cora unless
``--clients`` takes a sample; the faults that are not covered 1 and 25 times, which shows
their real loss (each of their answers is a new one, to be added up). One result a case is
kept in ``--home``, so a run that was stopped goes on, and several may run side by side:
a case is taken by who makes its file. Writes stress-all.md and stress-all.csv in docs/results.
On all of Cora most cases take four to seven minutes of one core, `attribute-by-attribute` (eleven million
messages) an hour of a busy one; some 32 cases a protection.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.markdown import table_head, table_row
from benchmarks.papers.index import write_index
from strategies.stress.options import StressOptions, adversaries
from strategies.stress.registered import STRIKING, covered
from strategies.stress.repeating import PLAIN
from strategies.stress.running import stress

COVERED, UNCOVERED = (1, 1000), (1, 25)
COLUMNS = ("protection", "people", "adversary", "fault", "covered", "attribute", "asks", "recovered", "one_query_bound",
           "theory", "distinct_releases", "passed")  # fmt: skip
Case = tuple[str, str, bool]  # adversary or "", fault or "", whether it is covered


def cases() -> Iterator[Case]:
    """Yield every case, the plain adversaries first."""
    yield from ((name, "", True) for name in adversaries() if name in PLAIN or covered(name, "none"))
    yield from (("", name, covered("", name)) for name in STRIKING)


def run(case: Case, protection: str, clients: int | None, home: Path) -> None:
    """Run a case that no other process has taken, and keep its result."""
    adversary, fault, is_covered = case
    path = home / f"{protection}-{clients or 'all'}-{adversary or fault}.json"
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return
    try:
        result = stress(StressOptions(
            dataset="cora", clients=clients, protections=(protection,), adversaries=(adversary,) if adversary else (),
            faults=(fault,) if fault else (), asks=COVERED if is_covered else UNCOVERED, out=None,
        ))  # fmt: skip
    except BaseException:
        path.unlink()
        raise
    found = {"settings": result.settings, "rows": result.rows, "answers": result.answers, "seconds": result.seconds}
    path.write_text(json.dumps(found))
    print(f"{path.stem}: {'pass' if result.passed else 'FAIL'} in {result.seconds:.0f} s", flush=True)


def results(home: Path) -> list[dict[str, Any]]:
    """Return the kept results, in the order of :func:`cases`."""
    order = [adversary or fault for adversary, fault, _ in cases()]
    paths = [path for path in home.glob("*.json") if path.stat().st_size]
    found = [json.loads(path.read_text()) for path in paths]
    return sorted(found, key=lambda one: (_head(one)["protection"] != "refuse", order.index(_name(one))))


def _head(result: dict[str, Any]) -> dict[str, Any]:
    head: dict[str, Any] = result["rows"][0]
    return head


def _name(result: dict[str, Any]) -> str:
    head = _head(result)
    return str(head["adversary"] if head["fault"] == "none" else head["fault"])


def write(found: list[dict[str, Any]]) -> None:
    """Write stress-all.csv and stress-all.md."""
    with (RESULTS / "stress-all.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for result in found:
            for row in result["rows"]:
                shown = {key: f"{value:.6f}" if isinstance(value, float) else value for key, value in row.items()}
                writer.writerow({**shown, "people": result["settings"]["nodes"]})
    failed = sum(not row["passed"] for result in found for row in result["rows"])
    rows = sum(len(result["rows"]) for result in found)
    parts = [HEAD, f"{rows - failed} of {rows} rows are what theory says, {failed} are not."]
    for title, is_covered, text in ((_COVERED, True, COVERED_TEXT), (_UNCOVERED, False, UNCOVERED_TEXT)):
        of_these = [result for result in found if _head(result)["covered"] is is_covered]
        parts += [title, text, _table(of_these)]
    (RESULTS / "stress-all.md").write_text("\n\n".join(parts) + "\n")


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


def _table(found: list[dict[str, Any]]) -> str:
    heads = ("protection", "people", "adversary or fault", "lists", "features", "labels", "bound", "theory", "answers",
             "said")  # fmt: skip
    lines = [*table_head(heads)]
    for result in found:
        last = max(row["asks"] for row in result["rows"])
        by_attribute = {row["attribute"]: row for row in result["rows"] if row["asks"] == last}
        shares = {key: [100 * row[key] for row in by_attribute.values()]
                  for key in ("recovered", "one_query_bound", "theory")}  # fmt: skip
        answers = max(row["distinct_releases"] for row in by_attribute.values())
        (said,) = result["answers"].values()
        cells = [
            _head(result)["protection"], f"{result['settings']['nodes']:,}", f"`{_name(result)}`",
            *(f"{share:.1f}" for share in shares["recovered"]),
            *("/".join(f"{share:.1f}" for share in shares[key]) for key in ("one_query_bound", "theory")),
            f"{answers:,}", ", ".join(f"{code} {count:,}" for code, count in sorted(said.items())),
        ]  # fmt: skip
        lines.append(table_row(cells))
    return "\n".join(lines)


def main() -> None:
    """Run the cases that have no result, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("runs") / "stress-all")
    parser.add_argument("--protection", choices=("refuse", "replay"), action="append")
    parser.add_argument("--clients", type=int)
    parser.add_argument("--only-write", action="store_true")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    given.home.mkdir(parents=True, exist_ok=True)
    if not given.only_write:
        for protection in given.protection or ("refuse", "replay"):
            for case in cases():
                run(case, protection, given.clients, given.home)
    write(results(given.home))
    write_index()


if __name__ == "__main__":
    main()
