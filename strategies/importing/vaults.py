"""Files of a deployment that an import writes: public facts, and a record for each device."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.devices.atomic_files import make_durable, private_file
from ldpsim.devices.data.population import Population, Record
from ldpsim.strategies.foreign_text import csv_cell

FACTS, NAMES = "facts.json", "people.csv"


def check_new(folder: Path) -> None:
    """Refuse a folder that is there, or that has no folder to stand in (ValueError)."""
    if folder.exists():
        raise ValueError(f"--vaults {folder}: it is there already; give the name of a new folder")
    if not folder.parent.is_dir():
        raise ValueError(f"--vaults {folder}: no such folder: {folder.parent}")


def names_of_people(ids: Iterable[str]) -> str:
    """Return the CSV of each person's number and name."""
    rows = io.StringIO()
    csv.writer(rows, lineterminator="\n").writerows([("node", "id"), *enumerate(map(csv_cell, ids))])
    return rows.getvalue()


def write_vaults(population: Population, folder: Path, ids: Sequence[str] | None) -> dict[str, Any]:
    """Write the files of a deployment into a new folder, whole or not at all, readable by their owner alone.

    ``facts.json`` has the public facts and the labels of training and validation people, where the files tell
    them; nobody else's label is public. ``record-N.json`` is what ``ldpsim device enrol --data`` reads for
    person N: everything that this person's device has, and nothing of anybody else. ``people.csv`` has the
    name of each number, where people have names: it tells whose device gets which record.

    Args:
        population: The checked population.
        folder: The new folder.
        ids: Names of the people, or None.

    Returns:
        The folder, the number of records and of public labels, and the next command, which makes a policy (None where
        HoGS, the usual question, cannot ask these people): JSON-ready.
    """
    facts, split = population.facts.to_dict(), population.own_split
    known = split.labelled if split is not None else np.zeros(0, np.int64)
    public = {str(node): int(population.labels[node]) for node in known}
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))  # its owner's alone
    try:
        _write(made / FACTS, {"facts": facts, "labels": public})
        for node in range(len(population)):
            _write(made / f"record-{node}.json", {"facts": facts, "records": {node: _entry(population.record(node))}})
        if ids is not None:
            with private_file(made / NAMES) as file:
                file.write(names_of_people(ids).encode())
        make_durable(made)
        os.rename(made, folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return {
        "folder": str(folder), "records": len(population), "public_labels": len(public),
        "next": _policy(population, folder, len(public)),
    }  # fmt: skip


def _policy(population: Population, folder: Path, public_labels: int) -> str | None:
    """Return the command that makes a policy: if no label is public, each device reports its own with noise."""
    if not population.facts.d or not population.facts.classes:
        return None
    budget = "--epsilon 8" if public_labels else "--epsilon 8 --eps-labels 1"
    return f"ldpsim device policy --facts {shlex.quote(str(folder / FACTS))} --method hogs {budget} > policy.json"


def _write(path: Path, content: dict[str, Any]) -> None:
    with private_file(path) as file:
        file.write(json.dumps(content).encode())


def _entry(record: Record) -> dict[str, Any]:
    """Return a record as :mod:`ldpsim.devices.enrolment.record_file` reads it."""
    columns, values = record.feature_indices.tolist(), record.feature_values.tolist()
    features = columns if all(value == 1 for value in values) else dict(zip(map(str, columns), values, strict=True))
    label = {"label": record.label} if record.label >= 0 else {}
    return {"features": features, "neighbours": record.neighbours.tolist(), **label}
