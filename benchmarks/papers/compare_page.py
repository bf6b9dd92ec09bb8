"""Write docs/results/compare.md from the folder of a comparison.

ldpsim compare hogs rgnn lpgnn fedavg-mlp silo-fedavg-gcn dp-fedavg raw --dataset cora --repeats 5
python -m benchmarks.papers.compare_page runs/compare-cora-...
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import textwrap
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.papers import NOTES
from benchmarks.papers.index import write_index
from cli.report.gather import gather
from cli.report.page import verdict
from cli.report.shown import shown_rows
from cli.words import bytes_, level, points, seconds
from strategies.results.folder import COMPARISON
from strategies.results.levels import shown_levels

DOCUMENT = RESULTS / "compare.md"
TRUSTED = {"reports": "nobody", "owner": "the curator", "open": "everybody"}


def write(folder: Path) -> None:
    """Write the page of the last comparison in a folder."""
    named = json.loads((folder / COMPARISON).read_text())["folders"]
    found = gather([folder], only=[folder / name for name in named if name])
    found.left_out.clear()  # runs of other comparisons of these people
    rows = shown_rows(found)
    people = found.results[0].people
    words = ["ldpsim", "compare", *(row["method"] for row in rows), "--dataset", people["name"]]
    if rows[0]["repeats"] > 1:
        words += ["--repeats", str(rows[0]["repeats"])]
    heads = [heading for heading, _ in shown_levels(4).values()]
    nulls = "" if any(row["nulls"] for row in rows) else "These runs are without null models. "
    lines = "".join(f"| {' | '.join(_cells(row))} |\n" for row in rows)
    lines += "".join(f"\n{entry.what} failed: {entry.why}\n" for entry in found.failed)
    DOCUMENT.write_text((NOTES / "compare.md").read_text().format(
        nulls=nulls, nodes=people["nodes"], name=people["name"], repeats=rows[0]["repeats"],
        plural="s" * (rows[0]["repeats"] > 1), command=shlex.join(words), levels=" | ".join(heads),
        rules="---|" * len(heads), lines=lines, cores=os.cpu_count(),
        verdict=textwrap.fill(verdict(rows, found.match)["line"], 115),
    ))  # fmt: skip
    write_index()


def _cells(row: dict[str, Any]) -> list[str]:
    accuracy = points(row["test"]) + ("" if row["std"] is None else f" ± {points(row['std'])}")
    silo = f", {bytes_(row['silo'])} a silo" if row["silo"] else ""
    return [row["label"], accuracy, TRUSTED[row["trust"]], *(level(row["levels"][name]) for name in shown_levels(4)),
            bytes_(row["bytes"]) + silo, str(row["rounds"]), seconds(row["seconds"]["total"])]  # fmt: skip


def main() -> None:
    """Write the page of the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
