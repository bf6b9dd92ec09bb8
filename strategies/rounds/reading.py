"""Reports of a collection: bytes that no decoder reads count as a failed answer, and do not end the run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.raw_record import read_record
from ldpsim.strategies.rounds.collect_once import Collected


def read_reports(facts: PublicFacts, questions: Sequence[Question], collected: Collected) -> Reports:
    """Return the decoded reports; devices whose bytes are malformed are counted as failed and dropped.

    Raises:
        ValueError: for answers that are wrong in another way.
    """
    reports, wrong = Reports.readable(facts, questions, collected.answers)
    if not wrong:
        return reports
    collected.drop(sorted(wrong))
    return Reports.from_bytes(facts, questions, collected.answers)


def read_records(facts: PublicFacts, collected: Collected) -> dict[int, Record]:
    """Return the raw records that were handed over; devices whose record is malformed are counted as failed."""
    found: dict[int, Record] = {}
    for device, parts in sorted(collected.answers.items()):
        with suppress(ValueError):
            found[device] = read_record(parts, facts)
    collected.drop(sorted(collected.answers.keys() - found.keys()))
    collected.answers.clear()
    return found
