"""Reports of a collection: bytes that no decoder reads count as a failed answer, and do not end the run."""

from __future__ import annotations

from collections.abc import Sequence

from curator.reports.question import Question
from curator.reports.reports import Reports
from devices.facts import PublicFacts
from strategies.rounds.collect_once import Collected


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
