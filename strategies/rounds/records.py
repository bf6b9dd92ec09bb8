"""Raw records that devices handed over to an owner."""

from __future__ import annotations

from contextlib import suppress

from ldpsim.devices.data.records import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.raw_record import read_record
from ldpsim.strategies.rounds.collect_once import Collected


def read_records(facts: PublicFacts, collected: Collected) -> dict[int, Record]:
    """Return the raw records that were handed over; devices whose record is malformed are counted as failed."""
    records: dict[int, Record] = {}
    for device, parts in sorted(collected.answers.items()):
        with suppress(ValueError):
            records[device] = read_record(parts, facts)
    collected.drop(sorted(collected.answers.keys() - records.keys()))
    collected.answers.clear()
    return records
