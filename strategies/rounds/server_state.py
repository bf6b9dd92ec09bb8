"""State that a server's strategy carries from one round to the next.

A strategy that keeps any has ``state()`` and ``restore(state)``. A checkpoint saves the one and gives it to the other
in the next start, on a new strategy of the same kind. Flower's own strategies have neither: those among them that keep
state have a subclass in this package. ``tests/strategies/federated/test_server_state.py`` runs the strategy of every
registered method, and fails for one that goes on in another way after it was restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

ServerState = dict[str, np.ndarray]


class KeepsState(Protocol):
    """A strategy with state; its arrays hold no pickled object."""

    def state(self) -> ServerState:
        """Return everything that a later round reads, as arrays by name."""

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set a new strategy to what :meth:`state` returned."""


def state_of(strategy: Any) -> ServerState:
    """Return the state of a strategy; nothing for one without.

    Raises:
        TypeError: for a strategy that has one of the two methods alone.
    """
    return strategy.state() if _keeps_state(strategy) else {}


def restore_state(strategy: Any, state: Mapping[str, np.ndarray]) -> None:
    """Set a new strategy to what :func:`state_of` returned; nothing to restore changes nothing.

    Raises:
        TypeError: for a strategy that has no state, or one of the two methods alone.
    """
    if _keeps_state(strategy) and state:
        strategy.restore(state)
    elif state:
        raise TypeError(f"{type(strategy).__name__} has no restore() for {', '.join(sorted(state))}")


def _keeps_state(strategy: Any) -> bool:
    found = [name for name in ("state", "restore") if callable(getattr(strategy, name, None))]
    if len(found) == 1:
        kind = type(strategy).__name__
        raise TypeError(f"{kind} has {found[0]}() alone: a strategy with state has state() and restore()")
    return bool(found)
