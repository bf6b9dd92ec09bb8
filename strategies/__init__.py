"""Who asks what, when: strategies, engines and whole runs.

``from strategies import RunOptions, simulate`` is the Python use of ``ldpsim run``.
Importing this package is cheap; what needs Flower or torch is imported on first use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from strategies.runs.simulate import Refused, RunFailed, RunResult, simulate

# Nothing is told to anybody. Flower and Ray read these when they are imported, which comes
# after this line.
NO_TELEMETRY = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
os.environ.update(NO_TELEMETRY)

__all__ = ["NO_TELEMETRY", "Refused", "RunFailed", "RunOptions", "RunResult", "simulate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from strategies.runs import simulate as module

        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
