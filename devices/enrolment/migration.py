"""Migration of a state folder of an older version: ledgers of schema 1, and counters of rows.

Every seal is checked before anything is written. Each ledger of schema 1 is then replaced as
a whole; the old file stays beside it as ``ledger.sqlite.schema-1``. A counter of rows gives
way to one that holds the end of each device's chain, in the same place; ``enrolment.json``
then names it. Population and secrets are not touched.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from devices.atomic_files import exclusive_lock, make_durable, write_atomically
from devices.enrolment.counters import LengthCounter, counter_of, make_counters
from devices.enrolment.state import COUNTED, State, ledger_name
from devices.ledger import schema, schema_1
from devices.ledger.chain import checked
from devices.ledger.columns import LedgerDamaged
from devices.ledger.ledger import Ledger
from devices.ledger.rows import Answer, Header

KEPT = ".schema-1"


def migrate(folder: Path) -> int:
    """Give a folder its present form, and return how many of its ledgers were of an older one.

    No process may serve the folder meanwhile. A migration that was interrupted is done again.

    Raises:
        ValueError: where the folder holds no devices, or a ledger is damaged, older than its
            counter, or open in another process; nothing was replaced then.
        OSError: where the folder cannot be written.
    """
    state = State(folder, any_schema=True)
    paths = [folder / ledger_name(shard) for shard in range(-(-len(state) // state.shard))]
    with exclusive_lock(folder):
        found = []
        for shard, path in enumerate(paths):
            version = schema.version_of(path)
            if version == schema_1.SCHEMA:
                found.append((path, *_read(state, shard, path)))
            elif version is None and shard in state.shards:
                fault = "is damaged (it cannot be read)" if path.is_file() else "is missing"
                raise ValueError(f"{path} {fault}: what these devices released is not known; nothing was migrated")
        for path, rows, answers in reversed(found):  # the first ledger last: it says whether all is done
            _replace(state, path, rows, answers)
        if "counter" in state.head:
            _replace_counters(state, paths)
            return len(paths)
    return len(found)


def _read(state: State, shard: int, path: Path) -> tuple[int, list[list[Answer]]]:
    try:
        rows, answers = schema_1.read(path, state.seal_key)
        if any(device[0].device // state.shard != shard for device in answers):
            raise LedgerDamaged("it holds rows of devices that live in another ledger")
    except LedgerDamaged as error:
        raise ValueError(f"{path} is damaged ({error}); nothing was migrated") from error
    _compare(state, shard, path, rows)
    return rows, answers


def _compare(state: State, shard: int, path: Path, rows: int) -> None:
    if "counter" in state.head and rows < LengthCounter(state.head, shard).read():
        raise ValueError(f"{path} is older than its counter: releases are missing; nothing was migrated")


def _replace(state: State, path: Path, rows: int, answers: list[list[Answer]]) -> None:
    """Write the answers to a new file, keep the old one under another name, and give the new one its name."""
    try:
        with closing(sqlite3.connect(path, timeout=0)) as db:
            db.execute("PRAGMA journal_mode=DELETE")  # fails where another connection is open; empties the log
    except sqlite3.Error as error:
        raise ValueError(f"{path} is in use by another process: stop it first") from error
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    os.close(handle)
    new = Path(name)
    try:
        schema.fill(new, Header(counted_before=rows - sum(map(len, answers))))
        ledger = Ledger(new)
        with ledger.transaction():
            for own in answers:
                key = state.seal_key(own[0].device)
                for answer in own:
                    ledger.enter(answer, after=ledger.head(answer.device), seal_key=key)
        ledger.close()
        make_durable(new)
        kept = path.with_name(path.name + KEPT)
        if not (kept.exists() and kept.samefile(path)):
            os.link(path, kept)
        os.replace(new, path)
        make_durable(path.parent)
    finally:
        new.unlink(missing_ok=True)


def _replace_counters(state: State, paths: list[Path]) -> None:
    """Make counters of the chains' ends, name them in ``enrolment.json``, and remove the counters of rows."""
    old = [LengthCounter(state.head, shard) for shard in range(len(paths))]
    head = {name: value for name, value in state.head.items() if name != "counter"}
    head |= {"format": COUNTED, "counters": old[0].successor()}
    heads = []
    for shard, path in enumerate(paths):
        with closing(sqlite3.connect(path)) as db:
            _compare(state, shard, path, *db.execute(schema.COUNT).fetchone())
        ledger = Ledger(path)
        try:
            here = [device for device in state.residents if device // state.shard == shard]
            for device, answers in ledger.devices():
                list(checked(answers, state.seal_key(device)))
            heads.append({device: ledger.head(device) for device in here})
        except (LedgerDamaged, IndexError) as error:
            raise ValueError(f"{path} is damaged ({error}); its counter was not migrated") from error
        finally:
            ledger.close()
    for shard, ends in enumerate(heads):
        try:
            make_counters(head["counters"], shard, ends)
        except FileExistsError:  # by a migration that was interrupted, or by that of a copy
            held = counter_of(head["counters"], shard).entries(ends)
            if {device: entry.head for device, entry in held.items()} != ends:
                raise ValueError(f"{state.folder}: another copy of it was migrated and has answered since") from None
    write_atomically(state.folder / "enrolment.json", json.dumps(head, indent=1))
    for counter in old:  # an older program does not serve a copy of the folder without its counter
        counter.path.unlink(missing_ok=True)
