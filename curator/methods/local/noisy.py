"""The network straight on the reports of HoGS's devices: no reconstruction at all.

Each reported 1 is a directed edge, and the reported feature bits are the features, one
column at a time brought to mean 0 and standard deviation 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from curator.methods.base import TRAINING_GRID, Grid
from curator.methods.local.hogs import HoGS


@dataclass(frozen=True)
class Noisy(HoGS):
    """HoGS's questions with nothing of its algorithm; its switches can put parts of it back."""

    l: int = 0  # noqa: E741 - the paper's name
    topology: str = "noisy"

    name: ClassVar[str] = "noisy"
    paper: ClassVar[str] = "reference: the reports of HoGS as they came"
    search_grid: ClassVar[tuple[Grid, ...]] = (TRAINING_GRID,)
    query_grid: ClassVar[Grid] = {"feature_share": HoGS.query_grid["feature_share"]}
