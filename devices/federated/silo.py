"""A silo: a party of a federated training that is one Flower client, told by ``silo-dir`` in its node configuration.

It has no ledger: its members' hand-over is the release (:mod:`ldpsim.devices.raw_record`), and nothing that it sends
is under noise.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from flwr.app import Message

from ldpsim.devices.device import Refusal
from ldpsim.devices.federated.members import Members
from ldpsim.devices.federated.participation import answer_round
from ldpsim.devices.training_task import AnswerKind, Task
from ldpsim.devices.wire import reply


class Silo:
    """The silo of a folder, as a party that permits every round to itself.

    Args:
        folder: Its folder, ``silo-<number>``.
    """

    noise_key = b""

    def __init__(self, folder: Path) -> None:
        self.index = int(folder.name.rpartition("-")[2])
        self.record = _members(str(folder), os.getpid())

    def takes_part(self, task: Task) -> bool:
        """Return True."""
        return True

    def join(self, task: Task, kind: AnswerKind, question: bytes) -> Silo:
        """Return the permit, which is the silo itself."""
        return self

    def enter(self, task: Task, kind: AnswerKind, permit: object, size: int) -> None:
        """Enter nothing."""

    def refuse(self, refusal: Refusal) -> Refusal:
        """Answer a message that is refused."""
        return refusal


def answer_as_silo(folder: Path, message: Message, kind: AnswerKind | None) -> Message:
    """Answer one message for the silo of a folder. A malformed message gets ``UNKNOWN_QUERY``."""
    try:
        (answer,) = answer_round([(Silo(folder), message)], kind, folder)
        return answer
    except Exception:  # Flower would send the text of an exception to the server
        return reply(Refusal.UNKNOWN_QUERY, message, device=-1)


@lru_cache(maxsize=256)
def _members(folder: str, process: int) -> Members:
    return Members.load(Path(folder))
