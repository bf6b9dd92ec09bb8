"""Accuracy tables for ``docs/results``: ours, the paper's, and whether they agree.

Every cell: at least ten collections of simulated people (seeds 0 and what follows from it;
the search used others), with the stored settings of ``--tuned``. Two figures agree when
they differ by no more than max(1.5 points, 3 sqrt(s^2 / n + s'^2 / n')).

    make tables        (LDPSIM_DATA names the data sets; long)
    python benchmarks/tables.py [--repeats 10] [--workers 2]
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
_HEAD = """# HoGS: accuracy

GCN, 16 hidden units; test accuracy in %, mean ± standard deviation over {repeats} collections of simulated
people. Settings: `curator/tuned/hogs.toml`, found on validation accuracy with other seeds (the grid stands in
`benchmarks/search_hogs.py`). "Agrees" means |difference| <= max(1.5 points, 3 sqrt(s^2/n + s'^2/n')).
`lp-and` is the null model, label propagation on pairs whose two bits are both 1: no features at all.
"No noise" is the same network on the true graph. Losses are those that hold, for one collection.

"""


def published() -> list[dict[str, str]]:
    """Return the figures of others."""
    with (HERE / "published" / "hogs.csv").open() as file:
        return list(csv.DictReader(file))


def run(task: tuple[Mapping[str, Any], int]) -> dict[str, Any]:
    """Run one stored setting and return its row."""
    from strategies import RunOptions, simulate

    setting, repeats = task
    result = simulate(
        RunOptions(
            dataset=setting["dataset"],
            split=setting["split"],
            epsilon=setting["epsilon"],
            gnn=setting["gnn"],
            public_features=setting["public_features"],
            tuned=True,
            repeats=repeats,
            repeats_vary="noise" if setting["split"] == "split42" else "all",
            out=None,
        )
    )
    record, holds = result.record, result.record["privacy"]["holds"]
    row = {
        "dataset": setting["dataset"],
        "features": "public" if setting["public_features"] else "private",
        "split": setting["split"],
        "epsilon": setting["epsilon"],
        "feature_share": setting.get("feature_share", ""),
        **setting["values"],
        "n": repeats,
        "accuracy": 100 * record["accuracy"]["test"],
        "std": 100 * record["accuracy"]["std"],
        "lp_and": 100 * result.extra["lp_and_test"],
        "no_noise": 100 * record["reference"]["nonprivate_test"],
        "edge_precision": record["reconstruction"]["edge_precision"],
        "edge_recall": record["reconstruction"]["edge_recall"],
        **{level: shown(holds[level]) for level in ("bit_adjacency", "bit_feature", "relationship", "vector", "user")},
        "collections": record["privacy"]["collections"],
    }
    print(row["dataset"], row["features"], row["epsilon"], f"{row['accuracy']:.1f} ± {row['std']:.1f}", flush=True)
    return row


def shown(level: Mapping[str, Any]) -> str:
    """Return what holds at a level, for a table."""
    return f"{level['value']:g}" if level["status"] == "bounded" else str(level["status"])


def compare(row: Mapping[str, Any], other: Mapping[str, str]) -> str:
    """Return another's figure and whether ours agrees with it."""
    difference = row["accuracy"] - float(other["accuracy"])
    spread = math.sqrt(row["std"] ** 2 / row["n"] + float(other["std"]) ** 2 / int(other["runs"]))
    verdict = "agrees" if abs(difference) <= max(1.5, 3 * spread) else f"**{difference:+.1f}**"
    return f"{other['accuracy']} ± {other['std']} ({verdict})"


def table(rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, str]], sources: Sequence[str]) -> str:
    """Return a Markdown table of one setting."""
    private = rows[0]["features"] == "private"
    heads = ["data set", "epsilon", *(["share"] if private else []), "ours", *sources, "lp-and", "no noise",
             "relationship", "features" if private else "bit", "user"]  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for row in rows:
        found = {
            other["source"]: compare(row, other)
            for other in others
            if (other["dataset"], other["features"], float(other["epsilon"]))
            == (row["dataset"], row["features"], row["epsilon"])
        }
        cells = [row["dataset"], f"{row['epsilon']:g}", *([str(row["feature_share"])] if private else []),
                 f"{row['accuracy']:.1f} ± {row['std']:.1f}", *(found.get(source, "-") for source in sources),
                 f"{row['lp_and']:.1f}", f"{row['no_noise']:.1f}", row["relationship"],
                 row["vector"] if private else row["bit_adjacency"], row["user"]]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run every stored setting of HoGS and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    arguments = parser.parse_args()
    from curator.tuned import settings_of

    os.environ["OMP_NUM_THREADS"] = "1"
    tasks = [(setting, arguments.repeats) for setting in settings_of("hogs")]
    with ProcessPoolExecutor(arguments.workers) as pool:
        rows = list(pool.map(run, tasks))
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "hogs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    others = published()
    public = [row for row in rows if row["features"] == "public"]
    private = [row for row in rows if row["features"] == "private"]
    notes = (RESULTS / "hogs-notes.md").read_text() if (RESULTS / "hogs-notes.md").is_file() else ""
    (RESULTS / "hogs.md").write_text(
        _HEAD.format(repeats=arguments.repeats)
        + "## Public features (Table III), the fixed split of Blink's code\n\n"
        + table(public, others, ("HoGS Table III", "reproduction"))
        + "\n## Private features, standardised, random splits\n\n"
        + "The paper gives figures without numbers for this setting.\n\n"
        + table(private, others, ("reproduction",))
        + ("\n" + notes if notes else "")
    )


if __name__ == "__main__":
    main()
