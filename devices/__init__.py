"""A person's device: its data, its answers and its refusals.

Nothing here imports ``curator``, ``strategies``, ``cli`` or Ray, and torch or PyG are
imported only inside functions: a device has no GPU stack, and a worker process has to
start in well under a second.

Importing it switches telemetry off in this process and in those that it starts. Flower
imports this package with the ClientApp; what its processes sent before that, only the
variables of their environment can stop (docs/deployment.md).
"""

import os
import sys

# Flower, Ray and the clients of trackers read these variables when they are imported.
NO_TELEMETRY = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "WANDB_ERROR_REPORTING": "false",
}
os.environ.update(NO_TELEMETRY)
_flower = sys.modules.get("flwr.supercore.telemetry")
if _flower is not None:  # Flower started this process and has read its variable
    _flower.FLWR_TELEMETRY_ENABLED = "0"  # type: ignore[attr-defined]
