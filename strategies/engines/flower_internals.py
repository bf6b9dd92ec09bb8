"""Two private parts of Flower 1.41 and 1.42 that have no public setter.

A ``Message`` can only be built in a process with a task identity. Only the SuperLink sets a
message id. The grids of this package need both. ``pyproject.toml`` admits no other version of flwr, and
``tests/strategies/engines/test_flower_contract.py`` checks both parts.
"""

from __future__ import annotations

from typing import Any

from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity


def assume_identity(*, run_id: int, node_id: int = 0, task_id: int = 0) -> None:
    """Set the task identity of this process, as Flower's runtime does, unless it has one."""
    identity: Any = TaskIdentity
    if identity._run_id is None:
        identity.run_id = run_id
        identity.node_id = node_id
        identity.task_id = task_id


def set_message_id(message: Message, message_id: str) -> None:
    """Set the id of a message, as the SuperLink does."""
    message.metadata.__dict__["_message_id"] = message_id
