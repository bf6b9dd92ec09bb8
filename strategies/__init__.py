"""Strategies, engines and whole runs: the order in which devices are asked.

``from strategies import RunOptions, simulate`` is the Python use of ``ldpsim run``.
Importing this package is cheap: Flower and torch are imported on first use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from strategies.runs.simulate import Refused, RunFailed, RunResult, simulate

# No telemetry. Flower and Ray read these variables when they are imported, after this line.
NO_TELEMETRY = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
os.environ.update(NO_TELEMETRY)

__all__ = ["NO_TELEMETRY", "Refused", "RunFailed", "RunOptions", "RunResult", "simulate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from strategies.runs import simulate as module

        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
