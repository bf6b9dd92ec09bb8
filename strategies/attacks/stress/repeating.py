"""Plain adversaries: they ask the same question T times and change nothing else.

- ``repeat``: T rounds of one run, a new collection id each;
- ``new-run``: T runs of one round, a new collection id each;
- ``at-once``: all T messages to a device pushed together.

An app without a ledger never withstands all three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid

from devices.device import Refusal
from devices.query import Query
from devices.wire import message_type, query_content, read_reply
from strategies.attacks.stress.grids import UnguardedGrid
from strategies.attacks.stress.tallies import Tally
from strategies.engines.grids import LocalGrid
from strategies.rounds.collect_once import ReportStrategy

PLAIN = {
    "repeat": "the same question in T rounds of one run, each under a new collection id",
    "new-run": "the same question in T runs, each under a new collection id",
    "at-once": "the same question in T messages that are pushed together",
}
_BATCH = 1 << 15  # largest number of messages that are sent together


class Asking(ReportStrategy):
    """Strategy that asks one query in each round and gives the reports to a tally.

    Args:
        queries: The query of each round; it goes to ``devices``, ``times`` times.
        tally: Gets the reports.
        devices: Devices to ask.
        times: Number of messages that a device gets together.
        heard: Called after every round with its number.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        tally: Tally,
        *,
        devices: range,
        times: int = 1,
        heard: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._queries, self._tally = queries, tally
        self._devices, self._times, self._heard = devices, times, heard
        self.answers: Counter[str] = Counter()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return this round's messages; those of a device follow one another."""
        query = self._queries[server_round - 1]
        content, kind, group = query_content(query), message_type(query), str(server_round)
        return [
            Message(content, device + 1, kind, group_id=group) for device in self._devices for _ in range(self._times)
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Give the reports to the tally and count the answers."""
        query = self._queries[server_round - 1]
        for message in replies:
            answer = read_reply(message)
            if isinstance(answer, tuple):
                device, report = answer
                self.answers["replayed" if report.replayed else "reported"] += 1
                self._tally.add(device, query, report)
            else:
                self.answers[answer.name if isinstance(answer, Refusal) else "failed"] += 1
        self._heard(server_round)
        return None, None


def collections(query: Query, asks: int) -> Iterator[Query]:
    """Yield the same question under ``asks`` collection ids."""
    return (replace(query, collection=f"ask-{number}") for number in range(1, asks + 1))


def attack(
    name: str,
    grid: LocalGrid,
    query: Query,
    tally: Tally,
    *,
    asks: int,
    heard: Callable[[int], None] = lambda asked: None,
) -> Counter[str]:
    """Attack the nodes of a grid with a plain adversary.

    Args:
        name: One of :data:`PLAIN`.
        grid: Grid of the devices.
        query: The question.
        tally: Gets the reports.
        asks: Number of times that each device is asked.
        heard: Called after each ask of all devices with the number of asks so far; ``at-once``
            calls it once, at the end.

    Returns:
        Numbers of answers by kind.
    """
    everybody = range(grid.size)
    answers: Counter[str] = Counter()
    if name == "repeat":
        _run(Asking(list(collections(query, asks)), tally, devices=everybody, heard=heard), grid, asks, answers)
    elif name == "new-run":
        for number, asked in enumerate(collections(query, asks), 1):
            if isinstance(grid, UnguardedGrid):  # real devices have nothing that a run renews
                grid.new_run()
            _run(Asking([asked], tally, devices=everybody), grid, 1, answers)
            heard(number)
    else:
        width = max(1, _BATCH // asks)
        for first in range(0, grid.size, width):
            some = range(first, min(first + width, grid.size))
            _run(Asking([query], tally, devices=some, times=asks), grid, 1, answers)
        heard(asks)
    return answers


def _run(strategy: Asking, grid: LocalGrid, rounds: int, answers: Counter[str]) -> None:
    strategy.start(grid, ArrayRecord(), num_rounds=rounds)
    answers.update(strategy.answers)
