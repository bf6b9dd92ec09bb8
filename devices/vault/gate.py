"""Gate of a vault: how many connections are open, of which processes and users, and who leaves first.

A question is short and arrives at once. So where a limit is reached, the connection that has
been silent for longest makes room, and the new one is let in: connections that are slow on
purpose displace one another, and nobody who asks. A connection whose question has arrived is
never displaced. Where all of them have, the new one is turned away. Both get ``VAULT_BUSY``.

The kernel tells process and user of the other side (``SO_PEERCRED``); nobody can lie about them.
"""

from __future__ import annotations

import resource
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum

_CREDENTIALS = struct.Struct("3i")
_OTHER_FILES = 64  # the ledgers, the records, the listener, and what libraries open


class CallerPhase(Enum):
    """Phase of a connection."""

    READING = "its question is arriving"
    JUDGED = "its question waits or is judged"
    ANSWERED = "its answer is being taken"


@dataclass(eq=False)
class Caller:
    """One open connection.

    Args:
        process: Id of the process on the other side, 0 where the kernel does not tell.
        user: Its user.
        leave: Called with no arguments where it has to make room.
        phase: Its phase.
    """

    process: int
    user: int
    leave: Callable[[], None] = field(repr=False)
    phase: CallerPhase = CallerPhase.READING


class Gate:
    """The open connections, within three limits.

    Args:
        connections: Largest number in all.
        per_user: Largest number of one user; None for half of all.
        per_process: Largest number of one process.
    """

    def __init__(self, connections: int, *, per_user: int | None = None, per_process: int) -> None:
        self.connections = connections
        self.per_user = max(1, connections // 2) if per_user is None else per_user
        self.per_process = per_process
        self._open: dict[Caller, None] = {}  # in the order of their arrival

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, caller: Caller) -> bool:
        """Let a new connection in, at the cost of a silent one if need be; return whether it is in."""
        for limit, alike in (
            (self.per_process, lambda other: other.process == caller.process),
            (self.per_user, lambda other: other.user == caller.user),
            (self.connections, lambda other: True),
        ):
            if not self._make_room(limit, alike):
                return False
        self._open[caller] = None
        return True

    def forget(self, caller: Caller) -> None:
        """Take note that a connection is closed."""
        self._open.pop(caller, None)

    def _make_room(self, limit: int, alike: Callable[[Caller], bool]) -> bool:
        those = [caller for caller in self._open if alike(caller)]
        if len(those) < limit:
            return True
        for caller in _first_to_leave(those):
            self.forget(caller)
            caller.leave()
            return True
        return False


def _first_to_leave(callers: list[Caller]) -> Iterator[Caller]:
    for phase in (CallerPhase.READING, CallerPhase.ANSWERED):
        yield from (caller for caller in callers if caller.phase is phase)


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return process and user of the other side of a local connection; zeros where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return 0, 0
    process, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return process, user


def room_for(connections: int) -> int:
    """Return how many of so many connections the process may open: file descriptors must be left for its own files."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return connections if allowed == resource.RLIM_INFINITY else max(1, min(connections, allowed - _OTHER_FILES))
