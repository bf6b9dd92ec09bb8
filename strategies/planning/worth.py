"""Worth of a setting: the accuracy of its rehearsal beside what asking nobody gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ldpsim.strategies.results.shown_nulls import NULLS


@dataclass(frozen=True)
class Worth:
    """Accuracy of a rehearsal.

    Args:
        test: Share of the test people whose class is predicted, on average over the repeats.
        std: Spread of it over the repeats; None for one repeat.
        null: Best null model that asks nobody, a key of :data:`NULLS`; empty if none was taken.
        nobody: Its accuracy.
        over: Difference of the two, ``{value, low, high}``, of the verdict of the run.
    """

    test: float
    std: float | None = None
    null: str = ""
    nobody: float | None = None
    over: Mapping[str, float] | None = None

    @property
    def not_better(self) -> str:
        """Why it is not worth asking, in words; empty if it is measurably better than asking nobody."""
        if self.nobody is None or self.over is None or self.over["low"] > 0:
            return ""
        measurably = "" if self.test <= self.nobody else "measurably "
        return f"not {measurably}better than asking nobody ({NULLS[self.null].heading}: {100 * self.nobody:.0f} %)"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        nobody = {"name": self.null, "test": self.nobody, "over": dict(self.over)} if self.over is not None else None
        return {"test": self.test, "std": self.std, "asking_nobody": nobody}
