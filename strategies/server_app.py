"""Flower's ``ServerApp``: the curator's side, on the Grid that Flower gives it.

The run's configuration and the nodes' answers decide what it does:

- No node has a device of its own (``flwr run .`` on the simulation runtime): it enrols one device for
  every node and runs the whole simulation.
- Nodes have devices of their own (SuperNodes with ``state-dir`` in ``--node-config``): it enrols
  nobody. ``facts`` in the run's configuration says what is public.
"""

from __future__ import annotations

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

# Flower's simulation runtime runs this app in a thread and loads the ClientApp in another. It
# takes a module that is only half imported for a whole one ("Unable to load attribute app"), so
# the ClientApp must not be imported for the first time while this app runs.
import ldpsim.devices.client_app  # noqa: F401

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run what the configuration names on the nodes of a Grid."""
    from ldpsim.strategies.flower_app.simulation import run_on_grid

    run_on_grid(grid, context)
