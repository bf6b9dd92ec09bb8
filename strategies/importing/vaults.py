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

from ldpsim.devices.atomic_files import make_durable, private_file
from ldpsim.devices.data.population import Population
from ldpsim.strategies.foreign_text import csv_cell

FACTS, NAMES = "facts.json", "people.csv"


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
    facts, split = population.facts, population.own_split
    labelled = split.labelled.tolist() if split is not None else []
    labels = {node: int(population.labels[node]) for node in labelled}
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))  # its owner's alone
    try:
        for node in range(len(population)):
            record = population.record(node)
            columns, values = record.feature_indices.tolist(), record.feature_values.tolist()
            features = dict(zip(map(str, columns), values, strict=True))
            entry: dict[str, Any] = {"features": features, "neighbours": record.neighbours.tolist()}
            entry |= {"label": record.label} if record.label >= 0 else {}
            _write(temporary / f"record-{node}.json", json.dumps({"facts": facts.to_dict(), "records": {node: entry}}))
        _write(temporary / FACTS, json.dumps({"facts": facts.to_dict(), "labels": labels}))
        if ids is not None:
            _write(temporary / NAMES, names_of_people(ids))
        make_durable(temporary)
        os.rename(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    command = None
    if facts.d and facts.classes:  # if no label is public, each device reports its own with noise
        budget = "--epsilon 8" if labelled else "--epsilon 8 --eps-labels 1"
        public = shlex.quote(str(folder / FACTS))
        command = f"ldpsim device policy --facts {public} --method hogs {budget} > policy.json"
    return {
        "folder": str(folder), "records": len(population), "public_labels": len(labelled), "next": command
    }  # fmt: skip


def _write(path: Path, text: str) -> None:
    with private_file(path) as file:
        file.write(text.encode())
