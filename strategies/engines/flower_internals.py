"""The two things that Flower 1.41 has no public way to set, in one place.

A ``Message`` can only be built in a process with a task identity, and a message id is
set by the SuperLink alone. Grids of our own need both. ``tests/strategies`` hold a
contract test for them, and flwr is pinned to 1.41.
"""

from __future__ import annotations

from typing import Any

from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity


def assume_identity(*, run_id: int, node_id: int = 0, task_id: int = 0) -> None:
    """Give this process the identity that Flower's runtime would have given it, unless it has one."""
    identity: Any = TaskIdentity
    if identity._run_id is None:
        identity.run_id = run_id
        identity.node_id = node_id
        identity.task_id = task_id


def set_message_id(message: Message, message_id: str) -> None:
    """Number a message, as the SuperLink does."""
    message.metadata.__dict__["_message_id"] = message_id
