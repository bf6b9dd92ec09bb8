"""Reports that are decoded while a collection goes on, in place of their bytes.

Batches may come back in any order. The digest and the decoder take the devices in rising order,
so a report waits until every device before it has answered, or will not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ldpsim.curator.methods.base import Question
from ldpsim.curator.reports.decoding import Decoder
from ldpsim.curator.reports.digest import ReportsDigest
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.silenced import silenced
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.wire import ReportColumns


class Streamed:
    """Reports of a collection of one stage and one part.

    Args:
        facts: Sizes, ranges and domains.
        questions: The questions.
    """

    def __init__(self, facts: PublicFacts, questions: Sequence[Question]) -> None:
        self._decoder = Decoder(facts, questions)
        self._digest = ReportsDigest()
        self._came = np.zeros(facts.n, np.bool_)
        self._waiting: list[ReportColumns] = []
        self._first_waiting = facts.n  # number of the first device that waits

    def has(self, devices: int | IntArray) -> bool:
        """Return whether the report of a device, or of one of several, came."""
        return bool(np.any(self._came[devices]))

    def take(self, reports: ReportColumns) -> None:
        """Take the reports of devices that :meth:`has` does not know."""
        self._came[reports.devices] = True
        self._waiting.append(reports)
        self._first_waiting = min(self._first_waiting, int(reports.devices[0]))

    @property
    def waiting(self) -> int:
        """Number of reports that wait for those of devices before them."""
        return sum(len(some.devices) for some in self._waiting)

    def settle(self, below: int) -> None:
        """Decode the reports of the devices below this number; no other one of these will come."""
        if below <= self._first_waiting:  # a message to one device brings one report: not all are looked at each time
            return
        cut = [some.cut(below) for some in self._waiting]
        self._waiting = [rest for _, rest in cut if len(rest.devices)]
        self._first_waiting = min((int(rest.devices[0]) for rest in self._waiting), default=self._decoder.facts.n)
        ready = [some for some, _ in cut if len(some.devices)]
        if not ready:
            return
        devices, reports = _in_order([(some.devices, some.reports) for some in ready])
        self._digest.add(dict(zip(devices, reports, strict=True)))
        for attribute, ask in self._decoder.asks.items():
            own = [(some.devices, some.parts[attribute]) for some in ready if attribute in some.parts]
            for place in range(len(ask.mechanisms)):
                self._decoder.add_part(attribute, place, *_in_order([(who, parts[place]) for who, parts in own]))

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


def _in_order(columns: Sequence[tuple[IntArray, Sequence[bytes]]]) -> tuple[list[int], Sequence[bytes]]:
    """Return the devices of several groups in rising order, and the value of each."""
    if not columns:
        return [], []
    devices = np.concatenate([who for who, _ in columns])
    values = columns[0][1] if len(columns) == 1 else list(chain.from_iterable(given for _, given in columns))
    if np.all(devices[1:] > devices[:-1]):
        return devices.tolist(), values
    order = np.argsort(devices)
    return devices[order].tolist(), [values[place] for place in order.tolist()]
