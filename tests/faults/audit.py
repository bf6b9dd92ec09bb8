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
from tests.faults.questions import TRAINING, D, N, Question
from tests.faults.sqlite import Connection

_HEAD = struct.Struct("<dddIIII")  # three losses; lengths of name, fingerprint, report and digest
_REPORT = struct.Struct("<dIB")  # time, stage, length of the grouping
_TRAINING = struct.Struct("<dQdddB")  # time, size, three losses of all answers, length of the attributes
_WIDTH = {"adjacency": N - 1, "features": D, "label": 1}


@dataclass(frozen=True)
class Row:
    """An answer in a ledger: collection, stage, and by attribute the losses of a bit and of all, and the report.

    Of a training: the answer's own loss twice and the question's digest, and the loss of all answers so far.
    """

    collection: str
    stage: int
    parts: dict[str, tuple[float, float, bytes]]
    total: float = 0.0


def rows_of(life: Life, copy: Copy) -> dict[int, list[Row]]:
    """Return the rows of each device of a copy."""
    reader = Process(copy.name, "auditor")

    def read() -> dict[int, list[Row]]:
        db = Connection(life.computers, life.world.vfs, str(copy.folder / "ledger.sqlite"))
        found: dict[int, list[Row]] = {}
        for device, collection, body in db.execute("SELECT device, collection, body FROM answer ORDER BY 1, number"):
            if life.setting.training:
                *_, total, _, length = _TRAINING.unpack_from(body)
                ((name, (bit, vector, _)),) = _parts(body[_TRAINING.size + length :])
                digest = body[_TRAINING.size + length + _HEAD.size + len(name) :][:32]
                row = Row(collection, 0, {TRAINING: (bit, vector, digest)}, total)
            else:
                _, stage, length = _REPORT.unpack_from(body)
                row = Row(collection, stage, dict(_parts(body[_REPORT.size + length :])))
            found.setdefault(device, []).append(row)
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
    if life.setting.training:
        return len(asked) == len(rows) and all(
            (row.collection, row.parts[TRAINING][2]) == (question.collection, life.mark(question, TRAINING))
            and _paid(asked[: k + 1], row)
            for k, (question, row) in enumerate(zip(asked, rows, strict=True))
        )
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


def _paid(asked: list[Question], row: Row) -> bool:
    """Return whether a row of a training has the losses of the last of these answers, and of all."""
    budgets = [budget for question in asked for _, budget in question.asks]
    bit, vector, _ = row.parts[TRAINING]
    told = ((bit, budgets[-1]), (vector, budgets[-1]), (row.total, sum(budgets)))
    return all(math.isclose(said, real, abs_tol=1e-5) for said, real in told)


def _compare(life: Life, copy: Copy, person: int, rows: list[Row]) -> None:
    """Check that each report that left is the one in the ledger, byte for byte, and is paid for there."""
    lineage = life.judge.lineages[copy.name[0]]
    lost = any(dict(chains)[copy.name][: len(head)] != head for chains, head in life.judge.states[person])
    if lineage.changed or lineage.free or lost:
        return
    held = {(name, row.stage): part for row in rows for name, part in row.parts.items()}
    if life.setting.training:  # their bytes are not kept
        return
    for (device, name, stage, _), (_, data) in life.judge.first.items():
        part = held.get((name, stage))
        if device == person and part is not None and part[2] != data:
            raise Violation(f"the ledger of {copy.name} holds another answer of device {person} about {name} than left")
