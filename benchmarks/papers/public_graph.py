"""UPGNet and PrivGE: their accuracy beside null models, and on Cora beside an oracle (``docs/results``).

    python -m benchmarks.papers.public_graph [upgnet privge] [--minutes 40] [--upto 2] [--pages-only]

The papers' tables were not at hand. The oracles are re-runs of the authors' code, written once more and
without devices: ``oracles/METHOD.csv``. They are no published figures. Results lie below ``--home``
(runs/public-graph); what was not run keeps its row of ``docs/results/METHOD.csv``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.papers.agreement import Accuracy
from benchmarks.papers.cell_row import KEYS, key_of
from benchmarks.papers.index import write_index
from benchmarks.papers.public_graph_page import page
from benchmarks.papers.swept import Swept
from benchmarks.papers.table_cell import TableCell, cell_options, command
from benchmarks.papers.value_row import COLUMNS, row_of
from benchmarks.study import Found, Row, Study, main, read_rows, rows_in

METHODS = ("upgnet", "privge")
ORACLES = Path(__file__).parent / "oracles"
ORACLE, NULLS = "Cora, beside the oracle", "Null models"
INF = math.inf
SEEDS = {"cora": 10, "citeseer": 5, "pubmed": 3, "facebook": 3, "github": 3}  # fewer where a run takes long
# The budgets of each data set with the level of their runs: the smallest level runs first.
BUDGETS: Mapping[str, Mapping[float, int]] = {
    "cora": {0.1: 6, 1.0: 1, 3.0: 6, 8.0: 3, INF: 6},
    "citeseer": {0.1: 7, 1.0: 1, 3.0: 7, 8.0: 6, INF: 7},
    "pubmed": {0.1: 7, 1.0: 2, 3.0: 7, 8.0: 6, INF: 7},
    "facebook": {0.1: 8, 1.0: 4, 3.0: 8, 8.0: 7, INF: 8},
    "github": {0.1: 8, 1.0: 5, 3.0: 8, 8.0: 7, INF: 8},
}
# The settings of the oracles, whole: a default that changes does not change them.
PRINTED = {"mechanism": "mbm", "K": 8, "nfr": "1", "hops": "as-printed", "scale": "raw", "chosen_by": "as-printed",
           "lr": 0.01, "weight_decay": 0.01, "gnn_dropout": 0.75, "epochs": 500}  # fmt: skip
CODE = {"m": 20, "alpha": 0.1, "r": 0.1, "debias": "false", "layers": 2, "batch": 64, "patience": 50, "hidden": 128,
        "lr": 0.01, "weight_decay": 5e-4, "gnn_dropout": 0.7, "epochs": 1000}  # fmt: skip
# Model of the oracle, epsilon, settings, whether null models are run (the oracle has shuffled features), level
AS_THE_ORACLE: Mapping[str, Sequence[tuple[str, float, Mapping[str, Any], bool, int]]] = {
    "upgnet": (
        ("UPGNet-mbm", 1.0, PRINTED, False, 0),
        ("UPGNet-mpm", 1.0, {**PRINTED, "mechanism": "mpm"}, True, 5),
        ("UPGNet-mbm", 0.01, PRINTED, False, 5),
        ("UPGNet-mbm", 3.0, PRINTED, False, 5),
        ("UPGNet-mbm", 10.0, PRINTED, True, 5),
        ("UPGNet-raw", INF, PRINTED, False, 3),
        ("UPGNet-raw-noNFR-plainS", INF, {**PRINTED, "nfr": "off", "hops": "plain"}, False, 3),
    ),
    "privge": (
        ("PrivGE-hds-m20", 1.0, CODE, False, 0),
        ("PrivGE-hds-m20", 0.01, CODE, False, 5),
        ("PrivGE-hds-m20", 3.0, CODE, False, 5),
        ("PrivGE-hds-m20", 10.0, CODE, True, 5),
        ("PrivGE-no-noise", INF, CODE, False, 5),
    ),
}
_ORACLE_COLUMNS = ["oracle", "oracle_std", "oracle_n", "oracle_shuffled", "oracle_shuffled_std"]


def cells(method: str) -> Iterator[TableCell]:
    """Yield the cells of a method, in the order of its page."""
    for model, epsilon, settings, nulls, level in AS_THE_ORACLE[method]:
        options = cell_options(
            method, "cora", settings=settings, nulls=nulls, repeats=SEEDS["cora"], **_budget(epsilon)
        )
        keys = {"data set": "cora", "model": model, "epsilon": f"{epsilon:g}"}
        yield TableCell(ORACLE, keys, options, measured=oracle(method, model, epsilon), level=level)
    for dataset, budgets in BUDGETS.items():
        for epsilon, level in budgets.items():
            options = cell_options(method, dataset, nulls=True, repeats=SEEDS[dataset], **_budget(epsilon))
            keys = {"data set": dataset, "model": method, "epsilon": f"{epsilon:g}"}
            yield TableCell(NULLS, keys, options, level=level)


def _budget(epsilon: float) -> dict[str, float]:
    return {"eps_features": epsilon} if math.isinf(epsilon) else {"epsilon": epsilon}


def oracle(method: str, model: str, epsilon: float) -> Accuracy | None:
    """Return the oracle's accuracy; None if it has none."""
    for row in read_rows(ORACLES / f"{method}.csv"):
        if row["model"] == model and float(row["epsilon"] or "nan") == epsilon:
            return Accuracy(float(row["accuracy"]), float(row["std"]), int(row["runs"]))
    return None


def _row(method: str, cell: TableCell, record: Mapping[str, Any]) -> Row:
    if record.get("nulls") is not None:
        row = dict(row_of(method, cell, record))
    else:
        accuracy = record["accuracy"]
        row = dict.fromkeys(COLUMNS, "") | {
            "page": method, "table": cell.table, **{name: cell.keys[name] for name in ("data set", "model")},
            "budget": f"epsilon {cell.keys['epsilon']}", "n": str(len(accuracy["per_repeat"])),
            "accuracy": f"{100 * accuracy['test']:.2f}", "std": f"{100 * accuracy['std']:.2f}",
            "config_hash": record["config_hash"], "command": command(cell.options),
        }  # fmt: skip
    row |= dict.fromkeys(_ORACLE_COLUMNS, "")
    if cell.measured:
        row |= {"oracle": f"{cell.measured.mean}", "oracle_std": f"{cell.measured.std}",
                "oracle_n": f"{cell.measured.runs}"}  # fmt: skip
        if other := oracle(method, f"{cell.keys['model']}-shuffled", float(cell.keys["epsilon"])):
            row |= {"oracle_shuffled": f"{other.mean}", "oracle_shuffled_std": f"{other.std}"}
    return row


def study_of(method: str, home: Path) -> Study:
    """Return the study of a method."""
    return Study(
        name=method, cells=list(cells(method)), results=Swept(home / method), keys=KEYS, key_of=key_of,
        rows_of=lambda cell, record: [] if record is None else [_row(method, cell, record)],
        page=partial(page_of, method), columns=[*COLUMNS, *_ORACLE_COLUMNS],
    )  # fmt: skip


def page_of(method: str, found: Found) -> str:
    """Return a method's page."""
    return page(method, rows_in(found), [cell.label for cell, rows in found if not rows])


if __name__ == "__main__":
    main(__doc__, "public-graph", lambda home: [study_of(method, home) for method in METHODS],
         lambda found, where: write_index())  # fmt: skip
