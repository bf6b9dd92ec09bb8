"""Privacy budget of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpsim.devices.mechanisms import Reporting


@dataclass(frozen=True)
class Budget:
    """Privacy budget of a run, in each paper's own sense.

    Args:
        epsilon: The method's total.
        eps_adjacency, eps_features, eps_labels: Finer budgets; each replaces the share
            that ``epsilon`` would give. ``inf`` for features or labels: in clear, if the
            method has such a setting.
        feature_share: Share of ``epsilon`` for the features (HoGS's delta), in [0, 1); 0: they are not asked.
        public_features: Features are public and cost nothing.
        private_labels: Labels of training and validation nodes are asked under noise.
        reporting: ``both`` ends of a pair report it, or ``one-end``.
        label_mechanism: Name of the mechanism of the label report.
        volunteers: Whether labelled people give label and features in clear, and answer nothing else.

    Raises:
        ValueError: for a budget that is not a finite number above 0, or a share outside [0, 1).
    """

    epsilon: float = 8.0
    eps_adjacency: float | None = None
    eps_features: float | None = None
    eps_labels: float | None = None
    feature_share: float = 0.1
    public_features: bool = False
    private_labels: bool = False
    reporting: Reporting = "both"
    label_mechanism: str = "grr"
    volunteers: bool = False

    def __post_init__(self) -> None:
        for entry in ("epsilon", "eps_adjacency", "eps_features", "eps_labels"):
            value = getattr(self, entry)
            in_clear = value == math.inf and entry in ("eps_features", "eps_labels")
            if value is not None and not in_clear and not (math.isfinite(value) and value > 0):
                raise ValueError(f"--{entry.replace('_', '-')} must be a finite number above 0, not {value}")
        if not 0 <= self.feature_share < 1:
            raise ValueError(f"--feature-share must be 0 or more and below 1, not {self.feature_share}")
        if self.reporting not in ("both", "one-end"):
            raise ValueError(f"--reporting must be both or one-end, not {self.reporting!r}")
