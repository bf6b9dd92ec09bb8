"""ClientApp of a device that lives in a vault: it only carries messages."""

from __future__ import annotations

from flwr.app import Context, Message, MessageType

from ldpsim.devices.device import Refusal
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.vault.client import VaultDevice
from ldpsim.devices.vault.protocol import FrameKind
from ldpsim.devices.wire import HANDOVER_TYPE, QUERY_TYPE, WHOAMI_TYPE, introduction, read_query, reply


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
    if kind == HANDOVER_TYPE:
        return reply(device.hand_over(question), message, device=device.index)
    of_another_mode = kind.partition(".")[0] in (MessageType.TRAIN, MessageType.EVALUATE)
    refusal = device.refuse(FrameKind.OTHER_MODE if of_another_mode else FrameKind.UNKNOWN)
    return reply(refusal, message, device=device.index)
