"""Plain adversaries: they ask the same question T times and change nothing else.

An app without a ledger never withstands all three. Its answers are all different, and too many to be kept: each is
added to a tally when it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from flwr.app import ArrayRecord, Message, MetricRecord

from ldpsim.devices.query import Query
from ldpsim.devices.report import Report
from ldpsim.strategies.attacks.adversaries.curator import AdversarialCurator, Runs, Shot, recollected
from ldpsim.strategies.attacks.adversaries.target import Target
from ldpsim.strategies.attacks.stress.tallies import Tally

_BATCH = 1 << 15  # largest number of messages that are sent together


class PlainCurator(AdversarialCurator):
    """Base of the plain adversaries.

    Args:
        target: The devices.
        tally: Gets the reports.
        asks: Number of times that each device is asked.
        heard: Called after each round with the number of rounds so far.
    """

    grows: ClassVar[bool] = True  # whether round t is the t-th ask of everybody

    def __init__(
        self, target: Target, tally: Tally, *, asks: int, heard: Callable[[int], None] = lambda number: None
    ) -> None:
        super().__init__(target, asks=asks)
        self._tally, self._heard, self._rounds = tally, heard, 0

    def keep(self, device: int, query: Query, report: Report) -> None:
        """Add a report to the tally."""
        self._tally.add(device, query, report)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Keep the answers of a round."""
        found = super().aggregate_train(server_round, replies)
        self._rounds += 1
        self._heard(self._rounds)
        return found

    def _collections(self) -> list[list[Shot]]:
        """Return a round for each ask, each under a new collection id."""
        return [[Shot(recollected(self.target.query, f"ask-{number}"))] for number in range(1, self.asks + 1)]


class PlainRepeat(PlainCurator):
    """Asks in T rounds of one run."""

    name = "repeat"
    description = "the same question in T rounds of one run, each under a new collection id"

    def runs(self) -> Runs:
        yield self._collections()


class PlainNewRun(PlainCurator):
    """Asks in T runs of one round."""

    name = "new-run"
    description = "the same question in T runs, each under a new collection id"

    def runs(self) -> Runs:
        yield from ([round_] for round_ in self._collections())


class PlainAtOnce(PlainCurator):
    """Pushes all T messages to a device together."""

    name = "at-once"
    description = "the same question in T messages that are pushed together"
    grows = False

    def runs(self) -> Runs:
        width = max(1, _BATCH // self.asks)
        for first in range(0, self.target.devices, width):
            some = range(first, min(first + width, self.target.devices))
            yield [[Shot(self.target.query, devices=some, times=self.asks)]]


PLAIN: Mapping[str, type[PlainCurator]] = {kind.name: kind for kind in (PlainRepeat, PlainNewRun, PlainAtOnce)}
