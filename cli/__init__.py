"""Command line: ``ldpsim run`` and the other commands.

Nothing heavy is imported here: ``ldpsim --help`` must answer within 0.3 seconds.
"""

from __future__ import annotations

from ldpsim.devices import NO_TELEMETRY  # importing it sets the variables, before Flower or Ray can read them

__all__ = ["NO_TELEMETRY"]
