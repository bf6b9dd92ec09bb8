"""The Flower ``ClientApp``: decode, call the device, encode.

Which device a message is for comes from the node's own configuration: ``partition-id``
(the device's key in its state folder) and ``state-dir``. Where the node names no state folder,
as in Flower's simulation runtime, the environment does (``LDPSIM_STATE``). A run's configuration
never does: whoever starts a run writes it. Flower's node id is never an identity, and Flower's
``Context.state`` is never a ledger. Where the node
names a ``socket``, the device lives behind it in a vault, and the ClientApp only carries
messages (:mod:`ldpsim.devices.vault.client`).

Flower puts the text of an exception into its reply. Nothing may therefore escape from
here: every failure becomes one of the fixed refusals.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from ldpsim.devices.atomic_files import ldpsim_home
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.federated.participation import TRAINING, answer_as_silo
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.vault.client import relay
from ldpsim.devices.wire import WHOAMI_TYPE, introduction, reply

STATE = "LDPSIM_STATE"  # in the environment of Flower's processes: the folder of simulated devices


@cache
def open_state(folder: str, process: int) -> State:
    """Open a state folder, once a process (an SQLite connection must not cross a fork)."""
    return State(Path(folder))


def state_folder(context: Context) -> str:
    """Return the folder of this node's devices; the node's own configuration comes before the environment."""
    folder = context.node_config.get("state-dir") or os.environ.get(STATE)
    return str(folder) if folder else str(default_state_folder(context.run_id))


def default_state_folder(run_id: int) -> Path:
    """Return the folder in which a simulation started by ``flwr run`` alone keeps the devices of one run."""
    return ldpsim_home() / "flwr" / f"run-{run_id}" / "state"


class DeviceApp(ClientApp):
    """A ClientApp from which no exception escapes. A node is one device, or a silo."""

    def __call__(self, message: Message, context: Context) -> Message:
        """Answer a message; an unknown kind of message is an unknown question."""
        try:
            return _answer(message, context)
        except Exception:
            return reply(Refusal.LEDGER_DAMAGED, message, device=-1)


def _answer(message: Message, context: Context) -> Message:
    if context.node_config.get("socket"):
        return relay(message, context)
    device = int(context.node_config["partition-id"])
    if message.metadata.message_type == WHOAMI_TYPE:  # public, and no release: nothing private is opened
        return introduction(message, device=device, own_state=bool(context.node_config.get("state-dir")))
    if context.node_config.get("silo-dir") and message.metadata.message_type in TRAINING:
        silo = Path(str(context.node_config["silo-dir"]))
        return answer_as_silo(silo, message, TRAINING[message.metadata.message_type])
    (answer,) = Fleet(open_state(state_folder(context), os.getpid()), device=device).answer([message])
    return answer


app = DeviceApp()
