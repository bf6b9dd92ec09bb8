"""Strategies, engines and whole runs: the order in which devices are asked.

``from ldpsim.strategies import RunOptions, simulate`` is the Python use of ``ldpsim run``.
Importing this package is cheap: Flower and torch are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpsim.devices import NO_TELEMETRY  # importing it sets the variables, before Flower or Ray can read them
from ldpsim.strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from ldpsim.strategies.runs.simulate import Refused, RunFailed, RunResult, simulate

__all__ = ["NO_TELEMETRY", "Refused", "RunFailed", "RunOptions", "RunResult", "simulate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from ldpsim.strategies.runs import simulate as module

        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
