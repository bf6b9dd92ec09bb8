"""The command line: ``ldpsim run`` and what stands around it.

Nothing heavy is imported here: ``ldpsim --help`` has to answer in well under a second.
"""

from __future__ import annotations

from strategies import NO_TELEMETRY  # importing it sets the variables, before Flower or Ray can read them

__all__ = ["NO_TELEMETRY"]
