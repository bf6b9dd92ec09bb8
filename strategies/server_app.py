"""Flower's ``ServerApp``: the curator's side, on the Grid that Flower gives it.

Its environment, the run's configuration and the nodes' answers decide what it does:

- ``LDPSIM_SOCKET`` in its environment: it passes messages between the curator at this socket and the nodes.
  ``ldpsim run --engine flower`` uses Flower in this way (:mod:`ldpsim.strategies.engines.flower`). No
  configuration of a run can name a socket or a folder: whoever reaches a SuperLink writes it.
- No node has a device of its own (``flwr run .`` on the simulation runtime): it enrols one device for
  every node and runs the whole simulation.
- Nodes have devices of their own (SuperNodes with ``state-dir`` in ``--node-config``): it enrols
  nobody. ``facts`` in the run's configuration says what is public.
"""

from __future__ import annotations

import os
from multiprocessing.connection import Client

from flwr.app import Context, Message
from flwr.serverapp import Grid, ServerApp

# Flower's simulation runtime runs this app in a thread and loads the ClientApp in another. It
# takes a module that is only half imported for a whole one ("Unable to load attribute app"), so
# the ClientApp must not be imported for the first time while this app runs.
import ldpsim.devices.client_app  # noqa: F401
from ldpsim.strategies.engines.flower import SOCKET, TIMEOUT
from ldpsim.strategies.engines.flower_private import errors_in_one_line
from ldpsim.strategies.flower_app.alone import introduce, roster_of, wait_for_nodes

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Pass messages on, or run what the configuration names."""
    from ldpsim.strategies.runs.errors import Refused, RunFailed

    errors_in_one_line(ValueError, TimeoutError, Refused, RunFailed)
    run_on_grid(grid, context)


def run_on_grid(grid: Grid, context: Context) -> None:
    """Pass messages on, or run everything, on the nodes of a Grid.

    Raises:
        ValueError: for a mistake of the user, in one line.
        TimeoutError: if too few nodes connect.
    """
    if os.environ.get(SOCKET):
        pass_on(grid, os.environ[SOCKET])
    else:
        from ldpsim.strategies.flower_app.alone import run_alone

        run_alone(grid, context)


def pass_on(grid: Grid, address: str) -> None:
    """Pass messages from a socket to the nodes and replies back, until the other end closes.

    The first message is the number of devices; messages name devices, and so do replies.

    Raises:
        TimeoutError: if too few nodes connect.
    """
    with Client(address) as curator:
        nodes = wait_for_nodes(grid, curator.recv())
        node_of = roster_of(introduce(grid, nodes, timeout=TIMEOUT)).node_of
        device_of = {node: device for device, node in node_of.items()}
        curator.send(len(node_of))
        while True:
            try:
                messages = curator.recv()
            except EOFError:
                return
            sent = [
                Message(content, node_of[device], kind, group_id=group)
                for device, kind, group, content in messages
                if device in node_of
            ]
            replies = grid.send_and_receive(sent, timeout=TIMEOUT)
            curator.send([(device_of[reply.metadata.src_node_id], _payload(reply)) for reply in replies])


def _payload(reply: Message) -> object:
    return (reply.error.code, reply.error.reason) if reply.has_error() else reply.content
