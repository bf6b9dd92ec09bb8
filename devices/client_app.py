"""The Flower ``ClientApp``: decode, call the device, encode.

Which device a message is for comes from the node's own configuration: ``partition-id``
(the device's key in its state folder) and ``state-dir``. Where the node names no state folder,
as in Flower's simulation runtime, the environment does (``LDPSIM_STATE``). A run's configuration
never does: whoever starts a run writes it. Flower's node id is never an identity, and Flower's
``Context.state`` is never a ledger. Where the node
names a ``socket``, the device lives behind it in a vault, and the ClientApp only carries
messages (:mod:`ldpsim.devices.vault.relay`).

Flower puts the text of an exception into its reply. Nothing may therefore escape from
here: every failure becomes one of the fixed refusals.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from flwr.app import Context, Message, MessageType
from flwr.clientapp import ClientApp

from ldpsim.devices.answer_many import answer_together
from ldpsim.devices.atomic_files import ldpsim_home
from ldpsim.devices.device import Device, Refusal
from ldpsim.devices.enrolment.state import SHARD, State
from ldpsim.devices.ledger.ledger import LedgerDamaged
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import AnswerKind
from ldpsim.devices.vault.relay import relay
from ldpsim.devices.wire import batch_reply, introduction, read_batch, read_query, reply

HOSTS_SHARD = "hosts-shard"  # of a node's own configuration
STATE = "LDPSIM_STATE"  # in the environment of Flower's processes: the folder of simulated devices

_opened: list[State] = []


@cache
def open_state(folder: str, process: int) -> State:
    """Open a state folder, once a process (an SQLite connection must not cross a fork)."""
    state = State(Path(folder))
    _opened.append(state)
    return state


def release_states() -> None:
    """Forget every state folder this process opened; SQLite tidies up beside the ledgers.

    Only open files are given up: what a device may answer stands in its ledger.
    """
    # A cache cannot list its entries, so the states are kept here as well.
    while _opened:
        _opened.pop().close()
    open_state.cache_clear()


def state_folder(context: Context) -> str:
    """Return the folder of this node's devices; the node's own configuration comes before the environment."""
    named = context.node_config.get("state-dir") or os.environ.get(STATE)
    return str(named) if named else str(default_state_folder(context.run_id))


def default_state_folder(run_id: int) -> Path:
    """Return the folder in which a simulation started by ``flwr run`` alone keeps the devices of one run."""
    return ldpsim_home() / "flwr" / f"run-{run_id}" / "state"


def device_of(context: Context) -> Device:
    """Return the device that this node is.

    Raises:
        LedgerDamaged, ValueError, IndexError, KeyError, OSError: for a node without a device that can be opened;
            :class:`DeviceApp` then answers ``LEDGER_DAMAGED``.
    """
    return open_state(state_folder(context), os.getpid()).device(int(context.node_config["partition-id"]))


class DeviceApp(ClientApp):
    """A ClientApp from which no exception escapes."""

    def __call__(self, message: Message, context: Context) -> Message:
        """Answer a message; an unknown kind of message is an unknown question."""
        try:
            if context.node_config.get("socket"):
                return relay(message, context)
            return super().__call__(message, context)
        except LedgerDamaged:
            if _in_batch(context):
                raise  # the fleet gives up the whole batch: nothing of it was committed
            refusal = Refusal.LEDGER_DAMAGED
        except Exception:
            refusal = _refusal_of(message, context)
        return reply(refusal, message, device=-1)


def _refusal_of(message: Message, context: Context) -> Refusal:
    """Return the refusal of a message that no handler took, or whose handler failed."""
    if context.node_config.get("socket"):
        return Refusal.LEDGER_DAMAGED  # the only device is the one behind the socket
    try:
        device = device_of(context)
        if message.metadata.message_type.partition(".")[0] in (MessageType.TRAIN, MessageType.EVALUATE):
            return device.refuse_mode()
        return device.refuse_unknown()
    except Exception:
        return Refusal.LEDGER_DAMAGED


def _in_batch(context: Context) -> bool:
    try:
        state = open_state(state_folder(context), os.getpid())
        return state.ledger(int(context.node_config["partition-id"])).in_transaction
    except (LedgerDamaged, ValueError, KeyError, OSError):
        return False  # a folder that cannot be opened holds no transaction


app = DeviceApp()


@app.query("report")
def report(message: Message, context: Context) -> Message:
    """Answer a question about the device's data."""
    return _answer(message, context, raw=False)


@app.query("reports")
def answer_shard(message: Message, context: Context) -> Message:
    """Answer for many devices, where the node hosts a whole shard of them (:class:`ldpsim.devices.fleet.Fleet`).

    Only the node can say so. A node that is one device does not know this question.
    """
    if not context.node_config.get(HOSTS_SHARD):
        raise InvalidQuery("this node is one device")
    question, devices = read_batch(message)
    if devices and devices[0] // SHARD != int(context.node_config["partition-id"]) // SHARD:
        raise InvalidQuery("the devices live in another ledger than the node's own")
    state = open_state(state_folder(context), os.getpid())
    return batch_reply(answer_together(state, devices, question), message)


@app.query("handover")
def hand_over(message: Message, context: Context) -> Message:
    """Give the record to its owner, where the device was enrolled for that."""
    return _answer(message, context, raw=True)


def _answer(message: Message, context: Context, *, raw: bool) -> Message:
    device = device_of(context)
    try:
        question = read_query(message)
    except InvalidQuery:
        question = b""  # no query is empty, so the device answers as to any malformed question
    answered = device.hand_over(question) if raw else device.answer(question)
    return reply(answered, message, device=device.index)


@app.query("whoami")
def whoami(message: Message, context: Context) -> Message:
    """Return the number of this node's device, public and from its configuration; nothing private is opened."""
    own_state = bool(context.node_config.get("state-dir"))
    return introduction(message, device=int(context.node_config["partition-id"]), own_state=own_state)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train, if the device was enrolled for it or the node is a silo; a reporting device refuses."""
    return _answer_training(message, context, "update")


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """Evaluate, likewise. This is a release: a crafted model makes the accuracy return the label."""
    return _answer_training(message, context, "evaluation")


@app.query("exchange")
def exchange(message: Message, context: Context) -> Message:
    """Send the values that other parties of a federated training need."""
    return _answer_training(message, context, "exchange")


@app.query("receive")
def receive(message: Message, context: Context) -> Message:
    """Keep the values that other parties sent, for later rounds; nothing is released."""
    return _answer_training(message, context, None)


def _answer_training(message: Message, context: Context, kind: AnswerKind | None) -> Message:
    from ldpsim.devices.federated import participation, silo

    if context.node_config.get("silo-dir"):
        return silo.answer_as_silo(Path(str(context.node_config["silo-dir"])), message, kind)
    received = open_state(state_folder(context), os.getpid()).received
    return participation.answer_as_device(received, device_of(context), message, kind)
