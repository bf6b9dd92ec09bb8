"""Client side of a vault: a device's number and a socket, no data. The ClientApp only carries messages."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from dataclasses import dataclass

from flwr.app import Context, Message

from ldpsim.devices.device import Refusal
from ldpsim.devices.query import MAX_BYTES, InvalidQuery
from ldpsim.devices.report import Report
from ldpsim.devices.vault import protocol
from ldpsim.devices.vault.protocol import FrameError, FrameKind
from ldpsim.devices.wire import QUERY_TYPE, WHOAMI_TYPE, introduction, is_of_training, read_query, reply

SECONDS = 30.0
_PAUSE = 0.1
_NOT_THERE = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError, PermissionError)


@dataclass(frozen=True)
class VaultDevice:
    """Device in a vault, with the methods of ``Device``: each sends a question and returns the answer.

    A question is asked again while the vault cannot be reached or breaks off. The vault's
    ledger holds every release, so the same question gets the same bytes again. A vault that is
    there and does not answer in time is ``VAULT_BUSY``. One that is not there counts as a device
    with a damaged ledger: ``LEDGER_DAMAGED``.

    Args:
        path: The vault's socket.
        index: The person's public number.
        seconds: How long to try.

    Raises:
        ValueError: for a number that no device has.
    """

    path: str
    index: int
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        if not 0 <= self.index < 1 << 32:
            raise ValueError(f"no device has the number {self.index}")

    def answer(self, question: bytes) -> Report | Refusal:
        """Ask for a report, or for the whole record."""
        return self._ask(FrameKind.REPORT, question)

    def refuse(self, kind: FrameKind) -> Refusal:
        """Ask for the device's answer to a message that is of another mode, or no question."""
        answer = self._ask(kind, b"")
        return answer if isinstance(answer, Refusal) else Refusal.LEDGER_DAMAGED

    def _ask(self, kind: FrameKind, question: bytes) -> Report | Refusal:
        if len(question) > MAX_BYTES:
            question = b""  # too long for a query; an empty question gets the same answer
        payload = protocol.pack_question(kind, self.index, question)
        deadline = time.monotonic() + self.seconds
        while True:
            try:
                answer = protocol.unpack_answer(self._exchange(payload, deadline))
                if answer is not Refusal.VAULT_BUSY:
                    return answer
            except _NOT_THERE:
                answer = Refusal.LEDGER_DAMAGED
            except (FrameError, OSError):
                answer = Refusal.VAULT_BUSY
            if time.monotonic() + _PAUSE >= deadline:
                return answer
            time.sleep(_PAUSE)

    def _exchange(self, payload: bytes, deadline: float) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(max(_PAUSE, deadline - time.monotonic()))
            connection.connect(self.path)
            # A vault that is busy, or gets a question that is too long, answers without reading to the end.
            with suppress(BrokenPipeError, ConnectionResetError):
                protocol.write_frame(connection, payload, deadline=deadline)
            return protocol.read_frame(connection, limit=protocol.MAX_ANSWER, deadline=deadline)


def relay(message: Message, context: Context) -> Message:
    """Carry a message to the vault that the node's configuration names, and return the answer.

    ``socket`` is the way to the vault and ``partition-id`` the device's number in it. Only the
    node can say so: a run's configuration is the curator's.
    """
    try:
        device = VaultDevice(str(context.node_config["socket"]), int(context.node_config["partition-id"]))
    except (ValueError, KeyError):
        return reply(Refusal.LEDGER_DAMAGED, message, device=-1)
    kind = message.metadata.message_type
    if kind == WHOAMI_TYPE:
        return introduction(message, device=device.index, own_state=True)
    try:
        question = read_query(message)
    except InvalidQuery:
        question = b""  # no query is empty, so the device answers as to any malformed question
    if kind == QUERY_TYPE:
        return reply(device.answer(question), message, device=device.index)
    refusal = device.refuse(FrameKind.OTHER_MODE if is_of_training(kind) else FrameKind.UNKNOWN)
    return reply(refusal, message, device=device.index)
