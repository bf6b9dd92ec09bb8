"""The ledger as it stands on a disk, read with SQLite alone and compared with what the judge knows."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tests.faults.computers import Process
from tests.faults.hosts import Copy
from tests.faults.judge import Chain, Violation
from tests.faults.life import Life
from tests.faults.questions import D, N, Question
from tests.faults.sqlite import Connection

_HEAD = struct.Struct("<dddIIII")  # three losses; lengths of name, fingerprint, report and digest
_WIDTH = {"adjacency": N - 1, "features": D, "label": 1}


@dataclass(frozen=True)
class Row:
    """An answer in a ledger: collection, stage, and by attribute the losses of a bit and of all, and the report."""

    collection: str
    stage: int
    parts: dict[str, tuple[float, float, bytes]]


def rows_of(life: Life, copy: Copy) -> dict[int, list[Row]]:
    """Return the rows of each device of a copy."""
    reader = Process(copy.name, "auditor")

    def read() -> dict[int, list[Row]]:
        db = Connection(life.computers, life.world.vfs, str(copy.folder / "ledger.sqlite"))
        found: dict[int, list[Row]] = {}
        asked = "SELECT device, collection, stage, packed_parts FROM query_answer ORDER BY device, number"
        for device, collection, stage, packed in db.execute(asked):
            found.setdefault(device, []).append(Row(collection, stage, dict(_parts(packed))))
        return found

    try:
        return life.computers.run(reader, read)
    finally:
        life.computers.bury(reader)


def _parts(packed: bytes) -> Iterator[tuple[str, tuple[float, float, bytes]]]:
    at = 0
    while at < len(packed):
        bit, vector, _, *sizes = _HEAD.unpack_from(packed, at)
        at += _HEAD.size
        name, _, report, _ = (packed[at + sum(sizes[:k]) : at + sum(sizes[: k + 1])] for k in range(4))
        at += sum(sizes)
        yield name.decode(), (bit, vector, report)


def audit(life: Life, copy: Copy) -> None:
    """Compare a copy's ledger with the answers that its devices gave.

    Raises:
        Violation: where an answer that left is not in it, or its losses are not those of the answers.
    """
    lineage = life.judge.lineages[copy.name[0]]
    if lineage.loose:
        return
    rows = rows_of(life, copy)
    for person in copy.residents:
        own = rows.get(person, [])
        chains = {dict(chains)[copy.name] for chains, _ in life.judge.states[person]}
        if not any(_same(life, chain, own) for chain in chains):
            held = [(row.collection, row.stage, sorted(row.parts)) for row in own]
            raise Violation(f"the ledger of {copy.name} holds {held} of device {person}, which is not what it answered")
        _compare(life, copy, person, own)


def _same(life: Life, chain: Chain, rows: list[Row]) -> bool:
    asked = [life.judge.asks[number] for number in chain]
    return len(asked) == len(rows) and all(
        (row.collection, row.stage, set(row.parts)) == (question.collection, question.stage, set(question.attributes))
        and _losses(question, row)
        for question, row in zip(asked, rows, strict=True)
    )


def _losses(question: Question, row: Row) -> bool:
    """Return whether a row's losses are those that its question has on paper."""
    for name, budget in question.asks:
        bit, vector, _ = row.parts[name]
        spent = budget * (2 if question.staged else 1) if question.stage == 0 else 0.0
        if not (math.isclose(bit, spent, abs_tol=1e-6) and math.isclose(vector, spent * _WIDTH[name], abs_tol=1e-5)):
            return False
    return True


def _compare(life: Life, copy: Copy, person: int, rows: list[Row]) -> None:
    """Check that each report that left is the one in the ledger, byte for byte, and is paid for there."""
    lineage = life.judge.lineages[copy.name[0]]
    lost = any(dict(chains)[copy.name][: len(head)] != head for chains, head in life.judge.states[person])
    if lineage.changed or lineage.free or lost:
        return
    held = {(name, row.stage): part for row in rows for name, part in row.parts.items()}
    for (device, name, stage), (_, data) in life.judge.first.items():
        part = held.get((name, stage))
        if device == person and part is not None and part[2] != data:
            raise Violation(f"the ledger of {copy.name} holds another answer of device {person} about {name} than left")
