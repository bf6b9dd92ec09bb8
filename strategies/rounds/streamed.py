"""Reports that are decoded while a collection goes on, in place of their bytes.

Batches may come back in any order. The digest and the decoder take the devices in rising order,
so a batch waits until every device before it has answered, or will not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from curator.methods.base import Question
from curator.reports.decoding import Decoder
from curator.reports.digest import ReportsDigest
from curator.reports.reports import Reports
from curator.reports.silenced import silenced
from devices.facts import PublicFacts


class Streamed:
    """Reports of a collection of one stage and one part.

    Args:
        facts: Sizes, ranges and domains.
        questions: The questions.
    """

    def __init__(self, facts: PublicFacts, questions: Sequence[Question]) -> None:
        self._decoder = Decoder(facts, questions)
        self._digest = ReportsDigest()
        self._waiting: dict[int, tuple[bytes, Mapping[str, tuple[bytes, ...]]]] = {}

    def has(self, device: int) -> bool:
        """Return whether the device's report came."""
        return device in self._waiting or bool(self._decoder.answered[device])

    def take(self, device: int, data: bytes, parts: Mapping[str, tuple[bytes, ...]]) -> None:
        """Take a report: its bytes, and its parts by attribute and mechanism."""
        self._waiting[device] = data, parts

    def settle(self, below: int) -> None:
        """Decode the reports of the devices below this number; no other one of these will come."""
        ready = sorted(device for device in self._waiting if device < below)
        taken = {device: self._waiting.pop(device) for device in ready}
        self._digest.add({device: data for device, (data, _) in taken.items()})
        self._decoder.add({device: parts for device, (_, parts) in taken.items()})

    def done(self) -> tuple[Reports, str, list[int]]:
        """Return the decoded reports, the digest of all bytes, and the devices whose bytes are malformed.

        Those devices have no report.

        Raises:
            ValueError: for an answer of a device that was not asked.
        """
        facts = self._decoder.facts
        self.settle(facts.n)
        reports, wrong = Reports.decoded(self._decoder)
        return silenced(reports, np.isin(np.arange(facts.n), list(wrong))), self._digest.hexdigest(), sorted(wrong)
