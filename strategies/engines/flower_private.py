"""Names of Flower that are not public, and all that ldpsim does with them.

Flower's runtime gives a process the identity of its task, and the SuperLink gives a message its id. Grids without that
runtime do both themselves. Only ``ldpsim.devices`` touches one more, to switch telemetry off.
``tests/strategies/engines/test_flower_contract.py`` checks each name with the Flower that is installed.
"""

from __future__ import annotations

import logging
from typing import Any

from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity

LOGGER = "flwr"  # Flower logs here what a run prints


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


class OneLine(logging.Filter):
    """Filter of Flower's log: an error of these kinds is its own text, without a traceback.

    Args:
        kinds: The errors that are a mistake of the person, or a refusal.
    """

    def __init__(self, *kinds: type[BaseException]) -> None:
        super().__init__()
        self._kinds = kinds

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True; the record of such an error loses its traceback."""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, self._kinds):
            record.msg, record.args, record.exc_info = "error: %s", (" ".join(str(error).split()),), None
        return True


def errors_in_one_line(*kinds: type[BaseException]) -> None:
    """Let Flower's log have these errors in one line; a second call changes nothing."""
    logger = logging.getLogger(LOGGER)
    if not any(isinstance(each, OneLine) for each in logger.filters):
        logger.addFilter(OneLine(*kinds))
