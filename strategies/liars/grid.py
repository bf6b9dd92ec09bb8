"""Grid with lying devices in it: their messages go to the edited ClientApp, all others to the inner Grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from flwr.app import Message

from strategies.engines.grids import Around, DirectGrid, SiloGrid
from strategies.liars.app import LyingApp, answer_all
from strategies.liars.plan import Plan


class LyingGrid(DirectGrid):
    """Grid that takes the messages of some nodes to the edited ClientApp.

    Args:
        inner: Grid of all devices; it gets the messages of the honest ones alone.
        folder: State folder of the devices, or the silos' folder.
        plan: The lies.
    """

    def __init__(self, inner: DirectGrid, folder: Path, plan: Plan) -> None:
        super().__init__(inner.size)
        self._inner, self._folder = inner, folder
        self._app, self._nodes = LyingApp(plan), plan.nodes

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Yield the replies of the liars, then those of the honest devices."""
        messages = list(messages)
        lying = [message for message in messages if message.metadata.dst_node_id in self._nodes]
        if lying:
            yield from answer_all(self._app, self._folder, lying)
        yield from self._inner.deliver([m for m in messages if m.metadata.dst_node_id not in self._nodes])


def among(plan: Plan | None, silos: Plan | None = None) -> Around:
    """Return what puts the liars of a plan among the devices, or those of another plan among the silos."""

    def around(grid: DirectGrid, folder: Path) -> DirectGrid:
        chosen = silos if isinstance(grid, SiloGrid) else plan
        return grid if chosen is None else LyingGrid(grid, folder, chosen)

    return around
